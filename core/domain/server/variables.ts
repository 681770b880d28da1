import { type FieldCode, type FieldError, HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { mapStrings, pointerToken } from '../json/json-pointer.ts'
import { nearest, SUGGESTIONS } from '../nearest.ts'
import { mapOwnTexts } from './openapi.ts'

/** Longest text that a filled-in string may become, in characters: variables that name variables grow by powers. */
const FILLED_CHARACTERS = 256 * 1024
/** Of all texts of one configuration together, once filled in. */
const FILLED_CHARACTERS_IN_ALL = 1024 * 1024
/** Variables that may stand between a variable and the last one that it leads to. */
const VARIABLE_DEPTH = 32
/** Variables of one server; held where its body is read. */
export const VARIABLE_COUNT = 1_000

// `$${` is a plain `${`, for commands whose own syntax has it.
// One group around the whole, so that `split` keeps the references at odd places.
const REFERENCE = /(\$?\$\{[^{}]*\})/

export type Variables = Readonly<Record<string, string>>

/** Variables with the references among themselves filled in, and what is wrong with them. */
export interface ExpandedVariables {
  readonly values: Variables
  readonly errors: readonly FieldError[]
}

/**
 * Fills in `${NAME}` inside the variables' own values. A name that is not among them is `variable_unknown` (the hub's
 * environment is never looked at), one that leads back to itself `variable_cycle`. Takes time in the length of the values and
 * of what they become; texts that would become too long are not built.
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

/** A way to fill in the texts of one configuration, which counts what they become. */
export type FillText = (text: string, pointer: string) => string

/**
 * Fills the texts of one configuration from expanded variables; what is wrong goes to `errors`, and leaves nothing behind in
 * the text. All texts together may become 1 MiB long: what is beyond is a `length`, and is not built.
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

/** Fills in every string of a configuration. Throws `variable_unknown`, naming what is wrong and where it is used. */
export function fillVariables<T extends JsonValue>(config: T, variables: Variables): T {
  const { fill, check } = checkedFiller(variables)
  const filled = mapOwnTexts(config, (text, pointer) => fill(text, `#${pointer}`))
  check()
  return filled
}

/** Fills in every string of the arguments that are named. Throws `variable_unknown`, as `fillVariables`. */
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

/** Replaces references, within the limits for one text and for all. */
class Filler {
  readonly errors: FieldError[]
  #left = FILLED_CHARACTERS_IN_ALL
  /** References that named no variable; the first ones are compared with the names that there are. */
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

  /** The text with its references replaced; empty, and a problem, where that would be too long. */
  fill(text: string, pointer: string, lookUp: (name: string) => string): string {
    const most = Math.min(FILLED_CHARACTERS, this.#left)
    let length = text.length
    // All further texts would be too long as well, and one problem says so.
    if (this.#left < 0) return ''
    // Measured before it is built: a short text may name a long value ten thousand times.
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
