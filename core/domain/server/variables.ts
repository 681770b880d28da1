import { type FieldCode, type FieldError, HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { mapStrings, pointerToken } from '../json/json-pointer.ts'
import { nearest, SUGGESTIONS } from '../nearest.ts'
import { mapOwnTexts } from './openapi.ts'

/** Longest filled-in string, in characters: nested variables grow exponentially. */
const FILLED_CHARACTERS = 256 * 1024
/** Limit of all filled-in strings of one configuration together. */
const FILLED_CHARACTERS_IN_ALL = 1024 * 1024
/** Longest chain of variables that refer to each other. */
const VARIABLE_DEPTH = 32
/** Variables per server; checked when its body is parsed. */
export const VARIABLE_COUNT = 1_000

// `$${` escapes a plain `${`, for commands that use it themselves. The one group spans the whole match, so that `split`
// puts the references at odd indices.
const REFERENCE = /(\$?\$\{[^{}]*\})/

/** Values by name, for `${name}` in settings. */
export type Variables = Readonly<Record<string, string>>

/** Variables with their references to each other filled in, and the problems found. */
export interface ExpandedVariables {
  readonly values: Variables
  readonly errors: readonly FieldError[]
}

/**
 * Fills in `${NAME}` inside the variables' own values. An unknown name is `variable_unknown` (the hub's environment is
 * never used), a circular one `variable_cycle`. Takes time proportional to the values and results; results over the
 * limit are not built.
 */
export function expandVariables(variables: Variables): ExpandedVariables {
  const names = Object.keys(variables)
  const filler = new Filler()
  const done = new Map<string, string>()
  const open = new Set<string>()

  const expand = (name: string): string => {
    const known = done.get(name)
    if (known !== undefined) return known
    const pointer = `#/variables/${pointerToken(name)}`
    open.add(name)
    const text = filler.fill(variables[name] ?? '', pointer, inner => {
      if (!Object.hasOwn(variables, inner)) filler.unknown(inner, pointer, names)
      else if (open.has(inner)) filler.problem(pointer, 'variable_cycle', cycle(name, open, inner))
      else if (open.size > VARIABLE_DEPTH) {
        const detail = `The variable "${name}" leads through more than ${VARIABLE_DEPTH} others`
        filler.problem(pointer, 'range', detail)
      } else return expand(inner)
      return ''
    })
    open.delete(name)
    done.set(name, text)
    return text
  }

  const values = Object.fromEntries(names.map(name => [name, expand(name)]))
  return { values, errors: filler.errors }
}

function cycle(name: string, open: ReadonlySet<string>, inner: string): string {
  return `The variable "${name}" leads back to itself: ${[...open, inner].join(' → ')}`
}

/** Fills in one string of a configuration; counts the total length. */
export type FillText = (text: string, pointer: string) => string

/**
 * Fills in the strings of one configuration from expanded variables; problems go to `errors`, and the string gets
 * nothing in their place. All strings together are limited to 1 MiB: beyond that is a `length` problem.
 */
export function textFiller(values: Variables, errors: FieldError[]): FillText {
  const filler = new Filler(errors)
  return (text, pointer) => {
    if (!text.includes('${')) return text
    const filled = filler.fill(text, pointer, name => {
      if (Object.hasOwn(values, name)) return values[name] ?? ''
      filler.unknown(name, pointer, Object.keys(values))
      return ''
    })
    return filled.replaceAll('$${', '${')
  }
}

/** Fills in every string of a configuration. Throws `variable_unknown` with the problem and its position. */
export function fillVariables<T extends JsonValue>(config: T, variables: Variables): T {
  const { fill, check } = checkedFiller(variables)
  const filled = mapOwnTexts(config, (text, pointer) => fill(text, `#${pointer}`))
  check()
  return filled
}

/** Fills in every string of the named arguments. Throws `variable_unknown`, as `fillVariables` does. */
export function fillArguments(given: JsonObject, names: readonly string[], variables: Variables): JsonObject {
  const { fill, check } = checkedFiller(variables)
  const filled = new Map<string, JsonValue>(Object.entries(given))
  for (const name of names) {
    const value = filled.get(name)
    if (value === undefined) continue
    const at = `/arguments/${pointerToken(name)}`
    filled.set(
      name,
      mapStrings(value, (text, pointer) => fill(text, `#${pointer}`), at),
    )
  }
  check()
  return Object.fromEntries(filled)
}

function checkedFiller(variables: Variables): { readonly fill: FillText; check(): void } {
  const { values, errors } = expandVariables(variables)
  const problems = [...errors]
  const check = () => {
    const [first] = problems
    if (first) throw new HubError('variable_unknown', `${first.detail} (at ${first.pointer})`)
  }
  check()
  return { fill: textFiller(values, problems), check }
}

/** Replaces references within the limits of one string and of all. */
class Filler {
  readonly errors: FieldError[]
  #left = FILLED_CHARACTERS_IN_ALL
  /** References to unknown variables; the first ones get a suggestion. */
  #unknown = 0

  constructor(errors: FieldError[] = []) {
    this.errors = errors
  }

  problem(pointer: string, code: FieldCode, detail: string): void {
    this.errors.push({ pointer, code, detail })
  }

  unknown(name: string, pointer: string, known: readonly string[]): void {
    this.#unknown += 1
    const near = this.#unknown <= SUGGESTIONS ? nearest(name, known) : undefined
    const hint = near ? `; did you mean \${${near}}?` : '; add it to "variables"'
    const shown = name.length > 64 ? `${name.slice(0, 64)}…` : name
    this.problem(pointer, 'variable_unknown', `\${${shown}} is not a variable of this server${hint}`)
  }

  /** Returns the text with its references replaced; empty, with a problem, when that would be too long. */
  fill(text: string, pointer: string, lookUp: (name: string) => string): string {
    const most = Math.min(FILLED_CHARACTERS, this.#left)
    let length = text.length
    // All further strings would be too long as well; one problem is enough.
    if (this.#left < 0) return ''
    // Measured before building: a short text may repeat a long value ten thousand times.
    const parts = length > most ? [] : text.split(REFERENCE)
    for (let at = 1; at < parts.length && length <= most; at += 2) {
      const reference = parts[at] ?? ''
      if (reference.startsWith('$$')) continue
      const value = lookUp(reference.slice(2, -1))
      parts[at] = value
      length += value.length - reference.length
    }
    if (length > most) {
      const what = this.#left < FILLED_CHARACTERS ? 'all texts together are' : 'the text is'
      const limit = this.#left < FILLED_CHARACTERS ? FILLED_CHARACTERS_IN_ALL : FILLED_CHARACTERS
      if (most < FILLED_CHARACTERS) this.#left = -1
      this.problem(pointer, 'length', `Once filled in, ${what} longer than ${limit} characters`)
      return ''
    }
    this.#left -= length
    return parts.join('')
  }
}
