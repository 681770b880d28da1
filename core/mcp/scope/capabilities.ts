import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { APPS_EXTENSION, appsSettings } from '../../domain/client-capabilities.ts'
import { visibleText } from '../../domain/text/visible-text.ts'
import { extensionOf, SKILLS_EXTENSION } from '../../domain/tools/extensions.ts'
import type { ScopeMemberInfo } from '../../features/tools.ts'
import { cutBytes } from '../../transport-kit/cut-text.ts'
import { isPlainObject } from '../rpc/rpc.ts'
import type { MergedCatalog } from './merge.ts'
import type { MemberState, ResolvedScope } from './scope-types.ts'
import { everyTarget } from './selector.ts'

const MAX_INSTRUCTIONS = 8 * 1_024
/** True when a member offers `name` (`prompts`) or a part of it (`resources.subscribe`), or was never seen. */
export function memberHas(state: Pick<MemberState, 'catalog'> | undefined, name: string, part?: string): boolean {
  if (!state) return false
  const capabilities = state.catalog?.capabilities
  if (!capabilities) return part === undefined && (name === 'tools' || name === 'prompts' || name === 'resources')
  const value = capabilities[name]
  return part === undefined ? value !== undefined : isPlainObject(value) && value[part] === true
}

/** The union of the members' capabilities. `listChanged` is always set: the hub itself detects changes of a list. */
export function mergeCapabilities(scope: ResolvedScope, { states, added, signIns }: MergedCatalog): JsonObject {
  const any = (name: string, part?: string) => states.some(state => memberHas(state, name, part))
  const merged: JsonObject = {}
  // An empty group can get members at any time, and a capability cannot be added after `initialize`.
  const none = states.length === 0
  // The tools of a view are its own, and always the same.
  if (scope.view !== undefined) merged.tools = {}
  else if (none || added.items.length > 0 || signIns.size > 0 || any('tools')) merged.tools = { listChanged: true }
  if (none || any('prompts')) merged.prompts = { listChanged: true }
  if (none || any('resources'))
    merged.resources = { listChanged: true, ...(any('resources', 'subscribe') ? { subscribe: true } : {}) }
  if (any('completions')) merged.completions = {}
  if (any('logging')) merged.logging = {}
  const skills = skillsSettings(states)
  const others = mergeExtensions(states)
  const extensions = skills ? { ...others, [SKILLS_EXTENSION]: skills } : others
  if (extensions) merged.extensions = extensions
  const own = scope.kind === 'server' ? states[0]?.catalog?.capabilities.experimental : undefined
  if (own !== undefined) merged.experimental = own
  return merged
}

/** True for a member that lists skills. */
export function hasSkills({ catalog }: MemberState): boolean {
  return extensionOf(catalog?.capabilities ?? {}, SKILLS_EXTENSION) !== undefined
}

/** The settings of the skills extension: what all members that declare it offer; undefined where none does. */
function skillsSettings(states: readonly MemberState[]): JsonObject | undefined {
  const all = states
    .map(({ catalog }) => extensionOf(catalog?.capabilities ?? {}, SKILLS_EXTENSION))
    .filter(settings => settings !== undefined)
  if (all.length === 0) return undefined
  return all.every(({ directoryRead }) => directoryRead === true) ? { directoryRead: true } : {}
}

/** MCP Apps as all members that declare it support it: a list has what all their lists have, other settings are equal in all. */
function mergeExtensions(states: readonly MemberState[]): JsonObject | undefined {
  let merged: JsonObject | undefined
  for (const state of states) {
    const settings = appsSettings(state.catalog?.capabilities ?? {})
    if (!settings) continue
    merged = merged ? commonSettings(merged, settings) : settings
    // No kind of content is left that each of them could show.
    if (merged === undefined) return undefined
  }
  return merged && { [APPS_EXTENSION]: merged }
}

/** Undefined when both have a list of kinds of content, and no kind is in both. A setting that only one has is not common. */
function commonSettings(one: JsonObject, other: JsonObject): JsonObject | undefined {
  const common: [string, JsonValue][] = []
  for (const [name, value] of Object.entries(one)) {
    const second = Object.hasOwn(other, name) ? other[name] : undefined
    if (!Array.isArray(value) || !Array.isArray(second)) {
      if (JSON.stringify(value) === JSON.stringify(second)) common.push([name, value])
      continue
    }
    const known = new Set(second.map(item => JSON.stringify(item)))
    const shared = value.filter(item => known.has(JSON.stringify(item)))
    if (name === 'mimeTypes' && shared.length === 0) return undefined
    common.push([name, shared])
  }
  return Object.fromEntries(common)
}

/** For one server its own name; for several the hub's, with the group's as title. */
export function mergedServerInfo(scope: ResolvedScope, states: readonly MemberState[], version: string): JsonObject {
  const own = scope.kind === 'server' ? states[0]?.catalog?.serverInfo : undefined
  if (own && typeof own.name === 'string') return own
  return { name: 'patchbay', title: scope.kind === 'all' ? 'Patchbay' : `Patchbay: ${scope.group.name}`, version }
}

/**
 * For one server its own instructions; for several each under its member's title, behind the group's own text or else its
 * description, in which hidden characters are shown: several users may write it. A view's come first. At most 8 KiB together.
 */
export function mergedInstructions(
  scope: ResolvedScope,
  { states, added, memberTools, tools }: Pick<MergedCatalog, 'states' | 'added' | 'memberTools' | 'tools'>,
  leftOut: readonly string[] = [],
): string | undefined {
  const ofSet = added.instructions?.(memberInfos(states, memberTools, tools))
  const { instructions: own, description } = scope.group
  if (ofSet !== undefined) return cutBytes(own ? `${ofSet}\n\n${visibleText(own.text)}` : ofSet, MAX_INSTRUCTIONS)
  if (scope.kind === 'server') return states[0]?.catalog?.instructions
  const sections = states
    .filter(state => own?.members !== 'instead' && state.listed && state.catalog?.instructions)
    .map(state => `## ${state.member.alias}\n${state.catalog?.instructions}`)
  const first = own?.text ?? description
  if (first) sections.unshift(visibleText(first))
  sections.unshift(...leftOut)
  if (sections.length === 0) return undefined
  return cutBytes(sections.join('\n\n'), MAX_INSTRUCTIONS)
}

function memberInfos(
  states: readonly MemberState[],
  memberTools: MergedCatalog['memberTools'],
  tools: MergedCatalog['tools'],
): readonly ScopeMemberInfo[] {
  const counts = new Map<string, number>()
  const listed = new Set(memberTools.filter(({ onlyFor }) => onlyFor === undefined).map(({ key }) => key))
  for (const [name, { member }] of everyTarget(tools))
    if (listed.has(name)) counts.set(member.server.id, (counts.get(member.server.id) ?? 0) + 1)
  return states
    .filter(({ listed }) => listed)
    .map(({ member: { server, alias } }) => ({
      ...{ server: alias, tools: counts.get(server.id) ?? 0 },
      ...(server.description === undefined ? {} : { description: server.description }),
    }))
}
