import type { UpstreamFace, Upstreams } from '../../connections/api.ts'
import { within } from '../../connections/within.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord, UserActor } from '../../contract/records.ts'
import { listedFor } from '../../domain/client-capabilities.ts'
import type { Era } from '../../domain/era.ts'
import { LIST_KINDS, LISTS, type ListCapability, type ListKind } from '../../domain/mcp-methods.ts'
import { asksCallers } from '../../domain/session-scope.ts'
import { visibleName } from '../../domain/text/visible-text.ts'
import { isToolOn, overrideOf } from '../../domain/tools/tool-shape.ts'
import { chosenTools } from './chosen.ts'
import { findFormerName } from './former-names.ts'
import type { ListItem } from './list-item.ts'
import { type MergedCatalog, mergeCatalogs } from './merge.ts'
import type { OfflineGracePeriod } from './offline-grace.ts'
import { OldNames } from './old-names.ts'
import { listsFor, type MemberState, type ResolvedScope, type Target } from './scope-types.ts'
import type { ItemForms } from './selector.ts'
import { pageFor } from './sign-ins.ts'
import { type AddedTools, NO_ADDED_TOOLS, type ToolSets } from './tool-sets.ts'
import { unseenPrompt, unseenTool } from './unseen.ts'

/** Time for which a list method is answered after clients were promised it, before all members were seen. */
const PROMISE_MS = 10 * 60_000
/** Longest wait of a list for members that were never seen. */
const CATALOG_WAIT_MS = 2_000
/** Longest wait for the lists that a member has for clients with some capability; it takes an extra connection. */
const ASKING_WAIT_MS = 5_000

/** The parts that all scopes share. `now`: milliseconds of the clock. */
export interface ScopeParts {
  readonly upstreams: Upstreams
  readonly offlineGrace: OfflineGracePeriod
  readonly toolSets: ToolSets
  readonly itemForms: ItemForms
  readonly now: () => number
}

/** A server, and one of its items by its own name. */
interface PermitTarget {
  readonly member: { readonly server: Pick<ServerRecord, 'id'> }
  readonly original?: string
}

type Lists = MergedCatalog['lists']

/** The merged catalogue for clients that declare the same capabilities. */
interface AskedView {
  readonly stamp: number
  readonly catalog: MergedCatalog
}

/** One path for one caller: its members and their merged catalogue, cached until an event invalidates it. */
export class Scope {
  /** Unique per caller and path. */
  readonly key: string
  /** The era of its callers; absent: no client, and a server is used in its default era. */
  readonly caller: Era | undefined
  /** In normal form, such as `/mcp/work`. */
  readonly path: string
  /** The caller whose rights apply. */
  actor: UserActor
  /** True when the registry must resolve it again. */
  stale = false
  /** True when the path resolves to nothing any more. */
  gone = false
  #resolved: ResolvedScope
  #serverIds: ReadonlySet<string>
  #catalog: MergedCatalog | undefined
  #dirty = true
  /** Members whose tools differ with the client's capabilities. */
  #varied: readonly string[] = []
  readonly #views = new Map<string, AskedView>()
  readonly #forms = new WeakMap<JsonObject, string>()
  #announced: Lists | undefined
  /** When some member's first lists were last missing. */
  #unseenAtMs = Number.NEGATIVE_INFINITY
  readonly #oldNames: OldNames
  readonly #parts: ScopeParts

  constructor(
    key: string,
    path: string,
    { actor, caller }: { readonly actor: UserActor; readonly caller?: Era | undefined },
    resolved: ResolvedScope,
    parts: ScopeParts,
  ) {
    this.caller = caller
    this.key = key
    this.path = path
    this.actor = actor
    this.#resolved = resolved
    this.#serverIds = idsOf(resolved)
    this.#parts = parts
    this.#oldNames = new OldNames(parts.now)
  }

  get resolved(): ResolvedScope {
    return this.#resolved
  }

  replace(resolved: ResolvedScope): void {
    this.#resolved = resolved
    this.#serverIds = idsOf(resolved)
    this.stale = false
    this.#dirty = true
  }

  /** Invalidates the merged catalogue. */
  touch(): void {
    this.#dirty = true
  }

  /** The side of a member that this scope's callers use, as far as it is known. */
  face(serverId: string): UpstreamFace {
    return this.#parts.upstreams.face(serverId, this.caller)
  }

  /** Resolves when the legacy sides of the members are known, after 5 s at most; undefined when they are. */
  awaitFaces(): Promise<void> | undefined {
    if (this.caller !== 'legacy') return undefined
    return this.#parts.upstreams.awaitLegacySides(this.#serverIds)?.then(() => this.touch())
  }

