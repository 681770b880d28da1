import { HubError } from '../../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { LIST_CAPABILITIES, listChangedFilter } from '../../../domain/mcp-methods.ts'
import { HeldStreams } from './held-streams.ts'

/** Changes within this time are sent in one request. */
const GATHER_MS = 20
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000
/** Longest wait of the first reading of the lists for the stream with their changes. */
const FIRST_STREAM_MS = 1_000
/** Lifetime after which a stream counts as stable: its successor is opened at once. */
const SOUND_MS = 5_000

/** Callbacks of a `Listen`. */
export interface ListenOptions {
  /** Sends `subscriptions/listen`; `over` settles when the upstream ended or rejected it. */
  readonly request: (filter: JsonObject) => { readonly id: number; readonly over: Promise<unknown> }
  /** Cancels a stream that is not needed any more. */
  readonly drop: (id: number) => void
  readonly arm: (atMs: number) => void
  /** The upstream acknowledged the subscription of a call; `honoured` is false when it left the URI out. */
  readonly subscribed: (callId: number, uri: string, honoured: boolean) => void
  /** A new stream follows a gap in which anything may have changed; `uris` are subscribed to. */
  readonly resumed: (uris: Iterable<string>) => void
  /** The first stream is acknowledged, or is no longer waited for. */
  readonly settled: () => void
  readonly log: (level: 'debug' | 'warn', message: string) => void
}

interface Opened {
  readonly id: number
  readonly uris: ReadonlySet<string>
}

/**
 * The listen stream of a modern upstream, for notifications that belong to no call. When the subscriptions change, a
 * new stream is opened and the old one is dropped shortly after, so that nothing is missed.
 */
export class Listen {
  readonly #options: ListenOptions
  #kinds: JsonObject = {}
  readonly #uris = new Set<string>()
  /** URIs of `resources/subscribe` calls that wait for the acknowledgement, by call id. */
  readonly #waiting = new Map<number, string>()
  readonly #held = new HeldStreams()
  #pending: Opened | undefined
  #openAtMs = Number.POSITIVE_INFINITY
  #failures = 0
  #gap = false
  #settleAtMs = Number.POSITIVE_INFINITY
  #refused = false

  constructor(options: ListenOptions) {
    this.#options = options
  }

  /** Subscribes to the list changes that the upstream's capabilities declare. */
  begin(capabilities: JsonObject): void {
    for (const kind of LIST_CAPABILITIES) {
      const capability = capabilities[kind]
      if (isJsonObject(capability) && capability.listChanged === true) this.#kinds[listChangedFilter(kind)] = true
    }
    if (Object.keys(this.#kinds).length === 0) return
    this.#settleAtMs = performance.now() + FIRST_STREAM_MS
    this.#openIn(0)
  }

  /** True until the first stream is acknowledged: changes of lists that are read before that would be missed. */
  get settling(): boolean {
    return this.#settleAtMs !== Number.POSITIVE_INFINITY
  }

  subscribe(uri: string, callId: number): void {
    if (this.#refused) {
      this.#options.subscribed(callId, uri, false)
      return
    }
    // Also if the current stream has it: its removal may be pending, and the next stream must include it.
    this.#uris.add(uri)
    if (this.#held.current?.uris.has(uri) && this.#pending?.uris.has(uri) !== false) {
      this.#options.subscribed(callId, uri, true)
      return
    }
    this.#waiting.set(callId, uri)
    this.#openIn(GATHER_MS)
  }

  unsubscribe(uri: string): void {
    if (this.#uris.delete(uri)) this.#openIn(GATHER_MS)
  }

  /** True when a notification with this subscription id has not been delivered yet. */
  accepts(tag: JsonValue, method: string, uri: JsonValue | undefined): boolean {
    return this.#held.news(tag, method, uri, performance.now())
  }

  /** `honoured` is the part of the filter that the upstream accepted. */
  acknowledged(tag: JsonValue | undefined, honoured: JsonValue | undefined): void {
    const opened = this.#pending
    if (!opened || tag !== opened.id) return
    const taken = isJsonObject(honoured) ? honoured.resourceSubscriptions : undefined
    const uris = new Set(Array.isArray(taken) ? taken.filter(uri => typeof uri === 'string') : [])
    this.#pending = undefined
    this.#held.add(opened.id, uris, performance.now())
    this.#options.arm(this.#held.nextMs)
    for (const uri of opened.uris) if (!uris.has(uri)) this.#uris.delete(uri)
    for (const [callId, uri] of this.#waiting) {
      if (!opened.uris.has(uri)) continue
      this.#waiting.delete(callId)
      this.#options.subscribed(callId, uri, uris.has(uri))
    }
    this.#settle()
    if (!this.#gap) return
    this.#gap = false
    this.#options.resumed(uris)
  }

  /** Opens a stream that is due, and drops replaced ones; returns the time of the next sweep. */
  sweep(nowMs: number): number {
    this.#drop(this.#held.expire(nowMs))
    if (nowMs >= this.#settleAtMs) this.#settle()
    if (nowMs >= this.#openAtMs) {
      // One request at a time; later changes follow after its acknowledgement or end.
      if (this.#pending || this.#held.full) return Math.min(nowMs + GATHER_MS, this.#held.nextMs)
      this.#openAtMs = Number.POSITIVE_INFINITY
      this.#open()
    }
    return Math.min(this.#openAtMs, this.#held.nextMs, this.#settleAtMs)
  }

  #settle(): void {
    if (!this.settling) return
    this.#settleAtMs = Number.POSITIVE_INFINITY
    this.#options.settled()
  }

  #drop(ids: readonly number[]): void {
    for (const id of ids) this.#options.drop(id)
  }

  #open(): void {
    if (this.#refused) return
    if (this.#uris.size === 0 && Object.keys(this.#kinds).length === 0) {
      this.#drop(this.#held.clear())
      return
    }
    const uris = new Set(this.#uris)
    const filter: JsonObject = { ...this.#kinds, ...(uris.size > 0 ? { resourceSubscriptions: [...uris] } : {}) }
    const { id, over } = this.#options.request(filter)
    this.#pending = { id, uris }
    over.then(
      () => this.#over(id, undefined),
      (error: unknown) => this.#over(id, error),
    )
  }

  #over(id: number, error: unknown): void {
    if (id === this.#pending?.id) {
      this.#pending = undefined
      if (error instanceof HubError && error.data?.rpcCode !== undefined) return this.#giveUp(error.message)
    } else if (id === this.#held.current?.id) {
      if (performance.now() - this.#held.current.sinceMs >= SOUND_MS) this.#failures = 0
      this.#held.remove(id)
      this.#drop(this.#held.clear())
      this.#gap = true
    } else {
      this.#held.remove(id)
      return
    }
    const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.#failures - 1)) * Math.random()
    this.#openIn(this.#failures === 0 ? 0 : waitMs)
    this.#failures += 1
  }

  /** The upstream rejects listen streams: its lists are read again by their age alone. */
  #giveUp(message: string): void {
    this.#refused = true
    this.#settle()
    this.#options.log('warn', `Changes of this server are not heard: ${message}`)
    for (const [callId, uri] of this.#waiting) this.#options.subscribed(callId, uri, false)
    this.#waiting.clear()
  }

  #openIn(ms: number): void {
    this.#openAtMs = Math.min(this.#openAtMs, performance.now() + ms)
    this.#options.arm(Math.min(this.#openAtMs, this.#settleAtMs))
  }
}
