import type { ReactiveController, ReactiveControllerHost } from 'lit'
import { type ApiError, asApiError, type LiveEvent, live, session } from 'patchbay/console'
import { type Found, type LogQuery, type LogRecord, searchLogs } from './api.ts'
import { SeenRecords } from './seen.ts'
import type { TaggedIds } from './tagged.ts'
import { isTagged, taggedIds } from './tags.ts'
import { type LogView, partsOf, queryOf, shows } from './view.ts'

/** Most records that a live list has; older ones leave it. */
export const LIVE_RECORDS = 5000
/** After this time the records between the search and the begin of the stream are stored. */
const FILL_MS = 1500
/** Most pages of records that are read after a break. */
const FILL_PAGES = 5
const RATE_MS = 5000
/** Shortest time between two renderings of live records, in milliseconds: few new rows at a time make short tasks. */
const PAUSE_MS = 40
/** Number of rows of a screen; until a live list has as many, it adds few rows in a frame: creating elements costs the most. */
const SCREEN_ROWS = 40
const FIRST_ROWS = 4
/**
 * Number of rows drawn in each later frame; if more than a screen waits they are drawn at once, since most are out of view then.
 */
const FRAME_ROWS = 12

/** A record of the list. */
export interface LogRow {
  /** Increases with the time at which the page learned of it. */
  readonly id: number
  readonly record: LogRecord
}

/**
 * The records of the page: results of a search and, if the view has it, live records. Live records are taken over in batches, at
 * most 25 times a second.
 */
export class LogFeed implements ReactiveController {
  rows: readonly LogRow[] = []
  /** The last answer of the search; undefined: none yet. */
  found: Found | undefined
  error: ApiError | undefined
  loading = false
  paused: 'hand' | 'scroll' | undefined
  /** Records that came while the list was paused. */
  waiting = 0
  /** True when older records were removed from the live list. */
  cut = false
  readonly #host: ReactiveControllerHost
  readonly #view: () => LogView
  #key = ''
  #query: LogQuery = {}
  #abort: AbortController | undefined
  #nextId = 0
  #seen = new SeenRecords()
  #userIds = new Set<string>()
  #tagged: TaggedIds = new Map()
  #incoming: LogRecord[] = []
  #held: readonly LogRow[] = []
  #frame = 0
  #pause: ReturnType<typeof setTimeout> | undefined
  #tookOverMs = 0
  #times: number[] = []
  #unsubscribe: (() => void) | undefined
  #fill: ReturnType<typeof setTimeout> | undefined
  #hasEvents = false
  #lastAt = ''

  constructor(host: ReactiveControllerHost, view: () => LogView) {
    this.#host = host
    this.#view = view
    host.addController(this)
  }

  /** Records a second, of the last five seconds. */
  get rate(): number {
    const since = performance.now() - RATE_MS
    return this.#times.filter(at => at > since).length / (RATE_MS / 1000)
  }

  hostUpdate(): void {
    const { columns: _columns, wrap: _wrap, parsed, text, ...asked } = this.#view()
    // While the query has an error, the list keeps the previous one.
    const key = JSON.stringify([asked, parsed.terms.map(({ start, end }) => text.slice(start, end))])
    if (key === this.#key) return
    this.#key = key
    void this.reload()
  }

  hostConnected(): void {
    this.#key = ''
  }

  hostDisconnected(): void {
    this.#stop()
    this.#abort?.abort()
  }

  /** Searches again from the beginning. Never rejects. */
  async reload(): Promise<void> {
    const view = this.#view()
    this.#stop()
    this.paused = undefined
    this.#seen = new SeenRecords()
    this.#query = queryOf(partsOf(view))
    if (view.tail && !(await this.#readTags(view))) return
    if (view.tail) this.#follow()
    await this.#read(undefined)
  }

  /** Reads which servers and groups have the tags of the view. False when that failed, or the view has changed meanwhile. */
  async #readTags(view: LogView): Promise<boolean> {
    this.#tagged = new Map()
    if (!isTagged(view)) return true
    this.#abort?.abort()
    const abort = new AbortController()
    this.#abort = abort
    this.loading = true
    this.rows = []
    try {
      const tagged = await taggedIds(view, abort.signal)
      if (abort.signal.aborted) return false
      this.#tagged = tagged
      return true
    } catch (error) {
      if (abort.signal.aborted) return false
      this.error = asApiError(error)
      this.loading = false
      this.#host.requestUpdate()
      return false
    }
  }

  /** Reads the next page of results. */
  async more(): Promise<void> {
    const cursor = this.found?.nextCursor
    if (cursor !== undefined && !this.loading) await this.#read(cursor)
  }

  pause(by: 'hand' | 'scroll'): void {
    if (!this.paused) {
      this.paused = by
      this.#host.requestUpdate()
    }
  }

  resume(): void {
    this.paused = undefined
    this.waiting = 0
    this.rows = this.#limited([...this.#held, ...this.rows])
    this.#held = []
    this.#host.requestUpdate()
  }

  async #read(cursor: string | undefined): Promise<void> {
    this.#abort?.abort()
    const abort = new AbortController()
    this.#abort = abort
    this.loading = true
    if (cursor === undefined) this.error = undefined
    this.#host.requestUpdate()
    const { mine } = this.#view()
    try {
      const scope = mine ? ('mine' as const) : undefined
      const found = await searchLogs(this.#query, { cursor, scope, signal: abort.signal })
      if (abort.signal.aborted) return
      this.#took(found, cursor !== undefined)
    } catch (error) {
      if (abort.signal.aborted) return
      this.error = asApiError(error)
    }
    this.loading = false
    this.#host.requestUpdate()
  }

  #took(found: Found, isMore: boolean): void {
    this.found = found
    this.error = undefined
    this.#userIds = new Set(found.records.map(({ userId }) => userId).filter(id => id !== undefined))
    const added = this.#seen.addFound(found.records).map(record => this.#row(record))
    if (isMore) this.rows = [...this.rows, ...added]
    // Live records that arrived meanwhile stay before the results.
    else this.rows = this.#view().tail ? inOrder([...this.#liveRows(), ...added]) : added
  }

  #row(record: LogRecord): LogRow {
    this.#nextId += 1
    return { id: this.#nextId, record }
  }

  #liveRows(): readonly LogRow[] {
    return this.#hasEvents ? this.rows : []
  }

