import type { Upstreams } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord, ToolOverride } from '../../contract/records.ts'
import { quoteName } from '../../domain/names.ts'
import { nearest } from '../../domain/nearest.ts'
import { definitionHash } from '../../domain/tool-definition.ts'
import { type ArgumentRules, overrideOf, shapeSchema } from '../../domain/tool-shape.ts'

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
  /** What is done with its arguments. */
  readonly rules: ArgumentRules | undefined
  /** It says something else of itself than was approved, or seen first. */
  readonly changed: boolean
  /** Changed, and its owner wants to be asked: it cannot be called. */
  readonly waiting: boolean
}

/** The tools in the order of the upstream; one without a name cannot be called and is left out. */
export function serverTools(
  { id, tools: overrides, definitionPolicy }: Pick<ServerRecord, 'id' | 'tools' | 'definitionPolicy'>,
  live: Pick<Upstreams, 'catalog' | 'definitions'>,
): readonly ServerTool[] {
  const definitions = live.definitions(id)
  return (live.catalog(id)?.tools ?? []).flatMap(definition => {
    const original = definition.name
    if (typeof original !== 'string') return []
    const tool = serverTool(original, definition, overrideOf(overrides, original))
    const changed = definitions.get(original)?.changed ?? false
    return [{ ...tool, changed, waiting: changed && definitionPolicy === 'pin' }]
  })
}

/** What may be called, and is shown to those who only see the server. */
export function openTools(...from: Parameters<typeof serverTools>): readonly ServerTool[] {
  return serverTools(...from).filter(tool => tool.enabled && !tool.waiting)
}

function serverTool(original: string, definition: JsonObject, override: ToolOverride | undefined) {
  const name = override?.name ?? original
  const description = override?.description ?? definition.description
  const rules = override?.arguments
  return {
    original,
    name,
    enabled: override?.enabled ?? true,
    overridden: override !== undefined,
    definition,
    rules,
    exposed: {
      ...definition,
      name,
      ...(description === undefined ? {} : { description }),
      ...(rules ? { inputSchema: shapeSchema(definition.inputSchema, rules) } : {}),
    },
  }
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
    ...(tool.changed ? { changed: true, waiting: tool.waiting } : {}),
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
