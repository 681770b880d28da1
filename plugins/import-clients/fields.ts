import type { JsonObject, JsonValue } from 'patchbay/contract'
import type { ImportedServer, NotCarried } from 'patchbay/features'

/** The result of reading one file so far. */
export interface Found {
  readonly servers: ImportedServer[]
  readonly notCarried: NotCarried[]
}

/** True when a value is an object and no list. */
export function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** The texts of a list; undefined for anything else. */
export function texts(value: JsonValue | undefined): string[] | undefined {
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : undefined
}

/** Part of a JSON Pointer. */
export function part(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Names the fields of an entry that are read by nobody. */
export function nameRest(found: Found, pointer: string, entry: JsonObject, known: ReadonlySet<string>): void {
  for (const name of Object.keys(entry)) {
    if (known.has(name)) continue
    const [what, instead] = LEFT.get(name) ?? [`"${name.slice(0, 64)}"`, 'Nothing here is known by this name.']
    found.notCarried.push({ pointer: `${pointer}/${part(name)}`, what, instead })
  }
}

const LEFT = new Map<string, readonly [what: string, instead: string]>([
  ['oauth', ['the OAuth sign-in', 'Set a header with a token.']],
  ['scopes', ['the OAuth sign-in', 'Set a header with a token.']],
  ['headersHelper', ['a program that makes headers', 'Set the headers.']],
  ['envFile', ['a file of variables', 'Name its variables in "env".']],
  ['settings', ['settings of the editor’s extension', 'Set what the server reads in "args" or "env".']],
])

/**
 * A field of names and values under `others`; undefined where there are none. What is no object stays as it is, so that it is
 * reported; null is what some programs write for nothing.
 */
export function mapOf(own: JsonValue | undefined, others: JsonObject = {}): JsonValue | undefined {
  if (own !== undefined && own !== null && !isObject(own)) return own
  const all = { ...others, ...own }
  return Object.keys(all).length === 0 ? undefined : all
}

/** Seconds in milliseconds; what is no number stays, so that it is reported. */
export function milliseconds(seconds: JsonValue): JsonValue {
  return typeof seconds === 'number' ? Math.round(seconds * 1_000) : seconds
}

/** `env` of names whose values the client takes from its own environment. */
export function forwarded(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map(name => [name, `\${${name}}`]))
}