  #follow(): void {
    this.rows = []
    this.cut = false
    this.#hasEvents = false
    const startedAt = new Date(Date.now() - FILL_MS).toISOString()
    this.#lastAt = startedAt
    this.#unsubscribe = live.subscribe(
      ['logs'],
      event => this.#event(event),
      () => void this.#readGap(this.#lastAt),
    )
    this.#fill = setTimeout(() => void this.#readGap(startedAt), FILL_MS)
  }

  #stop(): void {
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
    clearTimeout(this.#fill)
    clearTimeout(this.#pause)
    cancelAnimationFrame(this.#frame)
    this.#pause = undefined
    this.#incoming = []
    this.#held = []
    this.waiting = 0
    this.#times = []
  }

  #event({ event, data, owner }: LiveEvent): void {
    if (event !== 'log.record') return
    const record = data as LogRecord
    if (!this.#hasEvents) {
      this.#hasEvents = true
      // The stream has only just started: records logged since the search are stored by the time of this request.
      clearTimeout(this.#fill)
      const since = this.#lastAt
      this.#fill = setTimeout(() => void this.#readGap(since), FILL_MS)
    }
    this.#lastAt = record.timestamp
    const view = this.#view()
    const { user } = session
    if (view.mine && owner !== user?.name && record.userId !== user?.id) return
    if (!shows(view, record, this.#userIds, this.#tagged) || !this.#seen.addLive(record)) return
    this.#incoming.push(record)
    this.#times.push(performance.now())
    // A tab in the background gets no frames, but still receives records.
    if (this.#incoming.length >= 2 * LIVE_RECORDS) {
      this.#incoming = this.#incoming.slice(-LIVE_RECORDS)
      this.#times = this.#times.slice(-LIVE_RECORDS)
      this.cut = true
    }
    this.#pause ??= setTimeout(this.#atNextFrame, this.#tookOverMs + PAUSE_MS - performance.now())
  }

  readonly #atNextFrame = (): void => {
    this.#frame = requestAnimationFrame(() => this.#takeOver())
  }

  /** Takes over the records that arrived since the last time. */
  #takeOver(): void {
    this.#tookOverMs = performance.now()
    const since = performance.now() - RATE_MS
    if ((this.#times[0] ?? since) < since) this.#times = this.#times.filter(at => at > since)
    const inFrame = this.rows.length < SCREEN_ROWS ? FIRST_ROWS : FRAME_ROWS
    const isMany = this.rows.length >= SCREEN_ROWS && this.#incoming.length > SCREEN_ROWS
    const taken = this.#incoming.splice(0, isMany ? this.#incoming.length : inFrame)
    this.#add(taken.map(record => this.#row(record)).reverse())
    // While it is set, new records do not request a frame.
    if (this.#incoming.length > 0) this.#atNextFrame()
    else this.#pause = undefined
  }

  #add(added: readonly LogRow[]): void {
    if (this.paused) {
      this.waiting += added.length
      this.#held = inOrder([...added, ...this.#held]).slice(0, LIVE_RECORDS)
    } else this.rows = this.#limited(inOrder([...added, ...this.rows]))
    this.#host.requestUpdate()
  }

  #limited(rows: readonly LogRow[]): readonly LogRow[] {
    if (rows.length > LIVE_RECORDS) this.cut = true
    return rows.slice(0, LIVE_RECORDS)
  }

  /** Reads records that the stream missed, from a time on. If it fails, the next interruption tries again. */
  async #readGap(since: string): Promise<void> {
    const view = this.#view()
    const subscription = this.#unsubscribe
    const parts = partsOf(view).filter(({ kind }) => kind !== 'time')
    const query = { and: [queryOf(parts), { timestamp: { gte: since } }] }
    let cursor: string | undefined
    for (let page = 0; page < FILL_PAGES; page += 1) {
      const scope = view.mine ? ('mine' as const) : undefined
      const found = await searchLogs(query, { cursor, scope }).catch(() => undefined)
      if (found === undefined || subscription !== this.#unsubscribe || !subscription) return
      const added = this.#seen.addFound(found.records).map(record => this.#row(record))
      if (added.length > 0) this.#add(added)
      cursor = found.nextCursor
      if (cursor === undefined) return
    }
  }
}

/** Live records arrive in order, except between those of a search: only then sorting is needed. */
function inOrder(rows: readonly LogRow[]): readonly LogRow[] {
  const isSorted = rows.every((row, at) => at === 0 || row.record.timestamp <= (rows[at - 1]?.record.timestamp ?? ''))
  // Times in one form are in order as plain text; comparing by a language costs many times as much.
  return isSorted ? rows : rows.toSorted((left, right) => newestFirst(left.record.timestamp, right.record.timestamp))
}

function newestFirst(left: string, right: string): number {
  if (left === right) return 0
  return left < right ? 1 : -1
}