  /** True for a server that a call reaches now, or starts. */
  isReachable(serverId: string): boolean {
    const { state, reason } = this.#parts.upstreams.status(serverId)
    return state === 'online' || reason?.code === 'idle'
  }

  has(serverId: string): boolean {
    return this.#serverIds.has(serverId)
  }

  /** True when the lists of a member are those that its owner sees, and not the caller's own. */
  readsOwners(serverId: string): boolean {
    const member = this.#resolved.members.find(({ server: { id } }) => id === serverId)
    return member === undefined || !asksCallers(member.server) || member.server.ownerId === this.actor.userId
  }

  /** True when the target of a request is still in this scope: its member, and the item that it names. */
  permits(method: string, { member: { server }, original }: PermitTarget): boolean {
    if (this.gone) return false
    const { members, group } = this.#resolved
    const member = members.find(({ server: { id } }) => id === server.id)
    if (!member || original === undefined) return member !== undefined
    if (method === 'tools/call') {
      const chosen = chosenTools(member, [{ key: original }], group.ownerId === member.server.ownerId)
      const isOn = isToolOn(member.server, overrideOf(member.server.tools, original))
      return isOn && (chosen === undefined || chosen.has(original))
    }
    if (method === 'prompts/get')
      return member.prompts === 'all' || member.prompts.some(name => visibleName(name) === original)
    return method !== 'resources/read' || this.catalog.uris.allows(server.id, original)
  }

