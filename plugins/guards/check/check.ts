import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import { secretFinder } from '../find/secrets.ts'
import type { Compiled } from './compile.ts'
import { isRawNumber, parseWritten } from './json.ts'
import { type FindersOf, inspect, type Spot } from './spots.ts'
import { SplitSecrets } from './strands.ts'

/** Most samples of one rule in one check. */
const MOST_SAMPLES = 3
const LONGEST_PATH = 120
const PATH_PART = /^[A-Za-z_][\w-]{0,31}$/
/** Members whose values are data of a tool, in which no name has a meaning of its own. */
const DATA: ReadonlySet<string> = new Set(['arguments', 'structuredContent', '_meta', 'data', 'inputResponses'])
/** Values that are part of MCP itself: only secrets are looked for in them. */
const OWN: ReadonlySet<string> = new Set([
  ...['type', 'role', 'mimeType', 'name', 'taskId', 'cursor', 'requestState', 'resultType', 'progressToken', 'level'],
])

/** Shorter texts hold no secret. */
const SHORTEST_SECRET = 12
const findSecrets = secretFinder(undefined)
const values: FindersOf = ({ values: finders }) => finders
const anywhere: FindersOf = ({ anywhere: finders }) => finders
const inNames: FindersOf = rule => [...rule.anywhere, ...rule.numbers]
const inNumbers: FindersOf = ({ numbers }) => numbers

/** One place that was found, without a character of what was there. */
export interface CheckSample {
  /** Pointer to the value; parts that are not plain names are `*`. */
  readonly path: string
  readonly kind: string
  /** Characters that were found. */
  readonly length: number
  /** The host of an address that is not on a list of domains. */
  readonly host?: string
}

/** The places that one rule found. */
export interface RuleFindings {
  readonly count: number
  readonly samples: readonly CheckSample[]
}

/** The outcome of a check. */
export interface Checked {
  /** JSON text with masked places; absent: unchanged. */
  readonly changed?: string
  /** The first rule that refuses, by its index. */
  readonly refusedBy?: number
  /** By the index of the rule. */
  readonly findings: Readonly<Record<number, RuleFindings>>
}

/** Looks at every text, name and number of a JSON text. */
export function check(text: string, rules: readonly Compiled[]): Checked {
  const value = parseWritten(text)
  const checker = new Checker(rules)
  const changed = checker.value(value, undefined, '', false)
  const findings = checker.findings()
  return {
    findings,
    ...(changed === value ? {} : { changed: JSON.stringify(changed) }),
    ...(checker.refusedBy === undefined ? {} : { refusedBy: checker.refusedBy }),
  }
}

class Checker {
  readonly #rules: readonly Compiled[]
  readonly #split: SplitSecrets
  readonly #found = new Map<number, { count: number; samples: CheckSample[] }>()
  refusedBy: number | undefined

  constructor(rules: readonly Compiled[]) {
    this.#rules = rules
    this.#split = new SplitSecrets(rules)
  }

  findings(): Readonly<Record<number, RuleFindings>> {
    return Object.fromEntries(this.#found)
  }

  /** Returns the value with its findings masked, or the same object when nothing is masked. `more`: findings in this text that were made before. */
  value(value: JsonValue, name: string | undefined, path: string, isData: boolean, more?: readonly Spot[]): JsonValue {
    if (typeof value === 'string') return this.#text(value, name, path, isData, more)
    if (typeof value === 'number' || isRawNumber(value)) return this.#number(value, path)
    if (Array.isArray(value)) return this.#list(value, name, path, isData)
    return isJsonObject(value) ? this.#object(value, path, isData) : value
  }

  #text(text: string, name: string | undefined, path: string, isData: boolean, more?: readonly Spot[]): string {
    const isOwn = !isData && name !== undefined && OWN.has(name)
    if (isOwn && text.length < SHORTEST_SECRET) return text
    const of = isOwn ? anywhere : values
    const { spots, masked } = inspect(text, this.#rules, { of, name, ...(more ? { more } : {}) })
    this.#note(spots, path)
    return masked ?? text
  }

  /** A number keeps its type: one that is masked becomes 0. */
  #number(value: JsonValue, path: string): JsonValue {
    const written = JSON.stringify(value)
    // A sign, a fraction of zero and an exponent leave the digits of a whole number what they are.
    const text = /^\d+$/.test(written) ? written : String(Math.abs(Number(written)))
    if (text.length < 11 || !/^\d+$/.test(text)) return value
    const { spots, masked } = inspect(text, this.#rules, { of: inNumbers })
    this.#note(spots, path)
    return masked === undefined ? value : 0
  }

  #list(list: JsonValue[], name: string | undefined, path: string, isData: boolean): JsonValue {
    this.#split.add(list, key => !isData && OWN.has(key))
    let isChanged = false
    const passed = list.map((item, index) => {
      const next = this.value(item, name, `${path}/${index}`, isData, this.#split.in(list, index))
      isChanged ||= next !== item
      return next
    })
    return isChanged ? passed : list
  }

  #object(object: JsonObject, path: string, isData: boolean): JsonValue {
    this.#split.add(object, key => !isData && OWN.has(key))
    let isChanged = false
    const taken = new Map<string, number>()
    const entries = Object.entries(object).map(([key, value]): [string, JsonValue] => {
      const at = `${path}/${this.#pathPart(key)}`
      const more = this.#split.in(object, key)
      const next = value === undefined ? null : this.value(value, key, at, isData || DATA.has(key), more)
      const name = this.#name(key, at, taken)
      isChanged ||= (next !== value && value !== undefined) || name !== key
      return [name, next]
    })
    return isChanged ? Object.fromEntries(entries) : object
  }

  #name(key: string, path: string, taken: Map<string, number>): string {
    if (key.length < 8) return key
    const { spots, masked } = inspect(key, this.#rules, { of: inNames })
    this.#note(spots, path)
    if (masked === undefined) return key
    const copy = (taken.get(masked) ?? 0) + 1
    taken.set(masked, copy)
    return copy === 1 ? masked : `${masked} ${copy}`
  }

  #pathPart(key: string): string {
    return PATH_PART.test(key) && findSecrets(key, undefined).length === 0 && !/\d{6}/.test(key) ? key : '*'
  }

  #note(spots: readonly Spot[], path: string): void {
    for (const { rule, kind, start, end, host } of spots) {
      const found = this.#found.get(rule) ?? { count: 0, samples: [] }
      this.#found.set(rule, found)
      found.count += 1
      if (found.samples.length < MOST_SAMPLES)
        found.samples.push({
          ...{ path: path.slice(0, LONGEST_PATH), kind, length: end - start },
          ...(host === undefined || findSecrets(host, undefined).length > 0 ? {} : { host }),
        })
      if (this.#rules[rule]?.then === 'refuse') this.refusedBy ??= rule
    }
  }
}
