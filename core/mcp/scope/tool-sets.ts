import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { UserActor } from '../../contract/records.ts'
import { type CatalogItem, catalogItem } from '../../domain/tools/catalog-item.ts'
import type { ScopeInfo, ScopeMemberInfo, ToolSet } from '../../features/tools.ts'
import type { ResolvedScope } from './scope-types.ts'

/** The tools that plugins add to one scope. */
export interface AddedTools {
  readonly sets: ReadonlyMap<string, ToolSet>
  readonly items: readonly CatalogItem[]
  /** The members' tools are left out of lists. */
  readonly instead: boolean
  /** The set that shortens results over the group's limit. */
  readonly shortens: ToolSet | undefined
  /** Instructions that clients get in place of the members'; undefined: they get the members'. */
  readonly instructions?: (members: readonly ScopeMemberInfo[]) => string | undefined
}

/** The value for a scope without tool sets, which is the usual case. */
export const NO_ADDED_TOOLS: AddedTools = { sets: new Map(), items: [], instead: false, shortens: undefined }

/** Asks the tool sets of plugins what they add to a scope; one that throws adds nothing there. */
export class ToolSets {
  readonly #all: () => ReadonlyMap<string, ToolSet>
  readonly #log: PluginLogger

  constructor(all: () => ReadonlyMap<string, ToolSet>, log: PluginLogger) {
    this.#all = all
    this.#log = log
  }

  hasView(view: string): boolean {
    return [...this.#all().values()].some(set => set.view === view)
  }

  /** Returns the tools that sets add. When two tools have one name, the set that was contributed first wins. */
  of(path: string, resolved: ResolvedScope, actor: UserActor): AddedTools {
    const all = this.#all()
    const chosen = [...all].filter(([, { view }]) => view === undefined || view === resolved.view)
    if (chosen.length === 0 && resolved.view === undefined) return NO_ADDED_TOOLS
    const info = scopeInfo(path, resolved, actor)
    const sets = new Map<string, ToolSet>()
    const items: CatalogItem[] = []
    // Without the plugin of its view a scope shows nothing, least of all everything.
    let instead = resolved.view !== undefined
    let shortens: ToolSet | undefined
    let instructions: AddedTools['instructions']
    for (const [id, set] of chosen) {
      try {
        const applies = set.applies(info)
        if (applies === undefined) continue
        for (const item of newTools(set.tools(info), sets)) {
          sets.set(item.name, set)
          items.push(catalogItem('tools', item))
        }
        instead ||= applies === 'instead'
        shortens ??= set.shorten && set
        instructions ??= set.instructions && (members => this.#instructions(id, set, members))
      } catch (error) {
        this.#log.error(`The tool set "${id}" failed for ${path}`, { error: String(error) })
      }
    }
    return { sets, items, instead, shortens, ...(instructions ? { instructions } : {}) }
  }

  #instructions(id: string, set: ToolSet, members: readonly ScopeMemberInfo[]): string | undefined {
    try {
      return set.instructions?.(members)
    } catch (error) {
      this.#log.error(`The tool set "${id}" failed to say what it is for`, { error: String(error) })
      return undefined
    }
  }
}

/** The tools whose names nobody has yet. Throws for an item that is no tool. */
function* newTools(items: readonly JsonObject[], taken: ReadonlyMap<string, ToolSet>) {
  for (const item of items) {
    if (!isTool(item)) throw new Error('it lists a tool without a name or an inputSchema')
    if (!taken.has(item.name)) yield item
  }
}

function isTool(item: unknown): item is JsonObject & { readonly name: string } {
  return isJsonObject(item) && typeof item.name === 'string' && item.name !== '' && isJsonObject(item.inputSchema)
}

/** The facts about a scope that tool sets get. */
export function scopeInfo(path: string, { kind, group, view }: ResolvedScope, actor: UserActor): ScopeInfo {
  return { path, kind, group, actor, ...(view === undefined ? {} : { view }) }
}
