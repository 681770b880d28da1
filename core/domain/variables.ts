import { type FieldError, HubError } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import { mapStrings, pointerToken } from './json-pointer.ts'
import { nearest } from './nearest.ts'
import { mapOwnTexts } from './server-openapi.ts'

/** Longest text that a filled-in string may become, in characters: variables that name variables grow by powers. */
const FILLED_CHARACTERS = 256 * 1024

// `$${` is a plain `${`, for commands whose own syntax has it.
const REFERENCE = /\$?\$\{([^{}]*)\}/g

export type Variables = Readonly<Record<string, string>>

/** Variables with the references among themselves filled in, and what is wrong with them. */
export interface ExpandedVariables {
  readonly values: Variables
  readonly errors: readonly FieldError[]
}

/**
 * Fills in `${NAME}` inside the variables' own values. A name that is not among them is `variable_unknown` (the hub's
 * environment is never looked at), one that leads back to itself `variable_cycle`.
 */
export function expandVariables(variables: Variables): ExpandedVariables {
  const errors: FieldError[] = []
  const done = new Map<string, string>()
  const open: string[] = []

  const expand = (name: string): string => {
    const known = done.get(name)
    if (known !== undefined) return known
    const pointer = `#/variables/${pointerToken(name)}`
    open.push(name)
    const text = substitute(variables[name] ?? '', inner => {
      if (!Object.hasOwn(variables, inner)) {
        errors.push(unknownVariable(inner, pointer, variables))
        return ''
      }
      if (open.includes(inner)) {
        const detail = `The variable "${name}" leads back to itself: ${[...open, inner].join(' → ')}`
        errors.push({ pointer, code: 'variable_cycle', detail })
        return ''
      }
      return expand(inner)
    })
    open.pop()
    if (text === undefined) errors.push(tooLong(pointer))
    done.set(name, text ?? '')
    return text ?? ''
  }

  const values = Object.fromEntries(Object.keys(variables).map(name => [name, expand(name)]))
  return { values, errors }
}

/** Fills one text from expanded variables; what is wrong goes to `problem`, and leaves nothing behind in the text. */
export function fillText(
  text: string,
  values: Variables,
  pointer: string,
  problem: (error: FieldError) => void,
): string {
  if (!text.includes('${')) return text
  const filled = substitute(text, name => {
    if (Object.hasOwn(values, name)) return values[name] ?? ''
    problem(unknownVariable(name, pointer, values))
    return ''
  })
  if (filled === undefined) problem(tooLong(pointer))
  return (filled ?? '').replaceAll('$${', '${')
}

/** Fills in every string of a configuration. Throws `variable_unknown`, naming the variable and where it is used. */
export function fillVariables<T extends JsonValue>(config: T, variables: Variables): T {
  const values = expandedOrRefused(variables)
  return mapOwnTexts(config, (text, pointer) => fillText(text, values, `#${pointer}`, refuse))
}

/** Fills in every string of the arguments that are named. Throws `variable_unknown`, as `fillVariables`. */
export function fillArguments(given: JsonObject, names: readonly string[], variables: Variables): JsonObject {
  const values = expandedOrRefused(variables)
  const filled = new Map<string, JsonValue>(Object.entries(given))
  for (const name of names) {
    const value = filled.get(name)
    if (value === undefined) continue
    const at = `/arguments/${pointerToken(name)}`
    filled.set(
      name,
      mapStrings(value, (text, pointer) => fillText(text, values, `#${pointer}`, refuse), at),
    )
  }
  return Object.fromEntries(filled)
}

function refuse(error: FieldError): never {
  throw new HubError('variable_unknown', `${error.detail} (at ${error.pointer})`)
}

function expandedOrRefused(variables: Variables): Variables {
  const { values, errors } = expandVariables(variables)
  return errors[0] ? refuse(errors[0]) : values
}

/** The text with its references replaced, or undefined when that would be longer than a text may be. */
function substitute(text: string, lookUp: (name: string) => string): string | undefined {
  let length = text.length
  const filled = text.replace(REFERENCE, (reference, name: string) => {
    if (reference.startsWith('$$')) return reference
    const value = lookUp(name)
    length += value.length
    return length > FILLED_CHARACTERS ? '' : value
  })
  return length > FILLED_CHARACTERS ? undefined : filled
}

function tooLong(pointer: string): FieldError {
  return { pointer, code: 'length', detail: `The text is longer than ${FILLED_CHARACTERS} characters once filled in` }
}

function unknownVariable(name: string, pointer: string, variables: Variables): FieldError {
  const near = nearest(name, Object.keys(variables))
  const hint = near ? `; did you mean \${${near}}?` : '; add it to "variables"'
  const shown = name.length > 64 ? `${name.slice(0, 64)}…` : name
  return { pointer, code: 'variable_unknown', detail: `\${${shown}} is not a variable of this server${hint}` }
}