  get catalog(): MergedCatalog {
    if (this.#catalog && !this.#dirty) return this.#catalog
    const { upstreams } = this.#parts
    const states = this.#resolved.members.map(member => {
      const { server } = member
      const { side } = this.face(server.id)
      const signInAt = this.#signInAt(server)
      return {
        ...{ member, signInAt, ...listsFor(upstreams, server, this.actor.userId, side) },
        listed: server.enabled && signInAt === undefined && this.#isListed(server.id),
      }
    })
    const before = this.#catalog
    this.#catalog = mergeCatalogs(this.#resolved, states, this.#addedTools(), this.#parts.itemForms)
    this.#dirty = false
    this.#views.clear()
    this.#varied = states.map(({ member }) => member.server.id).filter(id => this.face(id).tools.length > 0)
    if (before?.states.some(isUnseen) || states.some(isUnseen)) this.#unseenAtMs = this.#parts.now()
    this.#announced ??= this.#catalog.lists
    if (before) this.#oldNames.keep(before, this.#catalog)
    return this.#catalog
  }

  #isListed(serverId: string): boolean {
    const { offlineGrace, upstreams } = this.#parts
    if (offlineGrace.listed(serverId)) return true
    return upstreams.status(serverId, undefined, this.actor.userId).state === 'online'
  }

  /** Undefined outside of a client's path: there the owner's lists are shown. */
  #signInAt(server: ServerRecord): string | undefined {
    if (this.path === '') return undefined
    return pageFor(this.#resolved, this.actor.userId, server, () => this.#parts.upstreams.status(server.id))
  }

  /** Returns the tools of plugins; none outside of a client's path. */
  #addedTools(): AddedTools {
    return this.path === '' ? NO_ADDED_TOOLS : this.#parts.toolSets.of(this.path, this.#resolved, this.actor)
  }

  /** True when some member was unseen recently: clients were promised all lists then, and it may not have them. */
  get promisedAllLists(): boolean {
    return this.#parts.now() - this.#unseenAtMs < PROMISE_MS
  }

  /** True when some member lists tools for clients with certain capabilities alone. */
  get variesByClient(): boolean {
    return this.#varied.length > 0
  }

  /** Like `catalog`, with the tools that members list for a client with these capabilities. */
  catalogFor(capabilities: JsonObject | undefined): MergedCatalog {
    const { catalog } = this
    const form = this.#varied.length === 0 || capabilities === undefined ? '' : this.#formOf(capabilities)
    if (form === '' || !capabilities) return catalog
    let stamp = 0
    for (const id of this.#varied) stamp += this.face(id).listed
    const known = this.#views.get(form)
    if (known?.stamp === stamp) return known.catalog
    const states = catalog.states.map(state => {
      const { id } = state.member.server
      const tools = this.#varied.includes(id) ? this.face(id).toolsFor(capabilities) : undefined
      return tools && state.catalog ? { ...state, catalog: { ...state.catalog, tools } } : state
    })
    const same = states.every((state, index) => state === catalog.states[index])
    const view = same ? catalog : mergeCatalogs(this.#resolved, states, catalog.added, this.#parts.itemForms)
    this.#views.set(form, { stamp, catalog: view })
    return view
  }

  /** Cached per object, as clients repeat their capabilities in each call. Empty: they change no list. */
  #formOf(capabilities: JsonObject): string {
    const known = this.#forms.get(capabilities)
    if (known !== undefined) return known
    const form = listedFor(capabilities)
    const text = form ? JSON.stringify(form) : ''
    this.#forms.set(capabilities, text)
    return text
  }

  /** `capabilities`: the caller's, where it declared any. */
  tool(name: string, capabilities?: JsonObject): Target | undefined {
    const { tools } = this.catalogFor(capabilities)
    return (
      tools.get(name) ??
      this.#oldNames.find('tools', name, this.catalog) ??
      findFormerName(name, this.#resolved.members, tools) ??
      unseenTool(this.#resolved, this.catalog.states, name)
    )
  }

  prompt(name: string): Target | undefined {
    const { prompts } = this.catalog
    return (
      prompts.get(name) ??
      this.#oldNames.find('prompts', name, this.catalog) ??
      findFormerName(name, this.#resolved.members, prompts) ??
      unseenPrompt(this.#resolved, this.catalog.states, name)
    )
  }

  /**
   * Waits for members that were never seen, until 2 s after they began to start or came online; undefined when there is
   * none. A member that failed or hangs is awaited once at most, so that it does not delay every list. For a client
   * with capabilities that change lists, waits up to 5 s more for those lists.
   */
  ready(capabilities?: JsonObject): Promise<void> | undefined {
    const lists = this.#listsReady()
    const rest = (): Promise<void> | undefined => {
      const own = this.#ownReady()
      const asked = (): Promise<void> | undefined => (capabilities ? this.#askedReady(capabilities) : undefined)
      return own === undefined ? asked() : own.then(asked)
    }
    return lists === undefined ? rest() : lists.then(rest)
  }

  /** Waits for the lists that members have for this caller alone. */
  #ownReady(): Promise<void> | undefined {
    const { upstreams } = this.#parts
    const waits: Promise<void>[] = []
    for (const { catalog, signInAt, member } of this.catalog.states) {
      const { id, enabled } = member.server
      const isMissing = enabled && !catalog && signInAt === undefined
      const wait = isMissing ? upstreams.callerLists(id, this.actor.userId, this.face(id).side) : undefined
      if (wait !== undefined) waits.push(wait)
    }
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => this.touch())
  }

  #askedReady(capabilities: JsonObject): Promise<void> | undefined {
    if (!listedFor(capabilities)) return undefined
    const waits: Promise<void>[] = []
    for (const { member } of this.catalog.states) {
      const wait = this.face(member.server.id).ready(capabilities)
      if (wait !== undefined) waits.push(wait)
    }
    return waits.length === 0 ? undefined : within(Promise.all(waits), ASKING_WAIT_MS).then(() => this.touch())
  }

  #listsReady(): Promise<void> | undefined {
    const { upstreams, now } = this.#parts
    const ids: string[] = []
    let budgetMs = 0
    for (const { catalog, member } of this.catalog.states) {
      if (catalog || !member.server.enabled) continue
      const { state, attempts, since } = upstreams.status(member.server.id)
      const leftMs = Date.parse(since) + CATALOG_WAIT_MS - now()
      if (state === 'offline' || attempts > 0 || leftMs <= 0) continue
      ids.push(member.server.id)
      budgetMs = Math.max(budgetMs, leftMs)
    }
    const met = this.awaitFaces()
    if (ids.length === 0) return met
    const ready = upstreams.catalogsReady(ids, Math.min(budgetMs, CATALOG_WAIT_MS)).then(() => {
      this.touch()
      // The members' eras are known only now.
      return met ?? this.awaitFaces()
    })
    return ready
  }

  /** The capabilities with a list that differs from the one last announced to sessions. */
  changedLists(): ReadonlySet<ListCapability> {
    const now = this.catalog.lists
    const before = this.#announced ?? now
    const changed = LIST_KINDS.filter(kind => !sameItems(before[kind], now[kind]))
    return new Set(changed.map(kind => LISTS[kind].capability))
  }

  /** Records these lists as announced: the caller is notifying all subscribers, or there are none. */
  markAnnounced(kinds: readonly ListKind[] = LIST_KINDS): void {
    const { lists } = this.catalog
    const announced = Object.fromEntries(kinds.map(kind => [kind, lists[kind]]))
    if (this.#announced) this.#announced = { ...this.#announced, ...announced }
  }
}

function isUnseen({ catalog }: MemberState): boolean {
  return catalog === undefined
}

function idsOf({ members }: ResolvedScope): Set<string> {
  return new Set(members.map(member => member.server.id))
}

function sameItem(one: ListItem, other: ListItem | undefined): boolean {
  return other !== undefined && one.same(other)
}

function sameItems(a: readonly ListItem[], b: readonly ListItem[]): boolean {
  return a.length === b.length && a.every((item, index) => sameItem(item, b[index]))
}
