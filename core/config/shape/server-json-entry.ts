import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { entered, fillVariant } from '../../domain/templates/fill.ts'
import { serverJsonTemplate } from '../../domain/templates/server-json.ts'
import type { ServerTemplate } from '../../domain/templates/types.ts'
import { fittingName } from './entry-names.ts'

/** A server that a `server.json` of the MCP Registry describes. */
export interface DescribedServer {
  readonly name: string
  /** The name in the file. */
  readonly writtenName: string
  readonly body: JsonObject
  readonly warnings: readonly string[]
  /** Why the hub cannot run it. `pointer` points into the description. */
  readonly problem?: { readonly message: string; readonly pointer: string }
}

/** The description in a `server.json`, or in a registry's answer about one; undefined for anything else. */
export function serverDescription(value: JsonValue): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined
  const { server, name, packages, remotes, command, url } = value
  if (isJsonObject(server)) return serverDescription(server)
  const describes = Array.isArray(packages) || Array.isArray(remotes)
  return typeof name === 'string' && describes && command === undefined && url === undefined ? value : undefined
}

/**
 * The server of a description by the first way to run it that the hub knows. A required input without a default becomes a
 * reference to a variable that the body lacks, so that the import asks for it; an optional one without a default is left out.
 */
export function describedServer(written: JsonObject): DescribedServer {
  const description = camelCased(written)
  const { name: writtenName, version } = description
  const name = nameOf(String(writtenName))
  const packages = listOf(description.packages).map(withTransport)
  const known = { ...description, packages, version: typeof version === 'string' ? version : '0.0.0' }
  const template = serverJsonTemplate(known)
  const [variant, ...others] = template?.variants ?? []
  const common = { name, writtenName: String(writtenName) }
  if (!template || !variant) {
    return { ...common, body: { name }, warnings: [], problem: problemOf(packages, listOf(description.remotes)) }
  }
  const filled = fillVariant(variant, template.inputs, presets(template))
  const text = typeof template.description === 'string' ? template.description : template.description.en
  return {
    ...common,
    body: { name, ...openReferences(filled.body), ...(text === template.name ? {} : { description: text }) },
    warnings: others.length === 0 ? [] : [`its file names other ways to run it: ${others.map(wayOf).join(', ')}`],
  }
}

/** `io.github.ada/weather` → `weather`. */
function nameOf(written: string): string {
  const last = written.split('/').findLast(part => part !== '') ?? ''
  return fittingName(last)
}

/** A blank default is none. A required input without a default counts as filled, so that its place stays. */
function presets({ inputs }: ServerTemplate): ReadonlyMap<string, string> {
  return new Map(
    inputs.flatMap(({ name, default: preset, required }) => {
      if (preset !== undefined) return [[name, preset] as const]
      return required ? [[name, TO_FILL] as const] : []
    }),
  )
}

/** Value of a variable that the import has to ask for. No default in a file contains a NUL character. */
const TO_FILL = '\0'

/** Removes the variables that have no value yet. */
function openReferences({ variables, secrets, ...body }: JsonObject): JsonObject {
  const known = Object.entries(isJsonObject(variables) ? variables : {}).filter(
    ([, value]) => typeof value !== 'string' || entered(value) !== TO_FILL,
  )
  const names = new Set(known.map(([name]) => `/variables/${name}`))
  const listed = listOf(secrets).filter(pointer => typeof pointer === 'string' && names.has(pointer))
  return {
    ...body,
    ...(known.length === 0 ? {} : { variables: Object.fromEntries(known) }),
    ...(listed.length === 0 ? {} : { secrets: listed }),
  }
}

function wayOf({ package: id, url }: ServerTemplate['variants'][number]): string {
  return (id ?? url ?? '').slice(0, 200)
}

function problemOf(
  packages: readonly JsonValue[],
  remotes: readonly JsonValue[],
): NonNullable<DescribedServer['problem']> {
  const kinds = packages.flatMap(one =>
    isJsonObject(one) && typeof one.registryType === 'string' ? [one.registryType] : [],
  )
  const named = kinds.length === 0 ? '' : ` (it names ${[...new Set(kinds)].slice(0, 5).join(', ').slice(0, 100)})`
  const message = `The server.json has no way to run that is known here: a package of npm or PyPI with stdio, or a remote${named}`
  return { message, pointer: packages.length > 0 || remotes.length === 0 ? '#/packages' : '#/remotes' }
}

/** The first versions of the format had no `transport` at a package: all used stdio. */
function withTransport(written: JsonValue): JsonValue {
  return isJsonObject(written) && written.transport === undefined
    ? { ...written, transport: { type: 'stdio' } }
    : written
}

/** Members of the format whose names had an underscore in its versions of 2025. */
const FORMER_NAMES: ReadonlySet<string> = new Set([
  ...['registry_type', 'registry_base_url', 'runtime_hint', 'runtime_arguments', 'package_arguments'],
  ...['environment_variables', 'is_required', 'is_secret', 'is_repeated', 'value_hint', 'website_url'],
])

function camelCased(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [camelName(key), camelValue(inner)]))
}

function camelName(name: string): string {
  return FORMER_NAMES.has(name) ? name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : name
}

function camelValue(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(camelValue)
  return isJsonObject(value) ? camelCased(value) : value
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}
