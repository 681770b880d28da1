import { createHash } from 'node:crypto'
import { HubError } from 'patchbay/contract'
import { SharedCache } from 'patchbay/transport-kit'

const MOST_BYTES = 64 * 1024 * 1024
/** Texts of one request. */
const BATCH = 64
/** Texts of one user's tools that wait at the same time. */
const MOST_WAITING = 20_000
/** Limits of one user's tools and searches in an hour, since the administrator pays for them. */
const HOUR_MS = 60 * 60_000
const TEXTS_PER_HOUR = 10_000
const QUERIES_PER_HOUR = 1_000
/** Pauses without an answer, and after the key was rejected, in milliseconds. */
const REST_MS = { failed: 30_000, refused: 10 * 60_000 } as const

/** Gives the vectors of texts. */
export type Embed = (texts: readonly string[], signal: AbortSignal) => Promise<readonly Float32Array[]>

/** State shown to administrators. */
export interface VectorsState {
  readonly vectors: number
  readonly waiting: number
  readonly requests: number
  readonly lastError?: { readonly at: string; readonly code: string; readonly message: string }
}

/**
 * Vectors by the SHA-256 of model and text, at most 64 MiB of them; above that the user with the most loses vectors first.
 * Missing vectors are requested in the background, 64 texts at a time and the users in turn; after a failure there are no
 * requests for half a minute.
 */
export class Vectors {
  readonly #embed: Embed
  readonly #model: string
  readonly #signal: AbortSignal
  readonly #now: () => number
  readonly #known = new SharedCache<string, Float32Array>({
    maxSize: MOST_BYTES,
    sizeOf: vector => vector.byteLength + 128,
  })
  /** By user, then by hash. */
  readonly #waiting = new Map<string, Map<string, string>>()
  readonly #spent = new Map<string, { readonly sinceMs: number; texts: number; queries: number }>()
  #filling = false
  #restUntilMs = 0
  #requests = 0
  #lastError: VectorsState['lastError']

  constructor(embed: Embed, model: string, signal: AbortSignal, now: () => number) {
    this.#embed = embed
    this.#model = model
    this.#signal = signal
    this.#now = now
  }

  /** The name under which the vector of a text is kept. */
  key(text: string): string {
    return createHash('sha256')
      .update(JSON.stringify([this.#model, text]))
      .digest('base64')
  }

  /** The vector, which is then a part of the user's share. */
  get(userId: string, key: string): Float32Array | undefined {
    return this.#known.get(userId, key)
  }

  /**
   * The vector of a search, requested at once. Rejects with `rate_limited`, `server_offline` during a pause, and errors of the
   * request.
   */
  async ofQuery(userId: string, query: string): Promise<Float32Array> {
    const key = this.key(query)
    const known = this.#known.get(userId, key)
    if (known) return known
    const spent = this.#spentBy(userId)
    if (spent.queries >= QUERIES_PER_HOUR) throw new HubError('rate_limited', 'Too many searches in an hour')
    spent.queries += 1
    const [vector] = await this.#ask([query])
    if (!vector) throw new HubError('upstream_protocol', 'There is no vector')
    this.#known.set(userId, key, vector)
    return vector
  }

  /** Queues these texts for a request; texts above the user's share are left out. */
  want(userId: string, texts: ReadonlyMap<string, string>): void {
    const waiting = this.#waiting.get(userId) ?? new Map<string, string>()
    for (const [key, text] of texts) if (waiting.size < MOST_WAITING) waiting.set(key, text)
    if (waiting.size > 0) this.#waiting.set(userId, waiting)
    if (!this.#filling) void this.#fill()
  }

  state(): VectorsState {
    const waiting = [...this.#waiting.values()].reduce((sum, texts) => sum + texts.size, 0)
    const failed = this.#lastError ? { lastError: this.#lastError } : {}
    return { vectors: this.#known.count, waiting, requests: this.#requests, ...failed }
  }

  async #fill(): Promise<void> {
    this.#filling = true
    try {
      for (;;) {
        const [userId, texts] = this.#waiting.entries().next().value ?? []
        if (userId === undefined || texts === undefined || this.#signal.aborted) return
        this.#waiting.delete(userId)
        await this.#askBatch(userId, texts)
      }
    } catch {
      // Searches request missing vectors again after the pause.
      this.#waiting.clear()
    } finally {
      this.#filling = false
    }
  }

  /** Requests the first of a user's texts; the others wait behind those of other users. */
  async #askBatch(userId: string, texts: Map<string, string>): Promise<void> {
    const spent = this.#spentBy(userId)
    const missing = [...texts].filter(([key]) => !this.#known.has(key))
    const batch = missing.slice(0, Math.min(BATCH, TEXTS_PER_HOUR - spent.texts))
    if (batch.length === 0) return
    spent.texts += batch.length
    const vectors = await this.#ask(batch.map(([, text]) => text))
    for (const [at, [key]] of batch.entries()) {
      const vector = vectors[at]
      if (vector) this.#known.set(userId, key, vector)
    }
    // Texts that arrived meanwhile are kept.
    const left = new Map([...missing.slice(batch.length), ...(this.#waiting.get(userId) ?? [])])
    this.#waiting.delete(userId)
    if (left.size > 0) this.#waiting.set(userId, left)
  }

  async #ask(texts: readonly string[]): Promise<readonly Float32Array[]> {
    if (this.#now() < this.#restUntilMs) throw new HubError('server_offline', 'It failed a moment ago')
    this.#requests += 1
    try {
      return await this.#embed(texts, this.#signal)
    } catch (error) {
      const known = error instanceof HubError ? error : new HubError('internal', 'The hub could not ask')
      const refused = known.code === 'authorization_required'
      const restMs = (known.retryAfterSeconds ?? 0) * 1_000 || (refused ? REST_MS.refused : REST_MS.failed)
      this.#restUntilMs = this.#now() + restMs
      this.#lastError = { at: new Date().toISOString(), code: known.code, message: known.message }
      throw known
    }
  }

  #spentBy(userId: string) {
    const known = this.#spent.get(userId)
    if (known && this.#now() - known.sinceMs < HOUR_MS) return known
    const none = { sinceMs: this.#now(), texts: 0, queries: 0 }
    this.#spent.set(userId, none)
    return none
  }
}
