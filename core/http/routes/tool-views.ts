import type { Upstreams } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord, ToolOverride } from '../../contract/records.ts'
import { quoteName } from '../../domain/names.ts'
import { meantHint, suggestNames } from '../../domain/nearest.ts'
import { type CatalogItem, itemJson } from '../../domain/tools/catalog-item.ts'
import { type ArgumentRules, overrideOf, shapeSchema } from '../../domain/tools/tool-shape.ts'

/** One tool of a server: what the upstream wrote, and what its owner made of it. Its definition is parsed when it is asked for. */
export class ServerTool {
  readonly original: string
  /** After the owner's override; the name that others know. */
  readonly name: string
  readonly enabled: boolean
  readonly overridden: boolean
  /** What is done with its arguments. */
  readonly rules: ArgumentRules | undefined
  /** It says something else of itself than was approved, or seen first. */
  /** Of what the upstream wrote, where something has changed of that: of the two faces of a server of both eras either one. */
  readonly hash: string
  readonly changed: boolean
  /** Changed, and its owner wants to be asked: it cannot be called. */
  readonly waiting: boolean
  readonly #item: CatalogItem
  readonly #override: ToolOverride | undefined

  constructor(
    item: CatalogItem,
    override: ToolOverride | undefined,
    { hash, changed, waiting }: Pick<ServerTool, 'hash' | 'changed' | 'waiting'>,
  ) {
    this.hash = hash
    this.original = item.key
    this.name = override?.name ?? item.key
    this.enabled = override?.enabled ?? true
    this.overridden = override !== undefined
    this.rules = override?.arguments
    this.changed = changed
    this.waiting = waiting
    this.#item = item
    this.#override = override
  }

  /** About what its definition is long. */
  get characters(): number {
    return this.#item.text.length
  }

  /** For lists of many servers: what its owner wrote, or the first 1,024 characters of the upstream's description. */
  get summary(): string | undefined {
    return this.#override?.description ?? this.#item.summary
  }

  get definition(): JsonObject {
    return itemJson(this.#item)
  }

  /** The definition as others see it. */
  get exposed(): JsonObject {
    const { definition, rules, name } = this
    const description = this.#override?.description ?? definition.description
    return {
      ...definition,
      name,
      ...(description === undefined ? {} : { description }),
      ...(rules ? { inputSchema: shapeSchema(definition.inputSchema, rules) } : {}),
    }
  }
}

/** The tools in the order of the upstream. */
export function serverTools(
  { id, tools: overrides, definitionPolicy }: Pick<ServerRecord, 'id' | 'tools' | 'definitionPolicy'>,
  live: Pick<Upstreams, 'catalog' | 'definitions'>,
): readonly ServerTool[] {
  const definitions = live.definitions(id)
  return (live.catalog(id)?.tools ?? []).map(item => {
    const known = definitions.get(item.key)
    const changed = known?.changed ?? false
    const override = overrideOf(overrides, item.key)
    return new ServerTool(item, override, {
      hash: known?.changed ? known.hash : item.hash,
      changed,
      waiting: changed && definitionPolicy === 'pin',
    })
  })
}

/** What may be called, and is shown to those who only see the server. */
export function openTools(...from: Parameters<typeof serverTools>): readonly ServerTool[] {
  return serverTools(...from).filter(tool => tool.enabled && !tool.waiting)
}

/** The whole list entry for somebody who may edit the server. */
export function ownedTool(tool: ServerTool): JsonObject {
  const { exposed } = tool
  return {
    ...exposed,
    original: tool.original,
    enabled: tool.enabled,
    overridden: tool.overridden,
    tokens: tokensOf(exposed),
    hash: tool.hash,
    ...(tool.changed ? { changed: true, waiting: tool.waiting } : {}),
  }
}

/** For somebody who only sees the server: no trace of what was renamed. */
export function viewedTool(tool: ServerTool): JsonObject {
  const { exposed } = tool
  return { ...exposed, tokens: tokensOf(exposed) }
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
  return new HubError(
    'tool_not_found',
    `Server ${quoteName(server)} has no tool ${quoteName(name)}`,
    meantHint(suggestNames(name, known)),
  )
}

function shapedName(name: string): string {
  return name.replace(/[^A-Za-z0-9_.-]/g, '_')
}
