import type { MemberTool } from '../../contract/records.ts'
import { visibleName } from '../../domain/text/visible-text.ts'
import type { CatalogItem } from '../../domain/tools/catalog-item.ts'
import { overrideOf } from '../../domain/tools/tool-shape.ts'
import type { MemberState, ScopeMember } from './scope-types.ts'

/**
 * The tools that a member selects, by original name; undefined: all. An entry is an original name or the name that the
 * server's owner gave the tool. Other users see only the latter, so for them it has precedence.
 */
export function chosenTools(
  member: Pick<ScopeMember, 'tools' | 'server'>,
  items: readonly Pick<CatalogItem, 'key'>[],
  own: boolean,
): ReadonlyMap<string, MemberTool> | undefined {
  if (member.tools === 'all') return undefined
  const originalOf = originals(member.server, items, own)
  const chosen = new Map<string, MemberTool>()
  for (const tool of member.tools) {
    const found = originalOf(visibleName(tool.name))
    if (found !== undefined && !chosen.has(found)) chosen.set(found, tool)
  }
  return chosen
}

/** The original name of the item that an entry of a member selects; undefined: none of these items. */
export function originals(
  server: ScopeMember['server'],
  items: readonly Pick<CatalogItem, 'key'>[],
  own: boolean,
): (name: string) => string | undefined {
  const known = new Set(items.map(({ key }) => key))
  // For thousands of items the second table costs as much as the first one, and mostly nothing is renamed.
  if (Object.keys(server.tools).length === 0) return name => (known.has(name) ? name : undefined)
  const byShown = new Map(items.map(({ key }) => [overrideOf(server.tools, key)?.name ?? key, key]))
  return name => (own && known.has(name) ? name : (byShown.get(name) ?? (known.has(name) ? name : undefined)))
}

/** The prompts that a member offers in a scope. */
export function chosenPrompts({ member, catalog }: MemberState): readonly CatalogItem[] {
  const items = catalog?.prompts ?? []
  if (member.prompts === 'all') return items
  const chosen = new Set(member.prompts.map(visibleName))
  return items.filter(({ key }) => chosen.has(key))
}

/** The resources, or templates, that a member offers in a scope. */
export function chosenUris(
  { member, catalog }: MemberState,
  kind: 'resources' | 'resourceTemplates',
): readonly CatalogItem[] {
  const items = catalog?.[kind] ?? []
  if (member.resources === 'all') return items
  const chosen = new Set(member.resources)
  return items.filter(({ key }) => chosen.has(key))
}
