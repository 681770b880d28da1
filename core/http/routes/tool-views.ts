import { createHash } from 'node:crypto'
import type { ServerCatalog } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { ServerRecord, ToolOverride } from '../../contract/records.ts'
import { quoteName } from '../../domain/names.ts'
import { nearest } from '../../domain/nearest.ts'

type Overrides = ServerRecord['tools']

/** One tool of a server: what the upstream wrote, and what its owner made of it. */
export interface ServerTool {
  readonly original: string
  /** After the owner's override; the name that others know. */
  readonly name: string
  readonly enabled: boolean
  readonly overridden: boolean
  readonly definition: JsonObject
  /** The definition as others see it. */
  readonly exposed: JsonObject
}

/** The tools in the order of the upstream; one without a name cannot be called and is left out. */
export function serverTools(overrides: Overrides, catalog: ServerCatalog | undefined): readonly ServerTool[] {
  return (catalog?.tools ?? []).flatMap(definition => {
    const original = definition.name
    return typeof original === 'string' ? [serverTool(original, definition, overrideOf(overrides, original))] : []
  })
}

function serverTool(original: string, definition: JsonObject, override: ToolOverride | undefined): ServerTool {
  const name = override?.name ?? original
  const description = override?.description ?? definition.description
  return {
    original,
    name,
    enabled: override?.enabled ?? true,
    overridden: override !== undefined,
    definition,
    exposed: { ...definition, name, ...(description === undefined ? {} : { description }) },
  }
}

/** A tool may be called `constructor`: only own members are overrides. */
function overrideOf(overrides: Overrides, original: string): ToolOverride | undefined {
  return Object.hasOwn(overrides, original) ? overrides[original] : undefined
}

/** The whole list entry for somebody who may edit the server. */
export function ownedTool(tool: ServerTool): JsonObject {
  return {
    ...tool.exposed,
    original: tool.original,
    enabled: tool.enabled,
    overridden: tool.overridden,
    tokens: tokensOf(tool.exposed),
    hash: definitionHash(tool.definition),
  }
}

/** For somebody who only sees the server: no trace of what was renamed. */
export function viewedTool(tool: ServerTool): JsonObject {
  return { ...tool.exposed, tokens: tokensOf(tool.exposed) }
}

/** About as many tokens as a model needs to read it: characters of the JSON text divided by four, rounded up. */
export function tokensOf(definition: JsonObject): number {
  return Math.ceil(JSON.stringify(definition).length / 4)
}

/** SHA-256 (hex) of a definition, whatever the order of its members, so that a change of meaning can be noticed. */
export function definitionHash(definition: JsonObject): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(definition)))
    .digest('hex')
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map(key => [key, sorted(value[key] ?? null)]),
  )
}

/**
 * The tool behind a name in a path: by its name for others, then by its original name, then by a name in which what a
 * path cannot carry (such as `/`) is written `_`. Throws `tool_not_found`, with the nearest name of this server.
 */
export function findTool(server: string, tools: readonly ServerTool[], name: string): ServerTool {
  const shaped = tools.filter(tool => shapedName(tool.name) === name)
  const found =
    tools.find(tool => tool.name === name) ??
    tools.find(tool => tool.original === name) ??
    (shaped.length === 1 ? shaped[0] : undefined)
  if (found) return found
  throw toolNotFound(server, name, tools)
}

export function toolNotFound(server: string, name: string, tools: readonly ServerTool[]): HubError {
  const known = tools.filter(tool => tool.enabled).map(tool => tool.name)
  const near = nearest(name, known)
  return new HubError(
    'tool_not_found',
    `Server ${quoteName(server)} has no tool ${quoteName(name)}`,
    near === undefined ? {} : { hint: `Did you mean ${quoteName(near)}?` },
  )
}

function shapedName(name: string): string {
  return name.replace(/[^A-Za-z0-9_.-]/g, '_')
}
