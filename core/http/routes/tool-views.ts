import type { Upstreams } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord, ToolOverride } from '../../contract/records.ts'
import { quoteName } from '../../domain/names.ts'
import { meantHint, suggestNames } from '../../domain/nearest.ts'
import { visibleName } from '../../domain/text/visible-text.ts'
import { aboutTokens, quarterTokens, quarterTokensOfTool } from '../../domain/tools/about-tokens.ts'
import { type CatalogItem, itemJson } from '../../domain/tools/catalog-item.ts'
import { type ArgumentRules, isToolOn, overrideOf, shapeSchema } from '../../domain/tools/tool-shape.ts'

/** One tool of a server: the upstream's definition, and its owner's override. The definition is parsed on demand. */
export class ServerTool {
  /** The server's name for it, with hidden characters shown. */
  readonly original: string
  /** The exposed name, after the owner's override. */
  readonly name: string
  readonly enabled: boolean
  readonly overridden: boolean
  /** Overrides of its arguments. */
  readonly rules: ArgumentRules | undefined
  /** Hash of the upstream's definition; after a change, of the changed definition, in either protocol era of the server. */
  readonly hash: string
  /** The definition differs from the approved one, or from the first one. */
  readonly changed: boolean
  /** The definition changed and its owner must approve it: the tool cannot be called. */
  readonly waiting: boolean
  readonly #item: CatalogItem
  readonly #override: ToolOverride | undefined

  constructor(
    item: CatalogItem,
    override: ToolOverride | undefined,
    { enabled, hash, changed, waiting }: Pick<ServerTool, 'enabled' | 'hash' | 'changed' | 'waiting'>,
  ) {
    this.hash = hash
    this.original = item.key
    this.name = override?.name ?? item.key
    this.enabled = enabled
    this.overridden = override !== undefined
    this.rules = override?.arguments
    this.changed = changed
    this.waiting = waiting
    this.#item = item
    this.#override = override
  }

  /** True for a tool that apps call, and models do not get. */
  get appOnly(): boolean {
    return this.#item.onlyFor !== undefined
  }

  /** Approximate length of its definition. */
  get characters(): number {
    return this.#item.text.length
  }

  /** For lists of many servers: the owner's description, or the first 1,024 characters of the upstream's. */
  get summary(): string | undefined {
    return this.#override?.description ?? this.#item.summary
  }

  get definition(): JsonObject {
    return itemJson(this.#item)
  }

  /** The definition as exposed to callers. */
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

/** The tools in the upstream's order: as the owner sees them, or a caller with a credential of its own. */
export function serverTools(
  server: Pick<ServerRecord, 'id' | 'tools' | 'toolsDefault' | 'definitionPolicy'>,
  live: Pick<Upstreams, 'catalog' | 'definitions'>,
  caller?: string,
): readonly ServerTool[] {
  const { id, tools: overrides, definitionPolicy } = server
  const definitions = live.definitions(id)
  return (live.catalog(id, undefined, caller)?.tools ?? []).map(item => {
    const known = definitions.get(item.key)
    // The owner's list may have another definition of the tool than the caller's.
    const isOther = caller !== undefined && known !== undefined && known.approved !== item.hash
    const changed = isOther || (known?.changed ?? false)
    const override = overrideOf(overrides, item.key)
    return new ServerTool(item, override, {
      enabled: isToolOn(server, override),
      hash: known?.changed ? known.hash : item.hash,
      changed,
      waiting: changed && definitionPolicy === 'pin',
    })
  })
}

/** The tools that can be called, which are also those shown to other users. */
export function openTools(...from: Parameters<typeof serverTools>): readonly ServerTool[] {
  return serverTools(...from).filter(tool => tool.enabled && !tool.waiting)
}

/** The full list entry for actors who may edit the server. */
export function ownedTool(tool: ServerTool): JsonObject {
  const { exposed } = tool
  return {
    ...exposed,
    original: tool.original,
    enabled: tool.enabled,
    overridden: tool.overridden,
    tokens: tokensOf(exposed),
    ...(tool.appOnly ? { appOnly: true } : {}),
    hash: tool.hash,
    ...(tool.changed ? { changed: true, waiting: tool.waiting } : {}),
  }
}

/** For other users: without the original name. */
export function viewedTool(tool: ServerTool): JsonObject {
  const { exposed } = tool
  return { ...exposed, tokens: tokensOf(exposed), ...(tool.appOnly ? { appOnly: true } : {}) }
}

/**
 * Estimated number of tokens with which a model reads an item; for a tool, without the parts that clients do not pass to the
 * model.
 */
export function tokensOf(item: JsonObject): number {
  return aboutTokens(item.inputSchema === undefined ? quarterTokens(JSON.stringify(item)) : quarterTokensOfTool(item))
}

/**
 * Finds the tool for a name in a path: by its exposed name, then its original one, then by a name in which characters
 * that a path cannot have (such as `/`) are replaced by `_`. Throws `tool_not_found`, with the nearest name of this
 * server.
 */
export function findTool(server: string, tools: readonly ServerTool[], name: string): ServerTool {
  const original = visibleName(name)
  const shaped = tools.filter(tool => shapedName(tool.name) === name)
  const found =
    tools.find(tool => tool.name === name) ??
    tools.find(tool => tool.original === original) ??
    (shaped.length === 1 ? shaped[0] : undefined)
  if (found) return found
  throw toolNotFound(server, name, tools)
}

/** The error `tool_not_found`, with similar names of enabled tools as its hint. */
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
