import type { ServerCatalog, Upstreams } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { GroupRecord, ServerRecord, UserActor } from '../../contract/records.ts'
import { formatRef } from '../../domain/names.ts'
import { includesRole, type ThingRole } from '../../domain/ownership.ts'
import type { WrongForm } from '../../domain/program/wrong-form.ts'
import type { ClosedField } from '../../domain/server/server-fields.ts'
import type { ServerStatus } from '../../domain/server/status.ts'
import type { ServerTemplates } from '../../features/templates.ts'
import type { AuditRegistry, ListQuery, ServerRegistry, ShareRegistry, WriteOptions } from '../../registry/api.ts'
import { reviewHash } from '../../registry/servers/held-rights.ts'
import { formOf } from '../../registry/servers/server-form.ts'
import type { RequestInfo } from '../../request/request-info.ts'
import { pauses } from '../../store/pauses.ts'
import type { Reply } from '../route.ts'
import { openTools, type ServerTool } from './tool-views.ts'

/** Live data of a server for responses. */
export type LiveView = Pick<Upstreams, 'status' | 'catalog' | 'definitions'>

/** Dependencies of a server's view. */
export interface ServerViewDeps {
  readonly registry: { readonly servers: Pick<ServerRegistry, 'publicBody'>; readonly shares: RolesView }
  readonly upstreams: LiveView
  /** The form of templates, while a plugin has it; without it a server's template is not shown. */
  readonly templates?: () => ServerTemplates | undefined
  /** Fields of the server that have a value while their plugin does not run. */
  readonly closedFields?: (record: ServerRecord) => readonly ClosedField[]
}

/** Answers which role an actor has for a server or group. */
export type RolesView = Pick<ShareRegistry, 'roleOf'>

/** True when the actor gets the full record: with the role `see`. The registry checks rights to change it. */
export function seesWhole(shares: RolesView, actor: UserActor, record: ServerRecord | GroupRecord): boolean {
  return includesRole(shares.roleOf(actor, record), 'see')
}

/** The actor's role for a record, for lists and records. */
export function roleField(
  shares: RolesView,
  actor: UserActor,
  record: ServerRecord | GroupRecord,
): { readonly role?: ThingRole } {
  const role = shares.roleOf(actor, record)
  return role === undefined ? {} : { role }
}

/** `owner~name`, the form that is unambiguous for everybody. */
export function qualified(record: { readonly ownerName: string; readonly name: string }): string {
  return formatRef(record.ownerName, record.name)
}

/** Fields of every server or group in responses, beside its body. */
export function recordFields(record: ServerRecord | GroupRecord): object {
  return {
    id: record.id,
    ref: qualified(record),
    name: record.name,
    owner: record.ownerName,
    origin: record.origin,
    revision: record.revision,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
  }
}

/** A server as visible to this actor. */
export function serverView(deps: ServerViewDeps, actor: UserActor | undefined, record: ServerRecord): object {
  if (actor === undefined) return viewedServer(deps.upstreams, record)
  const { shares } = deps.registry
  const role = roleField(shares, actor, record)
  if (!seesWhole(shares, actor, record)) return { ...viewedServer(deps.upstreams, record, actor.userId), ...role }
  return { ...wholeServer(deps, record, actor.role === 'admin'), ...role }
}

function wholeServer(deps: ServerViewDeps, record: ServerRecord, isAdmin: boolean): object {
  const body = deps.registry.servers.publicBody(record)
  return {
    ...body,
    ...recordFields(record),
    ...reviewOf(record),
    ...templateOf(deps, record),
    ...(record.problem === undefined ? {} : { problem: record.problem }),
    status: withClosed(
      withForm(deps.upstreams.status(record.id, record), formOf(body, isAdmin)),
      deps.closedFields?.(record) ?? [],
    ),
  }
}

function templateOf({ templates }: ServerViewDeps, { template }: ServerRecord): object {
  const form = template && templates?.()
  return form && template ? { template: form.view(template) } : {}
}

/** The status with a warning of a program or an address in a form that cannot work, or that works better in another. */
function withForm(status: ServerStatus, form: WrongForm | undefined): ServerStatus {
  if (!form) return status
  const { detail: message, suggestion } = form
  const warning = { code: 'wrong_form', message, ...(suggestion ? { suggestion } : {}) } as const
  return { ...status, warnings: [...(status.warnings ?? []), warning] }
}

/** The status with a warning for each plugin whose fields the server has and that does not run. */
function withClosed(status: ServerStatus, closed: readonly ClosedField[]): ServerStatus {
  const ofPlugins = [...Map.groupBy(closed, ({ plugin }) => plugin)]
  if (ofPlugins.length === 0) return status
  const warnings = ofPlugins.map(([plugin, fields]) => ({
    code: 'plugin_off' as const,
    message: `Its fields ${fields.map(({ field }) => field).join(', ')} belong to the plugin ${plugin}, which does not run`,
  }))
  return { ...status, warnings: [...(status.warnings ?? []), ...warnings] }
}

/** The limits of a server that was configured by an account with fewer rights than its owner's. */
function reviewOf(record: ServerRecord): object {
  const { rightsCap, awaitsReview = false } = record
  if (rightsCap === undefined) return {}
  return { review: { required: awaitsReview, network: rightsCap, hash: reviewHash(record) } }
}

/** More tools than this are only in a server's own list of tools. */
const SUMMARISED_TOOLS = 100

