import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import { argumentName } from './names.ts'
import type { Operation } from './operations.ts'
import type { References } from './references.ts'
import type { Style, Written } from './styles.ts'

type Place = 'path' | 'query' | 'header' | 'cookie'

/** One parameter of an operation, as a call needs it. */
export interface Parameter extends Written {
  readonly in: Place
  readonly required: boolean
  /** Serialized as JSON (`content` in the document). */
  readonly asJson: boolean
}

/** The parts of a parameter that only the tool's definition needs. */
export interface ParameterText {
  readonly schema: JsonValue | undefined
  readonly description: string | undefined
  readonly deprecated: boolean
}

const PLACES: readonly string[] = ['path', 'query', 'header', 'cookie']
const DEFAULT_STYLE: Readonly<Record<Place, Style>> = {
  path: 'simple',
  query: 'form',
  header: 'simple',
  cookie: 'form',
}
const STYLES: Readonly<Record<Place, readonly string[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
}
/** Headers that no caller may set: OpenAPI ignores the first three itself, the others frame or route the request. */
const NO_PARAMETERS: ReadonlySet<string> = new Set([
  ...[
    'accept',
    'content-type',
    'authorization',
    'host',
    'cookie',
    'content-length',
    'content-encoding',
    'transfer-encoding',
  ],
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'te', 'trailer', 'upgrade', 'expect'],
  ...[
    'accept-encoding',
    'x-patchbay-instance',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'forwarded',
  ],
])

/** The parameters of an operation. Of two with the same place and name the operation's own overrides its path's. */
export function readParameters(
  operation: Operation,
  references: References,
  hasBody: boolean,
): readonly (readonly [Parameter, ParameterText])[] {
  const found = new Map<string, { readonly place: Place; readonly definition: JsonObject }>()
  for (const value of operation.parameters) {
    const definition = references.follow(value)
    if (!definition || typeof definition.name !== 'string' || definition.name === '') continue
    const place = placeOf(definition)
    if (!place || (place === 'header' && isRefused(definition.name))) continue
    if (place === 'path' && !operation.path.includes(`{${definition.name}}`)) continue
    found.set(`${place}:${definition.name}`, { place, definition })
  }
  // A name in the path without a declared parameter still needs a value.
  for (const [, name = ''] of operation.path.matchAll(/\{([^{}]+)\}/g)) {
    const key = `path:${name}`
    if (!found.has(key)) found.set(key, { place: 'path', definition: { name, schema: { type: 'string' } } })
  }
  return named([...found.values()], hasBody)
}

function named(
  found: readonly { readonly place: Place; readonly definition: JsonObject }[],
  hasBody: boolean,
): readonly (readonly [Parameter, ParameterText])[] {
  const counts = new Map<string, number>(hasBody ? [['body', 1]] : [])
  for (const { definition } of found)
    counts.set(String(definition.name), (counts.get(String(definition.name)) ?? 0) + 1)
  const taken = new Set<string>(hasBody ? ['body'] : [])
  return found.map(({ place, definition }) => {
    const name = String(definition.name)
    const argument = argumentName((counts.get(name) ?? 0) > 1 ? `${name}_${place}` : name, taken)
    taken.add(argument)
    return [parameter(name, argument, place, definition), parameterText(definition)] as const
  })
}

function parameter(name: string, argument: string, place: Place, definition: JsonObject): Parameter {
  const { style, explode, required, allowReserved } = definition
  const known = typeof style === 'string' && STYLES[place].includes(style) ? (style as Style) : DEFAULT_STYLE[place]
  return {
    name,
    argument,
    in: place,
    style: known,
    explode: typeof explode === 'boolean' ? explode : known === 'form',
    required: place === 'path' || required === true,
    allowReserved: place === 'query' && allowReserved === true,
    asJson: isJsonObject(definition.content),
  }
}

function parameterText({ schema, content, description, deprecated }: JsonObject): ParameterText {
  const media = isJsonObject(content) ? Object.values(content)[0] : undefined
  return {
    schema: schema ?? (isJsonObject(media) ? media.schema : undefined),
    description: typeof description === 'string' && description.trim() !== '' ? description.trim() : undefined,
    deprecated: deprecated === true,
  }
}

function placeOf(definition: JsonObject): Place | undefined {
  return PLACES.includes(String(definition.in)) ? (definition.in as Place) : undefined
}

function isRefused(name: string): boolean {
  const lower = name.toLowerCase()
  return NO_PARAMETERS.has(lower) || lower.startsWith('mcp-') || !/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower)
}
