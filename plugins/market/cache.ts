import { HubError, type PluginLogger } from 'patchbay/contract'
import { visibleText } from 'patchbay/plugin-kit'
import { marketError } from './errors.ts'
import type { KeptList, KeptLists } from './kept-list.ts'
import type { MarketSource } from './types.ts'
import { type KnownList, type Listed, walkSource } from './walk.ts'

export type { Listed }

/** Longest wait of a request for a source that was never read, in milliseconds. */
const FIRST_MS = 2_000
/** After a source failed once, twice, and more often. */
const PAUSES_MS = [60_000, 5 * 60_000, 25 * 60_000] as const
const MESSAGE_CHARACTERS = 500
/** Time after which an incremental source is read completely again, since it may not report every change, in milliseconds. */
const WHOLE_MS = 7 * 24 * 3_600_000
/** Changes are requested from this long before the last reading, in milliseconds: clocks differ, and lists are written late. */
const OVERLAP_MS = 3_600_000

/** An administrator's settings of sources. */
export interface SourceSettings {
  /** True to skip sources that need the network; their last lists stay. */
  readonly offline: boolean
  /** Ids of sources that are switched off. */
  readonly off: readonly string[]
}

/** State of one source. Times are ISO 8601 UTC. */
export interface SourceState {
  readonly id: string
  readonly label: string
  readonly origin: NonNullable<MarketSource['origin']>
  /** `loading`: being read for the first time. `failed`: its last list, if any, stays. `offline`: by MARKET_OFFLINE. */
  readonly state: 'ready' | 'loading' | 'failed' | 'off' | 'offline'
  readonly templates: number
  /** Entries that break a rule or a limit. */
  readonly leftOut: number
  /** When its list was read, which may be before the hub was started. */
  readonly readAt?: string
  readonly ageMs?: number
  readonly lastError?: { readonly at: string; readonly code: string; readonly message: string }
  /** Time of the next attempt, which happens when a request needs the source. */
  readonly nextTryAt?: string
}

interface Kept {
  readonly source: MarketSource
  listed: readonly Listed[]
  byName: ReadonlyMap<string, Listed>
  leftOut: number
  readAt: Date | undefined
  begunAt: Date | undefined
  wholeAt: Date | undefined
  lastError: SourceState['lastError'] | undefined
  /** The title of the last error, which names no address. */
  errorTitle: string | undefined
  failures: number
  reading: Promise<void> | undefined
  /** Its list of an earlier start, while it is read. */
  opening: Promise<void>
  /** Time of the last attempt by a monotonic clock. */
  triedMs: number
}

/** Dependencies of the lists on the rest of the hub. */
export interface CacheDeps {
  readonly sources: () => ReadonlyMap<string, MarketSource>
  readonly log: Pick<PluginLogger, 'warn'>
  /** Storage of lists across restarts; absent: none. */
  readonly kept?: KeptLists
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
  /** Returns the time of day, for requesting changes from sources. */
  readonly date?: () => Date
}

/** The lists of all sources: each is read as a whole, and replaced as a whole or not at all. */
export class MarketCache {
  readonly #deps: CacheDeps
  readonly #now: () => number
  readonly #kept = new Map<string, Kept>()
  readonly #stop = new AbortController()

  constructor(deps: CacheDeps) {
    this.#deps = deps
    this.#now = deps.now ?? (() => performance.now())
  }

