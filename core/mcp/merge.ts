import type { CatalogKind, ServerCatalog } from '../connections/api.ts'
import type { JsonObject } from '../contract/json.ts'
import type { MemberTool } from '../contract/records.ts'
import { type ArgumentRules, joinRules, overrideOf, pinsWithVariables, shapeSchema } from '../domain/tool-shape.ts'
import { exposeNames, type Nameable, type NamingMode } from './naming.ts'
import { READ_RESULT, READ_RESULT_ITEM } from './read-result.ts'
import type { ResolvedScope, ScopeMember } from './scope-types.ts'
import { UriTable, uiUris, withUiUri } from './uris.ts'

export const CATALOG_KINDS = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const

/** Where an exposed name leads. */
export interface Target {
  readonly member: ScopeMember
  /** The name by which the upstream knows it. */
  readonly original: string
  /** What is done with the arguments; mostly nothing. */
  readonly rules?: ArgumentRules
  /** Pinned arguments with variables of the server in them; mostly none. */
  readonly variablesIn?: readonly string[]
  /** Its definition changed, and its owner has not approved it yet. */
  readonly blocked?: true
  /** As the upstream wrote it; there for what is listed by name. */
  readonly item?: JsonObject
}

export interface ListItem {
  /** What a cursor remembers: unique within its list. */
  readonly key: string
  readonly serverId: string
  readonly original: string
  /** The item as JSON text, names and URIs exposed. */
  readonly text: string
}

export interface MemberState {
  readonly member: ScopeMember
  readonly catalog: ServerCatalog | undefined
  /** False for a member that is left out of lists now; its names stay reserved and reachable. */
  readonly listed: boolean
  /** Original names of the tools that wait for an approval; mostly none. */
  readonly blocked?: ReadonlySet<string> | undefined
}

/** What one scope offers at one moment. */
export interface MergedCatalog {
  readonly tools: ReadonlyMap<string, Target>
  readonly prompts: ReadonlyMap<string, Target>
  readonly uris: UriTable
  readonly lists: Readonly<Record<CatalogKind, readonly ListItem[]>>
  readonly states: readonly MemberState[]
  readonly byServer: ReadonlyMap<string, MemberState>
}

/** Forms of one item whose texts are remembered: who edits a group over and over must not fill the hub with them. */
const SHAPES = 16

/** Remembers the text of items that did not change, since one server's list appears in many scopes and outlives many edits. */
export class ItemTexts {
  readonly #texts = new WeakMap<JsonObject, Map<string, string>>()

  /** The item with some members changed, and without the one named `without`. */
  text(item: JsonObject, changes: JsonObject, without = ''): string {
    const key = without + JSON.stringify(changes)
    const known = this.#texts.get(item)
    const found = known?.get(key)
    if (found !== undefined) return found
    const changed = { ...item, ...changes }
    if (without !== '') delete changed[without]
    const text = JSON.stringify(changed)
    if (!known) this.#texts.set(item, new Map([[key, text]]))
    else {
      known.set(key, text)
      const [oldest] = known.keys()
      if (known.size > SHAPES && oldest !== undefined) known.delete(oldest)
    }
    return text
  }
}

export function mergeCatalogs(scope: ResolvedScope, states: readonly MemberState[], texts: ItemTexts): MergedCatalog {
  const mode: NamingMode =
    scope.group.naming === 'prefixed' ? 'prefixed' : scope.members.length === 1 ? 'plain' : 'auto'
  const uris = uriTable(states)
  const shownUri = uris.publicUris()
  const { resultLimitBytes, ownerId } = scope.group
  const bounded = resultLimitBytes !== undefined
  const shaped = states.flatMap(state => toolCandidates(state, ownerId))
  const tools = named(shaped, exposeNames('tools', mode, shaped, bounded ? HUB_TOOLS : []), {
    texts,
    uris,
    shownUri,
    without: bounded ? 'outputSchema' : '',
  })
  if (bounded) tools.items.push(readResultItem(texts))
  const offered = states.flatMap(promptCandidates)
  const prompts = named(offered, exposeNames('prompts', mode, offered), { texts, uris, shownUri, without: '' })
  return {
    tools: tools.targets,
    prompts: prompts.targets,
    uris,
    lists: {
      tools: tools.items,
      prompts: prompts.items,
      resources: states.flatMap(state => resourceItems(state, texts, shownUri)),
      resourceTemplates: states.flatMap(state => templateItems(state, texts, uris)),
    },
    states,
    byServer: new Map(states.map(state => [state.member.server.id, state])),
  }
}

interface Named {
  readonly targets: Map<string, Target>
  readonly items: ListItem[]
}

const HUB_TOOLS: readonly string[] = [READ_RESULT]

function readResultItem(texts: ItemTexts): ListItem {
  return { key: READ_RESULT, serverId: '', original: READ_RESULT, text: texts.text(READ_RESULT_ITEM, {}) }
}

interface Candidate extends Nameable {
  readonly state: MemberState
  readonly item: JsonObject
  readonly changes: JsonObject
  readonly rules?: ArgumentRules
  readonly variablesIn?: readonly string[]
  readonly blocked?: true
}

type ShownUri = ReturnType<UriTable['publicUris']>

interface Showing {
  readonly texts: ItemTexts
  readonly uris: UriTable
  readonly shownUri: ShownUri
  /** A member that items are listed without; empty: none. */
  readonly without: string
}

