import type { JsonValue } from '../../contract/json.ts'

export interface UpstreamAsk {
  /** The upstream's own id, with its JSON type. */
  readonly id: JsonValue
  /** The call that caused it. */
  readonly callId: number
}

/** Requests of an upstream that wait for the client's answer, under numbers of the hub. */
export class AskTable {
  readonly #asks = new Map<number, UpstreamAsk>()
  #last = 0

  get size(): number {
    return this.#asks.size
  }

  add(ask: UpstreamAsk): number {
    this.#last += 1
    this.#asks.set(this.#last, ask)
    return this.#last
  }

  take(key: number): UpstreamAsk | undefined {
    const ask = this.#asks.get(key)
    this.#asks.delete(key)
    return ask
  }

  /** By the upstream's id; 1 and "1" are different requests. */
  keyOf(id: JsonValue): number | undefined {
    for (const [key, ask] of this.#asks) if (ask.id === id) return key
    return undefined
  }
}
