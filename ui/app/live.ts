import { Signal } from '@lit-labs/signals'
import { createParser } from 'eventsource-parser'
import { problemOf, send } from '../api/client.ts'
import { asApiError } from '../api/problem.ts'
import { session } from './session.ts'

/** An event of `/api/stream`; its names are in the reference of events. */
export interface LiveEvent {
  readonly id: string
  readonly event: string
  readonly at: string
  readonly owner: string | null
  readonly data: Readonly<Record<string, unknown>>
}

/** Topics of the stream; `logs`, `metrics` and `calls` have a cost and are joined only while a page listens. */
export type Topic = 'servers' | 'logs' | 'alerts' | 'metrics' | 'calls' | 'shares' | 'plugins'

/** State of the connection. */
export type LiveState =
  | { readonly kind: 'off' | 'connecting' | 'live' }
  | { readonly kind: 'retrying'; readonly atMs: number; readonly sinceMs: number }

type Listener = (event: LiveEvent) => void

interface Subscription {
  readonly topics: readonly Topic[]
  readonly listener: Listener
  readonly lost: () => void
}

const ALWAYS: readonly Topic[] = ['servers', 'alerts', 'shares']
const FIRST_RETRY_MS = 1000
const LONGEST_RETRY_MS = 15_000
/** Milliseconds of silence after which a connection counts as lost: the hub sends something every 15 s. */
const SILENT_MS = 40_000

/**
 * The single connection of this tab to `/api/stream`. After an interruption it continues after the last received event; if the
 * hub has lost events, listeners are notified to read again.
 */
export class Live {
  readonly #state = new Signal.State<LiveState>({ kind: 'off' })
  readonly #subscriptions = new Set<Subscription>()
  #abort: AbortController | undefined
  #lastId: string | undefined
  #failures = 0
  #brokenSinceMs = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #silence: ReturnType<typeof setTimeout> | undefined
  #joined = ''
  /** The hub has ended the stream with the credential that it was begun with: there may be a new one. */
  #credentialEnded = false
  #wasAway = false

  get state(): LiveState {
    return this.#state.get()
  }

  /** False while the hub cannot be reached: writes are disabled then. */
  get reachable(): boolean {
    return this.#state.get().kind !== 'retrying'
  }

  /**
   * Calls the listener with each event of these topics until the returned function is called. `lost` is called when events were
   * lost, or when a restart of the hub made it unknown whether any were.
   */
  subscribe(topics: readonly Topic[], listener: Listener, lost: () => void = () => {}): () => void {
    const subscription = { topics, listener, lost }
    this.#subscriptions.add(subscription)
    this.#follow()
    return () => {
      this.#subscriptions.delete(subscription)
      this.#follow()
    }
  }

  /** Connects; called after a sign-in. */
  start(): void {
    this.stop()
    void this.#connect()
  }

  stop(): void {
    this.#abort?.abort()
    this.#abort = undefined
    clearTimeout(this.#timer)
    clearTimeout(this.#silence)
    this.#lastId = undefined
    this.#failures = 0
    this.#joined = ''
    this.#credentialEnded = false
    this.#wasAway = false
    this.#state.set({ kind: 'off' })
  }

  /** Tries at once instead of waiting. */
  retryNow(): void {
    if (this.#state.get().kind !== 'retrying') return
    clearTimeout(this.#timer)
    void this.#connect()
  }

  #topics(): string {
    const wanted = new Set<Topic>(ALWAYS)
    for (const { topics } of this.#subscriptions) for (const topic of topics) wanted.add(topic)
    return [...wanted].sort().join(',')
  }

  /** Several pages may start and end within one turn: the topics are compared after it. */
  #follow(): void {
    if (this.#joined === '') return
    queueMicrotask(() => {
      if (this.#joined === '' || this.#topics() === this.#joined || this.#state.get().kind === 'retrying') return
      this.#abort?.abort()
      void this.#connect()
    })
  }

  async #connect(): Promise<void> {
    clearTimeout(this.#timer)
    const abort = new AbortController()
    this.#abort = abort
    const topics = this.#topics()
    this.#joined = topics
    if (this.#state.get().kind === 'off') this.#state.set({ kind: 'connecting' })
    try {
      const query = { topics, since: this.#lastId }
      const response = await send('GET', '/api/stream', { query, signal: abort.signal })
      if (!response.ok || !response.body) throw await problemOf(response)
      await this.#read(response.body, abort)
      throw new Error('The stream has ended')
    } catch (error) {
      if (this.#abort === abort && session.token !== undefined) this.#retry(asApiError(error).retryAfterSeconds)
    }
  }

  async #read(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const wasBroken = this.#wasAway || this.#state.get().kind === 'retrying'
    this.#wasAway = false
    this.#failures = 0
    this.#brokenSinceMs = 0
    this.#state.set({ kind: 'live' })
    // Without a received event, there is no id from which to continue.
    if (wasBroken && this.#lastId === undefined) this.#lost()
    const parser = createParser({ onEvent: ({ event, data, id }) => this.#event(event, data, id) })
    const decoder = new TextDecoder()
    const reader = body.getReader()
    for (;;) {
      clearTimeout(this.#silence)
      this.#silence = setTimeout(() => void reader.cancel(), SILENT_MS)
      const { done, value } = await reader.read()
      if (done || abort.signal.aborted) break
      parser.feed(decoder.decode(value, { stream: true }))
    }
    clearTimeout(this.#silence)
  }

  #event(name: string | undefined, data: string, id: string | undefined): void {
    if (id !== undefined && id !== '') this.#lastId = id
    if (name === 'stream.lost') return this.#lost()
    if (name === 'stream.end') this.#credentialEnded = true
    if (name === undefined || name === 'stream.end') return
    const event = JSON.parse(data) as LiveEvent
    for (const { listener } of [...this.#subscriptions]) listener(event)
  }

  #lost(): void {
    for (const { lost } of [...this.#subscriptions]) lost()
  }

  #retry(afterSeconds: number | undefined): void {
    clearTimeout(this.#silence)
    if (this.#credentialEnded) {
      // The hub is there: it is asked once more before anything is shown, with the credential of then.
      this.#credentialEnded = false
      this.#wasAway = true
      this.#timer = setTimeout(() => void this.#connect(), FIRST_RETRY_MS)
      return
    }
    if (this.#brokenSinceMs === 0) this.#brokenSinceMs = Date.now()
    const usual = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS)
    const waitMs = afterSeconds === undefined ? usual : afterSeconds * 1000
    this.#failures += 1
    this.#state.set({ kind: 'retrying', atMs: Date.now() + waitMs, sinceMs: this.#brokenSinceMs })
    this.#timer = setTimeout(() => void this.#connect(), waitMs)
  }
}

/** The live connection of this tab. */
export const live = new Live()
