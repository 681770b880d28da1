import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import type { Compiled } from './compile.ts'
import { inspect, type Spot } from './spots.ts'

type Holder = JsonObject | JsonValue[]

/** One text of a strand. `key`: the name or index at which its holder has it. */
interface Piece {
  readonly holder: Holder
  readonly key: string | number
  readonly text: string
}

/** Members of a block whose value may have its text: messages have `content`, embedded resources `resource`. */
const TEXT_WITHIN = ['content', 'resource'] as const
/** Shorter texts hold no secret. */
const SHORTEST = 16

/**
 * Secrets that are split over texts that belong together, as places in each of these: the texts of one list or object, in their order, and those that
 * the objects of a list have below the same name. Each text is read twice for this at most.
 */
export class SplitSecrets {
  readonly #rules: readonly Compiled[]
  readonly #found = new Map<Holder, Map<string | number, Spot[]>>()
  readonly #isWanted: boolean

  constructor(rules: readonly Compiled[]) {
    this.#rules = rules
    this.#isWanted = rules.some(({ anywhere }) => anywhere.length > 0)
  }

  /** The places in one text. */
  in(holder: Holder, key: string | number): readonly Spot[] | undefined {
    return this.#found.get(holder)?.get(key)
  }

  /** Looks at the texts of a list or object. `isSkipped`: names whose values are no text. */
  add(holder: Holder, isSkipped: (name: string) => boolean): void {
    if (!this.#isWanted) return
    const strands = Array.isArray(holder) ? strandsOfList(holder, isSkipped) : [textsOf(holder, isSkipped)]
    for (const strand of strands) if (strand.length > 1) this.#addStrand(strand)
  }

  #addStrand(strand: readonly Piece[]): void {
    const joined = strand.map(({ text }) => text).join('')
    if (joined.length < SHORTEST) return
    const { spots } = inspect(joined, this.#rules, { of: rule => rule.joined })
    const sorted = spots.toSorted((a, b) => a.start - b.start)
    let next = 0
    let start = 0
    let open: readonly Spot[] = []
    for (const { holder, key, text } of strand) {
      const end = start + text.length
      const begun: Spot[] = []
      for (let spot = sorted[next]; spot && spot.start < end; spot = sorted[next]) {
        if (spot.end > end) begun.push(spot)
        next += 1
      }
      open = [...open.filter(spot => spot.end > start), ...this.#unfinished(text, start, begun)]
      for (const spot of open)
        this.#note(holder, key, {
          ...spot,
          start: Math.max(spot.start - start, 0),
          end: Math.min(spot.end, end) - start,
        })
      start = end
    }
  }

  /** A secret that is whole in one text is found there; the word that follows it in the next one is no part of it. */
  #unfinished(text: string, start: number, begun: readonly Spot[]): readonly Spot[] {
    if (begun.length === 0) return begun
    const { spots } = inspect(text, this.#rules, { of: rule => rule.joined })
    return begun.filter(spot => !spots.some(one => one.rule === spot.rule && one.start === spot.start - start))
  }

  #note(holder: Holder, key: string | number, spot: Spot): void {
    if (spot.start >= spot.end) return
    const texts = this.#found.get(holder) ?? new Map<string | number, Spot[]>()
    this.#found.set(holder, texts)
    texts.set(key, [...(texts.get(key) ?? []), spot])
  }
}

function textsOf(object: JsonObject, isSkipped: (name: string) => boolean): readonly Piece[] {
  return Object.entries(object).flatMap(([key, text]) =>
    typeof text === 'string' && !isSkipped(key) ? [{ holder: object, key, text }] : [],
  )
}

function strandsOfList(list: JsonValue[], isSkipped: (name: string) => boolean): readonly (readonly Piece[])[] {
  const own: Piece[] = []
  const columns = new Map<string, Piece[]>()
  for (const [key, item] of list.entries()) {
    if (typeof item === 'string') own.push({ holder: list, key, text: item })
    if (!isJsonObject(item)) continue
    const within = typeof item.text === 'string' ? undefined : TEXT_WITHIN.map(name => item[name]).find(isBlock)
    for (const piece of [...textsOf(item, isSkipped), ...(within ? textsOf(within, name => name !== 'text') : [])]) {
      const column = columns.get(String(piece.key)) ?? []
      column.push(piece)
      columns.set(String(piece.key), column)
    }
  }
  return [own, ...columns.values()]
}

function isBlock(value: JsonValue | undefined): value is JsonObject {
  return isJsonObject(value) && typeof value.text === 'string'
}