function named(
  candidates: readonly Candidate[],
  names: readonly string[],
  { texts, uris, shownUri, without }: Showing,
): Named {
  const targets = new Map<string, Target>()
  const items: ListItem[] = []
  candidates.forEach((candidate, index) => {
    const name = names[index] ?? candidate.wanted
    const { state, original, changes, rules, variablesIn, blocked } = candidate
    const serverId = state.member.server.id
    targets.set(name, {
      member: state.member,
      original,
      item: candidate.item,
      ...(rules ? { rules } : {}),
      ...(variablesIn ? { variablesIn } : {}),
      ...(blocked ? { blocked } : {}),
    })
    // What nobody has read yet must not reach a model either.
    if (!state.listed || blocked) return
    const item = uris.mayMap(serverId) ? withUiUri(candidate.item, uri => shownUri(serverId, uri)) : candidate.item
    items.push({ key: name, serverId, original, text: texts.text(item, { ...changes, name }, without) })
  })
  return { targets, items }
}

/** The items of a list by their name, the first of each: an upstream that lists one twice gets one. */
function byText(
  items: readonly JsonObject[] | undefined,
  key: 'name' | 'uri' | 'uriTemplate',
): Map<string, JsonObject> {
  const found = new Map<string, JsonObject>()
  for (const item of items ?? []) {
    const text = item[key]
    if (typeof text === 'string' && !found.has(text)) found.set(text, item)
  }
  return found
}

/** `ownerId`: of the group, who may be another one than the server's. */
function toolCandidates(state: MemberState, ownerId: string): Candidate[] {
  const { member, catalog } = state
  const items = byText(catalog?.tools, 'name')
  const chosen = chosenTools(member, [...items.keys()], ownerId === member.server.ownerId)
  const candidates: Candidate[] = []
  for (const [original, item] of items) {
    const override = overrideOf(member.server.tools, original)
    const choice = chosen?.get(original)
    if (override?.enabled === false || (chosen && !choice)) continue
    const description = choice?.description ?? override?.description
    const rules = joinRules(override?.arguments, choice?.arguments)
    const variablesIn = pinsWithVariables(rules, override?.arguments, ownerId === member.server.ownerId)
    candidates.push({
      state,
      item,
      serverId: member.server.id,
      alias: member.alias,
      original,
      wanted: choice?.as ?? override?.name ?? original,
      changes: {
        ...(description === undefined ? {} : { description }),
        ...(rules ? { inputSchema: shapeSchema(item.inputSchema, rules) } : {}),
      },
      ...(rules ? { rules } : {}),
      ...(variablesIn.length > 0 ? { variablesIn } : {}),
      ...(state.blocked?.has(original) ? { blocked: true } : {}),
    })
  }
  return candidates
}

/**
 * What a member chooses, by the tools' original names; undefined: everything. An entry is an original name or what the
 * server's owner made of it, which is all that others can see: to them it means that first.
 */
function chosenTools(
  { tools, server }: ScopeMember,
  originals: readonly string[],
  own: boolean,
): ReadonlyMap<string, MemberTool> | undefined {
  if (tools === 'all') return undefined
  const known = new Set(originals)
  const byShown = new Map(originals.map(original => [overrideOf(server.tools, original)?.name ?? original, original]))
  const original = (name: string) =>
    own && known.has(name) ? name : (byShown.get(name) ?? (known.has(name) ? name : undefined))
  const chosen = new Map<string, MemberTool>()
  for (const tool of tools) {
    const found = original(tool.name)
    if (found !== undefined && !chosen.has(found)) chosen.set(found, tool)
  }
  return chosen
}

function promptCandidates(state: MemberState): Candidate[] {
  const { member, catalog } = state
  const candidates: Candidate[] = []
  for (const [original, item] of byText(catalog?.prompts, 'name')) {
    if (member.prompts !== 'all' && !member.prompts.includes(original)) continue
    candidates.push({
      state,
      item,
      serverId: member.server.id,
      alias: member.alias,
      original,
      wanted: original,
      changes: {},
    })
  }
  return candidates
}

function chosenUris(state: MemberState, key: 'uri' | 'uriTemplate'): Map<string, JsonObject> {
  const { member, catalog } = state
  const found = byText(key === 'uri' ? catalog?.resources : catalog?.resourceTemplates, key)
  if (member.resources === 'all') return found
  for (const uri of found.keys()) if (!member.resources.includes(uri)) found.delete(uri)
  return found
}

/** The pages that tools name count as listed, so that each is read from its tool's own server. */
function pageUris({ member, catalog }: MemberState): string[] {
  return member.resources === 'all' ? (catalog?.tools ?? []).flatMap(uiUris) : []
}

function uriTable(states: readonly MemberState[]): UriTable {
  return new UriTable(
    states.map(state => ({
      serverId: state.member.server.id,
      alias: state.member.alias,
      uris: [...new Set([...chosenUris(state, 'uri').keys(), ...pageUris(state)])],
      templates: [...chosenUris(state, 'uriTemplate').keys()],
      readsUnlisted:
        state.member.resources === 'all' && (!state.catalog || state.catalog.capabilities.resources !== undefined),
    })),
  )
}

function resourceItems(state: MemberState, texts: ItemTexts, shownUri: ShownUri): ListItem[] {
  if (!state.listed) return []
  const serverId = state.member.server.id
  return [...chosenUris(state, 'uri')].map(([original, item]) => {
    const uri = shownUri(serverId, original)
    return { key: uri, serverId, original, text: texts.text(item, { uri }) }
  })
}

function templateItems(state: MemberState, texts: ItemTexts, uris: UriTable): ListItem[] {
  if (!state.listed) return []
  const serverId = state.member.server.id
  return [...chosenUris(state, 'uriTemplate')].map(([original, item]) => {
    const uriTemplate = uris.publicTemplate(serverId, original)
    return { key: uriTemplate, serverId, original, text: texts.text(item, { uriTemplate }) }
  })
}
