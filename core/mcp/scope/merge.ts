import type { JsonObject } from '../../contract/json.ts'
import type { ListKind } from '../../domain/mcp-methods.ts'
import { type CatalogItem, itemJson } from '../../domain/tools/catalog-item.ts'
import { mayHaveOutputSchema, outputSchemasOf } from '../../domain/tools/output-schema.ts'
import { type TaskSupport, taskSupportsOf } from '../../domain/tools/task-support.ts'
import {
  type ArgumentRules,
  isToolOn,
  joinRules,
  overrideOf,
  pinsWithVariables,
} from '../../domain/tools/tool-shape.ts'
import type { ScopeTool } from '../../features/tools.ts'
import { chosenPrompts, chosenTools, chosenUris } from './chosen.ts'
import { ListItem } from './list-item.ts'
import { exposeNames, type NamingMode } from './naming.ts'
import { cutStates } from './scope-cut.ts'
import type { MemberState, ResolvedScope, Target } from './scope-types.ts'
import { type Candidate, combine, ItemForms, type SelectorFault } from './selector.ts'
import { type SignInTools, signInTools } from './sign-ins.ts'
import { toolLists } from './tool-readers.ts'
import { type AddedTools, NO_ADDED_TOOLS } from './tool-sets.ts'
import { UriTable } from './uris.ts'

/** The merged catalogue of one scope at one moment. */
export interface MergedCatalog {
  readonly tools: ReadonlyMap<string, Target>
  readonly prompts: ReadonlyMap<string, Target>
  readonly uris: UriTable
  readonly lists: Readonly<Record<ListKind, readonly ListItem[]>>
  /** Numbers of listed items, without the work of merging the lists. */
  readonly counts: { readonly prompts: number; readonly resources: number }
  /** The list of tools for one reader; `lists.tools` has the tools of all. */
  readonly toolsFor: ReturnType<typeof toolLists>
  /** The members' tools, also where they are left out of the list. */
  readonly memberTools: readonly ListItem[]
  /** The tools that are for models, for tool sets; always the same array. */
  readonly shownTools: () => readonly ScopeTool[]
  readonly added: AddedTools
  /** Tools for the members at which the caller must sign in, by name; they are in the list, unless tools of a view are instead. */
  readonly signIns: SignInTools['byName']
  readonly states: readonly MemberState[]
  readonly byServer: ReadonlyMap<string, MemberState>
  /** Differences between the members that a selector chooses from. */
  readonly faults: () => readonly SelectorFault[]
  /** Number of items of each kind beyond the limit of one address. */
  readonly leftOut: Readonly<Record<ListKind, number>>
}

/**
 * At most 5,000 items of each kind, those of the group's owner first: the rest is neither listed nor callable here. What is
 * not about tools is merged when it is first asked for, as most clients, and the pages of groups, ask for tools alone.
 */
export function mergeCatalogs(
  scope: ResolvedScope,
  all: readonly MemberState[],
  added: AddedTools = NO_ADDED_TOOLS,
  forms: ItemForms = new ItemForms(),
): MergedCatalog {
  const { states, leftOut } = cutStates(all, scope.group.ownerId)
  const mode: NamingMode =
    scope.group.naming === 'prefixed' ? 'prefixed' : scope.members.length === 1 ? 'plain' : 'auto'
  const uris = once(() => uriTable(states, scope.kind !== 'server'))
  const shownUri = once(() => uris().publicUris())
  const { ownerId } = scope.group
  const byServer = new Map(all.map(state => [state.member.server.id, state]))
  const { ordinary, selected, selector } = partsOf(scope, states)
  const toolsOf = (of: readonly MemberState[]) => of.flatMap(state => toolCandidates(state, ownerId, scope.kind))
  const one = selector && combine(selector, 'tools', selected, toolsOf(selected), forms)
  const shaped = [...toolsOf(ordinary), ...(one?.candidates ?? [])]
  const tools = named(shaped, exposeNames('tools', mode, shaped, [...added.sets.keys()]), {
    uris,
    shownUri,
    // A shortened result may lack what an output schema promises.
    without: added.shortens ? 'outputSchema' : '',
  })
  const own = added.items.map(item => new ListItem(item.key, '', item, NO_CHANGES))
  const onePrompts = once(
    () => selector && combine(selector, 'prompts', selected, selected.flatMap(promptCandidates), forms),
  )
  const prompts = once(() => {
    const offered = [...ordinary.flatMap(promptCandidates), ...(onePrompts()?.candidates ?? [])]
    return named(offered, exposeNames('prompts', mode, offered), { uris, shownUri, without: '' })
  })
  const resources = once(() => states.flatMap(state => resourceItems(state, shownUri())))
  const resourceTemplates = once(() => states.flatMap(state => templateItems(state, uris())))
  const counts = countsOf(states)
  const signIns = signInTools(states, name => tools.targets.has(name) || added.sets.has(name))
  const listed = added.instead ? own : [...tools.items, ...signIns.items, ...own]
  // For a view they are searched only where it has nothing else: people who can use other servers are not sent to sign in.
  const searched = tools.items.length > 0 ? tools.items : signIns.items
  return {
    tools: tools.targets,
    get prompts() {
      return prompts().targets
    },
    get uris() {
      return uris()
    },
    lists: {
      tools: listed,
      get prompts() {
        return prompts().items
      },
      get resources() {
        return resources()
      },
      get resourceTemplates() {
        return resourceTemplates()
      },
    },
    counts: {
      get prompts() {
        return selector ? prompts().items.length : counts.prompts
      },
      resources: counts.resources,
    },
    toolsFor: toolLists(listed),
    memberTools: tools.items,
    shownTools: shownOnce(toolLists(searched)('models'), byServer),
    added,
    signIns: signIns.byName,
    states: all,
    faults: () => [...(one?.faults ?? []), ...(onePrompts()?.faults ?? [])],
    leftOut,
    byServer,
  }
}

