import { HubError } from 'patchbay/contract'
import type { RankQuery, ScopeTool } from 'patchbay/features'
import type { Vectors } from './vectors.ts'

const DESCRIPTION_CHARACTERS = 1_000
/** Longest piece of work without a pause, in milliseconds. */
const SLICE_MS = 5
const MOST_NAMES = 50
/** Highest share of tools without a vector: with more, an order by meaning would leave out too much. */
const MOST_UNKNOWN_SHARE = 0.1

/** Orders a caller's tools by how near their vectors are to that of the search. */
export class EmbeddingRanker {
  readonly #vectors: Vectors
  /** By the array of a caller's tools, which stays the same while nothing changes. */
  readonly #keys = new WeakMap<readonly ScopeTool[], readonly (readonly [key: string, tool: ScopeTool])[]>()

  constructor(vectors: Vectors) {
    this.#vectors = vectors
  }

  /** Rejects while too many tools have no vector yet, and with what asking for the vector of the search fails with. */
  async rank({ actor, query, tools }: RankQuery, signal: AbortSignal): Promise<readonly string[]> {
    const queryVector = this.#vectors.ofQuery(actor.userId, query)
    queryVector.catch(() => undefined)
    const keys = this.#keys.get(tools) ?? (await this.#read(tools))
    const missing = keys.filter(([key]) => this.#vectors.get(actor.userId, key) === undefined)
    if (missing.length > 0) this.#vectors.want(actor.userId, new Map(missing.map(([key, tool]) => [key, textOf(tool)])))
    if (missing.length > keys.length * MOST_UNKNOWN_SHARE)
      throw new HubError('starting', 'The vectors of the tools are not there yet', { retryAfterSeconds: 5 })
    const wanted = await queryVector
    const scores: { readonly name: string; readonly score: number }[] = []
    const pause = slices(signal)
    for (const [key, { name }] of keys) {
      const vector = this.#vectors.get(actor.userId, key)
      if (vector?.length === wanted.length) scores.push({ name, score: product(vector, wanted) })
      await pause()
    }
    return scores
      .sort((one, other) => other.score - one.score)
      .slice(0, MOST_NAMES)
      .map(({ name }) => name)
  }

  async #read(tools: readonly ScopeTool[]) {
    const keys: (readonly [string, ScopeTool])[] = []
    const pause = slices()
    for (const tool of tools) {
      keys.push([this.#vectors.key(textOf(tool)), tool])
      await pause()
    }
    this.#keys.set(tools, keys)
    return keys
  }
}

/** Embedded text of a tool: its name, server and description. */
function textOf({ name, server, definition }: ScopeTool): string {
  const { title, description } = definition()
  const texts = [name.replace(/[_-]+/g, ' '), `(${server})`, title, description]
  return texts
    .filter(text => typeof text === 'string')
    .join(' ')
    .slice(0, DESCRIPTION_CHARACTERS)
}

function product(one: Float32Array, other: Float32Array): number {
  let sum = 0
  for (let at = 0; at < one.length; at += 1) sum += (one[at] ?? 0) * (other[at] ?? 0)
  return sum
}

/** Pauses for other work every 5 ms; rejects when the search was aborted. */
function slices(signal?: AbortSignal): () => Promise<void> | undefined {
  let since = performance.now()
  return () => {
    if (performance.now() - since < SLICE_MS) return undefined
    return new Promise<void>(resolve => setTimeout(resolve, 0)).then(() => {
      signal?.throwIfAborted()
      since = performance.now()
    })
  }
}
