import type { ImportedServer, JsonObject, JsonValue, NotCarried } from 'patchbay/contract'

/** What is read of one file so far. */
export interface Found {
  readonly servers: ImportedServer[]
  readonly notCarried: NotCarried[]
}

/** Whether a value is an object and no list. */
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
    const [what, instead] = LEFT[name] ?? [`"${name.slice(0, 64)}"`, 'Nothing here is known by this name.']
    found.notCarried.push({ pointer: `${pointer}/${part(name)}`, what, instead })
  }
}

const ONE_BY_ONE = 'Switch tools off one by one, or make a group with those that are wanted.'
const LEFT: Readonly<Record<string, readonly [what: string, instead: string]>> = {
  enabled_tools: ['the list of the only tools', ONE_BY_ONE],
  available_tools: ['the list of the only tools', ONE_BY_ONE],
  oauth: ['the OAuth sign-in', 'Set a header with a token.'],
  scopes: ['the OAuth sign-in', 'Set a header with a token.'],
  headersHelper: ['a program that makes headers', 'Set the headers.'],
  envFile: ['a file of variables', 'Name its variables in "env".'],
  settings: ['settings of the editor’s extension', 'Set what the server reads in "args" or "env".'],
}

/** `env` of names whose values the client takes from its own environment. */
export function forwarded(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map(name => [name, `\${${name}}`]))
}