/** The members that are offered by an argument, and the others. */
function partsOf({ kind, group }: ResolvedScope, states: readonly MemberState[]) {
  const { selector } = group
  const selected = states.filter(({ member }) => member.selectedBy !== undefined)
  if (kind !== 'group' || !selector || selected.length === 0) return { ordinary: states, selected: [] }
  return { ordinary: states.filter(({ member }) => member.selectedBy === undefined), selected, selector }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** Returns the numbers of items that the lists will have. */
function countsOf(states: readonly MemberState[]): MergedCatalog['counts'] {
  const listed = states.filter(state => state.listed)
  return {
    prompts: listed.reduce((sum, state) => sum + chosenPrompts(state).length, 0),
    resources: listed.reduce((sum, state) => sum + chosenUris(state, 'resources').length, 0),
  }
}

function shownOnce(items: readonly ListItem[], byServer: MergedCatalog['byServer']): MergedCatalog['shownTools'] {
  let shown: readonly ScopeTool[] | undefined
  const show = (item: ListItem): ScopeTool => ({
    ...{ name: item.key, server: item.argument ?? byServer.get(item.serverId)?.member.alias ?? '' },
    definition: () => itemJson(item),
  })
  return () => {
    shown ??= items.map(show)
    return shown
  }
}

interface Named {
  readonly targets: Map<string, Target>
  readonly items: ListItem[]
}

/** One shared object, since most of thousands of items have no changes. */
const NO_CHANGES: JsonObject = Object.freeze({})

type ShownUri = ReturnType<UriTable['publicUris']>

interface Showing {
  readonly uris: () => UriTable
  readonly shownUri: () => ShownUri
  /** A member that is removed from the items' JSON; empty: none. */
  readonly without: string
}

function named(candidates: readonly Candidate[], names: readonly string[], showing: Showing): Named {
  const targets = new Map<string, Target>()
  const items: ListItem[] = []
  candidates.forEach((candidate, index) => {
    const name = names[index] ?? candidate.wanted
    const { state, item, changes, target } = candidate
    targets.set(name, target)
    // A definition that nobody has approved must not reach a model either.
    if (!(candidate.listed ?? state.listed) || target.blocked) return
    const shown = name === item.key ? changes : { ...changes, name }
    items.push(new ListItem(name, state.member.server.id, item, shown, shapeOf(candidate, showing)))
  })
  return { targets, items }
}

/** Returns the changes of the item's JSON beside those of single members; mostly undefined. */
function shapeOf(
  { state, item, target: { rules }, argument, without: unlike = '' }: Candidate,
  { uris, shownUri, without: shortened }: Showing,
) {
  const without = shortened || unlike
  const { server } = state.member
  const serverId = server.id
  const outputs = outputSchemasOf(server)
  const isShaped = outputs !== 'strict' && mayHaveOutputSchema(item)
  const mayMap = item.uiUris && (uris().keepsSchemes || uris().mayMap(serverId))
  const mapped = mayMap ? (item.uiUris ?? []).map(uri => [uri, shownUri()(serverId, uri)]) : []
  const moved = mapped.some(([uri, shown]) => uri !== shown)
  if (without === '' && !moved && !rules && !isShaped && !argument) return undefined
  return {
    without: isShaped && outputs === 'off' ? 'outputSchema' : without,
    ...(rules ? { rules } : {}),
    ...(argument ? { argument } : {}),
    ...(isShaped && outputs === 'loose' ? { loose: true as const } : {}),
    ...(moved ? { uiUris: Object.fromEntries(mapped) } : {}),
  }
}

/** `ownerId`: the owner of the group, who may differ from the server's. */
function toolCandidates(state: MemberState, ownerId: string, kind: ResolvedScope['kind']): Candidate[] {
  const { member, catalog } = state
  const items = catalog?.tools ?? []
  const own = ownerId === member.server.ownerId
  const chosen = chosenTools(member, items, own)
  const supportOf = taskSupportsOf(catalog)
  const candidates: Candidate[] = []
  for (const item of items) {
    const original = item.key
    const override = overrideOf(member.server.tools, original)
    const choice = chosen?.get(original)
    if (!isToolOn(member.server, override) || (chosen && !choice)) continue
    const task = supportOf(item)
    const target = toolTarget(state, item, override?.arguments, choice?.arguments, own)
    candidates.push({
      state,
      item,
      serverId: member.server.id,
      alias: member.alias,
      original,
      wanted: choice?.as ?? override?.name ?? original,
      changes: toolChanges(choice?.description ?? override?.description, task, kind),
      target: task ? { ...target, task } : target,
    })
  }
  return candidates
}

function toolChanges(
  description: string | undefined,
  task: TaskSupport | undefined,
  kind: ResolvedScope['kind'],
): JsonObject {
  const execution = task === undefined || task === 'extension' ? NO_CHANGES : shownExecution(kind)
  if (description === undefined) return execution
  return { description, ...execution }
}

/** The hub itself can run any call as a task, so clients need not; where tasks are not supported, clients cannot. */
function shownExecution(kind: ResolvedScope['kind']): JsonObject {
  return { execution: { taskSupport: kind === 'server' ? 'optional' : 'forbidden' } }
}

/** `own`: the group belongs to the server's owner. */
function toolTarget(
  { member, blocked }: MemberState,
  item: CatalogItem,
  ofServer: ArgumentRules | undefined,
  ofMember: ArgumentRules | undefined,
  own: boolean,
): Target {
  const original = item.key
  const waits = blocked?.has(original)
  // The usual case in lists of thousands: conditional members would take half the time of a merge.
  if (!ofServer && !ofMember && !waits) return { member, original, item }
  const rules = joinRules(ofServer, ofMember)
  const variablesIn = pinsWithVariables(rules, ofServer, own)
  return {
    member,
    original,
    item,
    ...(rules ? { rules } : {}),
    ...(variablesIn.length > 0 ? { variablesIn } : {}),
    ...(waits ? { blocked: true } : {}),
  }
}

function promptCandidates(state: MemberState): Candidate[] {
  const { member } = state
  return chosenPrompts(state).map(item => ({
    state,
    item,
    serverId: member.server.id,
    alias: member.alias,
    original: item.key,
    wanted: item.key,
    changes: NO_CHANGES,
    target: { member, original: item.key, item },
  }))
}

/** UI resources that tools name count as listed, so that each is read from its tool's own server. */
function pageUris({ member, catalog }: MemberState): string[] {
  return member.resources === 'all' ? (catalog?.tools ?? []).flatMap(({ uiUris }) => uiUris ?? []) : []
}

function uriTable(states: readonly MemberState[], keepsSchemes: boolean): UriTable {
  return new UriTable(
    states.map(state => ({
      serverId: state.member.server.id,
      alias: state.member.alias,
      uris: [...new Set([...chosenUris(state, 'resources').map(({ key }) => key), ...pageUris(state)])],
      templates: chosenUris(state, 'resourceTemplates').map(({ key }) => key),
      readsUnlisted:
        state.member.resources === 'all' && (!state.catalog || state.catalog.capabilities.resources !== undefined),
    })),
    { keepsSchemes },
  )
}

function resourceItems(state: MemberState, shownUri: ShownUri): ListItem[] {
  if (!state.listed) return []
  const serverId = state.member.server.id
  return chosenUris(state, 'resources').map(item => {
    const uri = shownUri(serverId, item.key)
    return new ListItem(uri, serverId, item, uri === item.key ? NO_CHANGES : { uri })
  })
}

function templateItems(state: MemberState, uris: UriTable): ListItem[] {
  if (!state.listed) return []
  const serverId = state.member.server.id
  return chosenUris(state, 'resourceTemplates').map(item => {
    const uriTemplate = uris.publicTemplate(serverId, item.key)
    return new ListItem(uriTemplate, serverId, item, uriTemplate === item.key ? NO_CHANGES : { uriTemplate })
  })
}