/** A public server for another user, or for anybody: tools that cannot be called are left out and not counted. */
export function viewedServer(live: LiveView, record: ServerRecord, userId = ''): object {
  const catalog = live.catalog(record.id, undefined, userId)
  const tools = openTools(record, live, userId)
  const status = live.status(record.id, record, userId)
  return {
    name: record.name,
    owner: record.ownerName,
    ...(record.description === undefined ? {} : { description: record.description }),
    ...(record.tags === undefined ? {} : { tags: record.tags }),
    transport: record.transport,
    ...(record.passthroughHeaders.length === 0 ? {} : { passthroughHeaders: record.passthroughHeaders }),
    tools: tools.slice(0, SUMMARISED_TOOLS).map(toolSummary),
    status: {
      state: status.state,
      since: status.since,
      counts: { ...countsOf(catalog), tools: tools.length },
    },
  }
}

/** The numbers of items of a list as its reader sees them. */
function countsOf(catalog: ServerCatalog | undefined): Omit<ServerStatus['counts'], 'tools'> {
  const { prompts = [], resources = [] } = catalog ?? {}
  return { prompts: prompts.length, resources: resources.length }
}

function toolSummary({ name, summary }: ServerTool): object {
  return { name, ...(summary === undefined ? {} : { description: summary }) }
}

/** A response with one record: its revision is the entity tag, if visible to the actor. */
export function recordReply(view: object, status = 200, location?: string): Reply {
  const revision = (view as { readonly revision?: unknown }).revision
  const headers = {
    ...(typeof revision === 'number' ? { etag: etag(revision) } : {}),
    ...(location === undefined ? {} : { location }),
  }
  return { status, body: view, headers }
}

/** The ETag of a revision: its number in quotes. */
export function etag(revision: number): string {
  return `"${revision}"`
}

/**
 * The revision in `If-Match`; absent or `*`: any. `If-None-Match: *` requires that no record exists. Throws
 * `version_conflict` for an invalid revision.
 */
export function writeOptions(headers: Headers): WriteOptions {
  const ifMissing = headers.get('if-none-match')?.trim() === '*' ? ({ ifMissing: true } as const) : {}
  const value = headers.get('if-match')
  if (value === null || value.trim() === '*') return ifMissing
  const revision = /^\s*"(0|[1-9]\d{0,14})"\s*$/.exec(value)?.[1]
  if (revision === undefined) {
    throw new HubError('version_conflict', `If-Match is ${value.slice(0, 64)}, which is no revision of this record`, {
      hint: 'Send the ETag of your last read as it came, such as "3" with its quotes, or leave the header out.',
    })
  }
  return { ifRevision: Number(revision), ...ifMissing }
}

/** One page of a list in memory. */
export function page<T>(
  items: readonly T[],
  query: { readonly limit: number; readonly offset: number },
): { readonly items: readonly T[]; readonly total: number; readonly limit: number; readonly offset: number } {
  const { limit, offset } = query
  return { items: items.slice(offset, offset + limit), total: items.length, limit, offset }
}

/**
 * Returns the limit to state for a page that may be shorter than requested: offset plus this limit is the start of the next
 * page.
 */
export function appliedLimit(
  { length }: readonly unknown[],
  total: number,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): number {
  return length > 0 && offset + length < total ? length : limit
}

/** JSON of one page, in characters: making a text of it, too, holds the main thread. */
const PAGE_CHARACTERS = 1024 * 1024

/**
 * Returns one page of a list, whose items are rendered in several turns of the event loop. It has fewer items than the limit,
 * but at least one, if they exceed 1 MiB of JSON. The answered limit is that of the page, so that adding it to the offset skips
 * no item. An item whose view no longer exists is left out.
 */
export async function pageOfViews<T>(
  items: readonly T[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
  view: (item: T) => object | Promise<object | undefined>,
) {
  const pause = pauses()
  const shown: object[] = []
  let characters = 0
  let most = limit
  for (const [index, item] of items.slice(offset, offset + limit).entries()) {
    const made = await view(item)
    if (!made) continue
    characters += JSON.stringify(made).length
    if (shown.length > 0 && characters > PAGE_CHARACTERS) {
      most = index
      break
    }
    shown.push(made)
    await pause()
  }
  return { items: shown, total: items.length, limit: most, offset }
}

/** The filters present in a query. */
export function listQuery(
  query: { readonly [K in keyof Omit<ListQuery, 'tags'>]: ListQuery[K] | undefined } & {
    readonly shared?: 'me' | undefined
    readonly tag?: readonly string[] | undefined
  },
): ListQuery {
  const { q, owner, sort, tag: tags } = query
  const scope = query.shared === undefined ? query.scope : 'shared'
  return {
    ...(scope === undefined ? {} : { scope }),
    ...(q === undefined ? {} : { q }),
    ...(owner === undefined ? {} : { owner }),
    ...(tags === undefined ? {} : { tags }),
    ...(sort === undefined ? {} : { sort }),
  }
}

/** Filters of a server list; an absent one matches all. */
export interface ServerFilter {
  readonly state?: ServerStatus['state'] | undefined
  readonly transport?: ServerRecord['transport'] | undefined
  /** Ids of a group's servers; absent: any. */
  readonly members?: ReadonlySet<string> | undefined
}

/** `status` is called only if the other filters match. */
export function matchesFilter(record: ServerRecord, status: () => ServerStatus, filter: ServerFilter): boolean {
  if (filter.transport !== undefined && record.transport !== filter.transport) return false
  if (filter.members !== undefined && !filter.members.has(record.id)) return false
  return filter.state === undefined || status().state === filter.state
}

/** Records a change of a server or group in the audit log. */
export function noteChange(
  audit: Pick<AuditRegistry, 'record'>,
  actor: UserActor,
  info: RequestInfo,
  action: string,
  record: { readonly ownerName: string; readonly name: string; readonly ownerId: string },
  detail?: JsonObject,
): void {
  audit.record(actor, {
    action,
    target: qualified(record),
    ownerId: record.ownerId,
    request: info,
    ...(detail === undefined ? {} : { detail }),
  })
}
