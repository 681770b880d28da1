import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import { canonical, looksMasked, maskSecret, pointerToken } from 'patchbay/plugin-kit'

/** A field that the user and the template both changed, each differently. */
export interface Conflict {
  /** JSON Pointer into the server's body, such as `/args`. */
  readonly pointer: string
  /** Values that were installed, that the server has now, and that the template has now; null if there is none. */
  readonly installed: JsonValue
  readonly present: JsonValue
  readonly offered: JsonValue
}

/** Decision for each conflict, by its pointer. */
export type Choices = Readonly<Record<string, 'keep' | 'take'>>

/** Two changes of one origin, in one. */
export interface Merged {
  readonly fields: JsonObject
  /** Pointers of kept manual changes. */
  readonly kept: readonly string[]
  /** Conflicts; `fields` has the present value, or the offered one if the choice is `take`. */
  readonly conflicts: readonly Conflict[]
}

/** Fields of a body that a template fills. */
export const TEMPLATE_FIELDS = ['transport', 'command', 'args', 'env', 'url', 'headers'] as const

/**
 * Merges the fields that a template fills: fields that the user did not change become the `offered` ones, manual changes stay
 * unless the template changed the same place. Entries of `env` and `headers` are merged one by one, and words of `args` by
 * position.
 */
export function mergeFields(
  installed: JsonObject,
  present: JsonObject,
  offered: JsonObject,
  choices: Choices = {},
): Merged {
  const merge = new Merge(choices)
  for (const field of TEMPLATE_FIELDS) {
    const three = [installed[field], present[field], offered[field]] as const
    const isMap = field === 'env' || field === 'headers'
    const value = isMap ? merge.entries(field, ...three) : merge.value(`/${field}`, ...three)
    if (value !== undefined) merge.fields[field] = value
  }
  return merge
}

type Maybe = JsonValue | undefined

class Merge implements Merged {
  readonly fields: Record<string, JsonValue> = {}
  readonly kept: string[] = []
  readonly conflicts: Conflict[] = []
  readonly #choices: Choices

  constructor(choices: Choices) {
    this.#choices = choices
  }

  entries(field: string, installed: Maybe, present: Maybe, offered: Maybe): Maybe {
    const [one, two, three] = [object(installed), object(present), object(offered)]
    const names = new Set([...Object.keys(two), ...Object.keys(three), ...Object.keys(one)])
    const merged = [...names].flatMap(name => {
      const value = this.value(`/${field}/${pointerToken(name)}`, own(one, name), own(two, name), own(three, name))
      return value === undefined ? [] : [[name, value] as const]
    })
    return merged.length === 0 ? undefined : Object.fromEntries(merged)
  }

  value(pointer: string, installed: Maybe, present: Maybe, offered: Maybe): Maybe {
    if (isSame(present, offered)) return present
    if (isSame(present, installed)) return offered
    if (isSame(installed, offered)) {
      this.kept.push(pointer)
      return present
    }
    const words = mergeWords(installed, present, offered)
    if (words) {
      this.kept.push(pointer)
      return words
    }
    const [one, two, three] = [installed ?? null, present ?? null, offered ?? null]
    this.conflicts.push({ pointer, installed: one, present: two, offered: three })
    return this.#choices[pointer] === 'take' ? offered : present
  }
}

function object(value: Maybe): JsonObject {
  return isJsonObject(value) ? value : {}
}

function own(map: JsonObject, name: string): Maybe {
  return Object.hasOwn(map, name) ? map[name] : undefined
}

/** True for equal values; a mask equals a value that is secret by its name. */
function isSame(one: Maybe, other: Maybe): boolean {
  if (one === undefined || other === undefined) return one === other
  if (canonical(one) === canonical(other)) return true
  if (typeof one !== 'string' || typeof other !== 'string') return false
  if (looksMasked(one)) return maskSecret(other) === one
  return looksMasked(other) && maskSecret(one) === other
}

interface Hunk {
  /** Range of the installed words, from the first to after the last differing one. */
  readonly from: number
  readonly to: number
  readonly words: readonly JsonValue[]
}

/** Both changes of a list, when they do not touch each other. */
function mergeWords(installed: Maybe, present: Maybe, offered: Maybe): JsonValue[] | undefined {
  if (!Array.isArray(installed) || !Array.isArray(present) || !Array.isArray(offered)) return undefined
  const [first, second] = [hunkOf(installed, present), hunkOf(installed, offered)].toSorted(
    (one, other) => one.from - other.from || one.to - other.to,
  )
  if (!first || !second || first.to > second.from) return undefined
  // Two insertions at one place have no order.
  if (first.from === second.from && first.to === second.to) return undefined
  return [
    ...installed.slice(0, first.from),
    ...first.words,
    ...installed.slice(first.to, second.from),
    ...second.words,
    ...installed.slice(second.to),
  ]
}

function hunkOf(before: readonly JsonValue[], after: readonly JsonValue[]): Hunk {
  const most = Math.min(before.length, after.length)
  let start = 0
  while (start < most && isSame(before[start], after[start])) start += 1
  let end = 0
  while (end < most - start && isSame(before[before.length - 1 - end], after[after.length - 1 - end])) end += 1
  return { from: start, to: before.length - end, words: after.slice(start, after.length - end) }
}