  /** Returns all known templates. Waits only for sources that do not need the network. */
  async all(settings: SourceSettings): Promise<readonly Listed[]> {
    const kept = this.#present().filter(([id]) => !settings.off.includes(id))
    await Promise.all(kept.map(([, { opening }]) => opening))
    await Promise.all(kept.map(([id, one]) => this.#update(id, one, settings)))
    return kept.flatMap(([, { listed }]) => listed)
  }

  /** One source's list. Throws `source_not_found`, and `market_unavailable` when it has none. */
  async of(id: string, settings: SourceSettings): Promise<ReadonlyMap<string, Listed>> {
    const kept = this.#source(id)
    if (settings.off.includes(id)) {
      throw marketError('market_unavailable', `The source "${id}" is switched off by an administrator`)
    }
    await kept.opening
    const updating = this.#update(id, kept, settings)
    if (!kept.readAt) await settledWithin(updating, kept.reading, FIRST_MS)
    if (kept.readAt) return kept.byName
    throw marketError('market_unavailable', `The list of "${kept.source.label.slice(0, 64)}" ${whyNot(kept, settings)}`)
  }

  async states(settings: SourceSettings): Promise<readonly SourceState[]> {
    const kept = this.#present()
    await Promise.all(kept.map(([, { opening }]) => opening))
    return kept.map(([id, one]) => this.#state(id, one, settings))
  }

  /** The title of a source's last error. */
  errorTitle(id: string): string | undefined {
    return this.#kept.get(id)?.errorTitle
  }

  /** Reads a source again, as a whole; resolves when that has ended, and after 25 s at the latest. Throws `source_not_found`. */
  async refresh(id: string, settings: SourceSettings): Promise<SourceState> {
    const kept = this.#source(id)
    await kept.opening
    if (!settings.off.includes(id) && !isOffline(kept, settings)) {
      if (!kept.reading) kept.wholeAt = undefined
      await settledWithin(kept.reading ?? this.#read(id, kept), undefined, 25_000)
    }
    return this.#state(id, kept, settings)
  }

  dispose(): void {
    this.#stop.abort()
  }

  #source(id: string): Kept {
    const found = this.#present().find(([known]) => known === id)
    if (found) return found[1]
    throw marketError('source_not_found', `There is no source ${JSON.stringify(id.slice(0, 64))}`)
  }

  /** The sources that plugins offer now. */
  #present(): readonly (readonly [string, Kept])[] {
    const sources = this.#deps.sources()
    for (const [id, { source }] of this.#kept) if (sources.get(id) !== source) this.#kept.delete(id)
    return [...sources].map(([id, source]) => [id, this.#kept.get(id) ?? this.#open(id, source)] as const)
  }

  #open(id: string, source: MarketSource): Kept {
    const never = {
      readAt: undefined,
      begunAt: undefined,
      wholeAt: undefined,
      lastError: undefined,
      errorTitle: undefined,
    }
    const empty = { listed: [], byName: new Map(), leftOut: 0, failures: 0, ...never }
    const more = { reading: undefined, opening: Promise.resolve(), triedMs: Number.NEGATIVE_INFINITY }
    const kept: Kept = { source, ...empty, ...more }
    this.#kept.set(id, kept)
    if (source.network !== false && this.#deps.kept) kept.opening = this.#restore(id, kept, this.#deps.kept)
    return kept
  }

  async #restore(id: string, kept: Kept, lists: KeptLists): Promise<void> {
    const list = await lists.read(id, placeOf(kept.source))
    if (!list || kept.readAt) return
    take(kept, list)
    // The age includes the time for which the hub was stopped.
    kept.triedMs = this.#now() - Math.max(0, Date.now() - list.readAt.getTime())
  }

  /** Reads a source if it is due; resolves at once for one that needs the network. */
  async #update(id: string, kept: Kept, settings: SourceSettings): Promise<void> {
    if (isOffline(kept, settings)) return
    if (this.#isDue(kept)) void this.#read(id, kept)
    if (kept.source.network === false) await kept.reading
  }

  #isDue({ source, reading, readAt, failures, triedMs }: Kept): boolean {
    if (reading !== undefined) return false
    const wait = pauseOf(source, readAt, failures)
    return wait !== undefined && this.#now() - triedMs >= wait
  }

  #read(id: string, kept: Kept): Promise<void> {
    kept.triedMs = this.#now()
    const reading = this.#walk(id, kept)
      .catch((error: unknown) => this.#failed(id, kept, error))
      .finally(() => {
        kept.reading = undefined
      })
    kept.reading = reading
    return reading
  }

  async #walk(id: string, kept: Kept): Promise<void> {
    const begunAt = this.#deps.date?.() ?? new Date()
    const known = knownOf(kept, begunAt)
    const { listed, leftOut } = await walkSource(id, kept.source, this.#stop.signal, known)
    const wholeAt = known ? kept.wholeAt : begunAt
    const list = { listed, leftOut, readAt: new Date(), begunAt, ...(wholeAt ? { wholeAt } : {}) }
    take(kept, list)
    if (kept.source.network === false || this.#kept.get(id) !== kept) return
    await this.#deps.kept?.write(id, placeOf(kept.source), list).catch((error: unknown) => {
      this.#deps.log.warn('The list of a source could not be kept for the next start', { source: id, error })
    })
  }

  #failed(id: string, kept: Kept, error: unknown): void {
    // The hub is stopping: the source did not fail.
    if (this.#stop.signal.aborted) return
    const known =
      error instanceof HubError ? error : new HubError(timedOut(error) ? 'upstream_timeout' : 'upstream_protocol', '')
    const text = timedOut(error)
      ? 'A page took longer than 30 s'
      : String(error instanceof Error ? error.message : error)
    kept.failures += 1
    // The next reading is complete: the source may be unable to report changes.
    kept.wholeAt = undefined
    const message = visibleText(text.slice(0, MESSAGE_CHARACTERS))
    kept.lastError = { at: new Date().toISOString(), code: known.code, message }
    kept.errorTitle = known.title
    this.#deps.log.warn('A source of the market could not be read; its last list stays', { source: id, error })
  }

  #state(id: string, kept: Kept, settings: SourceSettings): SourceState {
    const { source, listed, leftOut, readAt, lastError, failures } = kept
    const isOff = settings.off.includes(id)
    const wait = isOff || isOffline(kept, settings) ? undefined : pauseOf(source, readAt, failures)
    const nextMs = wait === undefined ? undefined : kept.triedMs + wait - this.#now()
    return {
      ...{ id, label: source.label, origin: source.origin ?? 'catalogue' },
      state: isOff ? 'off' : stateOf(kept, settings),
      templates: listed.length,
      leftOut,
      ...(readAt ? { readAt: readAt.toISOString(), ageMs: Math.max(0, Date.now() - readAt.getTime()) } : {}),
      ...(lastError ? { lastError } : {}),
      ...(nextMs === undefined || !Number.isFinite(nextMs)
        ? {}
        : { nextTryAt: new Date(Date.now() + Math.max(0, nextMs)).toISOString() }),
    }
  }
}

/** Returns the list and the time from which an incremental source is asked only for changes; undefined: read completely. */
function knownOf({ source, listed, leftOut, begunAt, wholeAt }: Kept, now: Date): KnownList | undefined {
  if (!source.incremental || !begunAt || !wholeAt) return undefined
  const ageMs = now.getTime() - wholeAt.getTime()
  // After a clock was set back, the time of the last reading is useless.
  if (ageMs < 0 || ageMs >= WHOLE_MS || begunAt > now) return undefined
  return { list: { listed, leftOut }, since: new Date(begunAt.getTime() - OVERLAP_MS) }
}

function take(kept: Kept, { listed, leftOut, readAt, begunAt, wholeAt }: KeptList): void {
  kept.begunAt = begunAt
  kept.wholeAt = wholeAt
  kept.listed = listed
  kept.byName = new Map(listed.map(one => [one.template.name, one]))
  kept.leftOut = leftOut
  kept.readAt = readAt
  kept.lastError = undefined
  kept.failures = 0
}

function stateOf(kept: Kept, settings: SourceSettings): SourceState['state'] {
  if (isOffline(kept, settings)) return 'offline'
  if (kept.lastError) return 'failed'
  return kept.readAt ? 'ready' : 'loading'
}

function isOffline({ source }: Kept, { offline }: SourceSettings): boolean {
  return offline && source.network !== false
}

/** Milliseconds from the last attempt until the next one; undefined: never. */
function pauseOf({ refreshMs }: MarketSource, readAt: Date | undefined, failures: number): number | undefined {
  if (failures > 0) return PAUSES_MS[Math.min(failures, PAUSES_MS.length) - 1]
  if (!readAt) return 0
  return refreshMs > 0 ? refreshMs : undefined
}

function placeOf({ place, label }: MarketSource): string {
  return place ?? label
}

function whyNot(kept: Kept, settings: SourceSettings): string {
  if (isOffline(kept, settings)) return 'was never read, and MARKET_OFFLINE keeps the hub from asking for it'
  if (kept.lastError) return `could not be read`
  return 'is being read for the first time'
}

function timedOut(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError'
}

async function settledWithin(one: Promise<void>, other: Promise<void> | undefined, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([Promise.all([one, other]), late])
  clearTimeout(timer)
}
