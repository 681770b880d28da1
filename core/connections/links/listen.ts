import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** What is wished within so short a time travels in one request. */
const GATHER_MS = 20
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000
/** How long a stream is read on after another has taken its place: longer than what was sent on it may be on its way. */
const OVERLAP_MS = 1_000
/** A stream that lived so long was sound: the next one is opened at once. */
const SOUND_MS = 5_000

export interface ListenOptions {
  /** Sends `subscriptions/listen`; `over` settles when the upstream has ended or refused it. */
  readonly request: (filter: JsonObject) => { readonly id: number; readonly over: Promise<unknown> }
  /** Gives one up that is not needed any more. */
  readonly drop: (id: number) => void
  readonly arm: (atMs: number) => void
  /** The subscription that a caller asked for stands, or the upstream left it out. */
  readonly subscribed: (callId: number, uri: string, honoured: boolean) => void
  /** Listening goes on after a gap in which anything may have changed; `uris` are subscribed to. */
  readonly resumed: (uris: Iterable<string>) => void
  readonly log: (level: 'debug' | 'warn', message: string) => void
}

interface Opened {
  readonly id: number
  readonly uris: ReadonlySet<string>
}

/** The stream before the current one, and how often each notice came on either since the current one stands. */
interface Replaced {
  readonly id: number
  readonly untilMs: number
  readonly counts: Map<string, { before: number; now: number }>
}

/**
 * The one stream of an upstream of the modern era on which it tells what belongs to no call. When the wishes change a new
 * stream is opened, and the old one given up a little after the new one stands: what was sent on the old one alone may arrive
 * later than the word that the new one stands, as they are connections of their own. What both bring is told once.
 */
export class Listen {
  readonly #options: ListenOptions
  #kinds: JsonObject = {}
  readonly #uris = new Set<string>()
  /** Calls that wait for their subscription. */
  readonly #waiting = new Map<number, string>()
  #current: Opened | undefined
  #pending: Opened | undefined
  #replaced: Replaced | undefined
  #openAtMs = Number.POSITIVE_INFINITY
  #failures = 0
  #sinceMs = 0
  #gap = false
  #refused = false

  constructor(options: ListenOptions) {
    this.#options = options
  }

  /** Listens for changes of the lists that the upstream says it tells. */
  begin(capabilities: JsonObject): void {
    for (const kind of ['tools', 'prompts', 'resources']) {
      const capability = capabilities[kind]
      if (isJsonObject(capability) && capability.listChanged === true) this.#kinds[`${kind}ListChanged`] = true
    }
    if (Object.keys(this.#kinds).length > 0) this.#openIn(0)
  }

  subscribe(uri: string, callId: number): void {
    if (this.#refused) {
      this.#options.subscribed(callId, uri, false)
      return
    }
    // Also where the stream has it: it may have been left a moment ago, and the next stream must have it again.
    this.#uris.add(uri)
    if (this.#current?.uris.has(uri) && this.#pending?.uris.has(uri) !== false) {
      this.#options.subscribed(callId, uri, true)
      return
    }
    this.#waiting.set(callId, uri)
    this.#openIn(GATHER_MS)
  }

  unsubscribe(uri: string): void {
    if (this.#uris.delete(uri)) this.#openIn(GATHER_MS)
  }

  /** Whether a notice with this tag is news: of the stream that counts, or of the one before it and not told by both. */
  accepts(tag: JsonValue, method: string, uri: JsonValue | undefined): boolean {
    const replaced = this.#replaced
    const isCurrent = this.#current !== undefined && tag === this.#current.id
    if (!replaced || !this.#current) return isCurrent
    if (!isCurrent && tag !== replaced.id) return false
    const notice = JSON.stringify([method, uri])
    const counts = replaced.counts.get(notice) ?? { before: 0, now: 0 }
    replaced.counts.set(notice, counts)
    if (isCurrent) {
      counts.now += 1
      return counts.now > counts.before
    }
    counts.before += 1
    return counts.before > counts.now
  }

  /** `honoured` is the part of the filter that the upstream took. */
  acknowledged(tag: JsonValue | undefined, honoured: JsonValue | undefined): void {
    const opened = this.#pending
    if (!opened || tag !== opened.id) return
    const taken = isJsonObject(honoured) ? honoured.resourceSubscriptions : undefined
    const uris = new Set(Array.isArray(taken) ? taken.filter(uri => typeof uri === 'string') : [])
    const before = this.#current
    this.#pending = undefined
    this.#current = { id: opened.id, uris }
    this.#sinceMs = performance.now()
    for (const uri of opened.uris) if (!uris.has(uri)) this.#uris.delete(uri)
    for (const [callId, uri] of this.#waiting) {
      if (!opened.uris.has(uri)) continue
      this.#waiting.delete(callId)
      this.#options.subscribed(callId, uri, uris.has(uri))
    }
    this.#dropReplaced()
    if (before) {
      this.#replaced = { id: before.id, untilMs: performance.now() + OVERLAP_MS, counts: new Map() }
      this.#options.arm(this.#replaced.untilMs)
    }
    if (!this.#gap) return
    this.#gap = false
    this.#options.resumed(uris)
  }

  /** Opens what is due, and drops what has been replaced; returns when to look again. */
  sweep(nowMs: number): number {
    if (this.#replaced && nowMs >= this.#replaced.untilMs) this.#dropReplaced()
    if (nowMs >= this.#openAtMs) {
      // One at a time; what was wished meanwhile follows on its acknowledgement or end.
      if (this.#pending) return nowMs + GATHER_MS
      this.#openAtMs = Number.POSITIVE_INFINITY
      this.#open()
    }
    return Math.min(this.#openAtMs, this.#replaced?.untilMs ?? Number.POSITIVE_INFINITY)
  }

  #dropReplaced(): void {
    if (this.#replaced) this.#options.drop(this.#replaced.id)
    this.#replaced = undefined
  }

  #open(): void {
    if (this.#refused) return
    if (this.#uris.size === 0 && Object.keys(this.#kinds).length === 0) {
      if (this.#current) this.#options.drop(this.#current.id)
      this.#current = undefined
      this.#dropReplaced()
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
    } else if (id === this.#current?.id) {
      this.#current = undefined
      this.#dropReplaced()
      this.#gap = true
      if (performance.now() - this.#sinceMs >= SOUND_MS) this.#failures = 0
    } else {
      if (id === this.#replaced?.id) this.#replaced = undefined
      return
    }
    const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.#failures - 1)) * Math.random()
    this.#openIn(this.#failures === 0 ? 0 : waitMs)
    this.#failures += 1
  }

  /** The upstream wants no listeners: its lists are read again by their age alone. */
  #giveUp(message: string): void {
    this.#refused = true
    this.#options.log('warn', `Changes of this server are not heard: ${message}`)
    for (const [callId, uri] of this.#waiting) this.#options.subscribed(callId, uri, false)
    this.#waiting.clear()
  }

  #openIn(ms: number): void {
    this.#openAtMs = Math.min(this.#openAtMs, performance.now() + ms)
    this.#options.arm(this.#openAtMs)
  }
}
