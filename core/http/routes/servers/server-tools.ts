import { z } from 'zod'
import type { Upstreams } from '../../../connections/api.ts'
import type { JsonObject } from '../../../contract/json.ts'
import type { ServerRecord, UserActor } from '../../../contract/records.ts'
import type { ListCapability } from '../../../domain/mcp-methods.ts'
import { includesRole } from '../../../domain/ownership.ts'
import { pieceOf } from '../../../domain/piece.ts'
import { type CatalogItem, itemJson, itemKey } from '../../../domain/tools/catalog-item.ts'
import { overrideOf } from '../../../domain/tools/tool-shape.ts'
import type { Registry } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import { anyJson, anyObject, exampleList, listOf, pageQuery, refParams, refToolParams } from '../schemas.ts'
import { findTool, openTools, ownedTool, serverTools, tokensOf, viewedTool } from '../tool-views.ts'
import { appliedLimit, etag, type LiveView, noteChange, qualified, seesWhole, writeOptions } from '../views.ts'

/** Dependencies of the routes of a server's tools. */
export interface ServerToolsDeps {
  readonly registry: Pick<Registry, 'servers' | 'shares' | 'audit'>
  readonly upstreams: LiveView & Pick<Upstreams, 'approveTool' | 'callerLists'>
}

const tag = 'servers'

const toolItem = z.looseObject({
  name: z.string(),
  description: z.string().optional(),
  inputSchema: anyObject.optional(),
  tokens: z.number().int().meta({ description: 'About what a model pays to read it' }),
  appOnly: z.boolean().optional().meta({ description: 'It is for the views of MCP Apps: models do not get it' }),
  original: z
    .string()
    .optional()
    .meta({ description: 'The upstream’s own name; only for users who may edit the server' }),
  enabled: z.boolean().optional(),
  overridden: z.boolean().optional(),
  hash: z.string().optional().meta({ description: 'SHA-256 of the upstream’s definition' }),
  changed: z
    .boolean()
    .optional()
    .meta({ description: 'The definition is another one than was approved or seen first' }),
  waiting: z.boolean().optional().meta({ description: 'It cannot be called until the change is approved' }),
})

const exampleTool = {
  name: 'get_current_time',
  description: 'The current time in a time zone',
  inputSchema: { type: 'object', properties: { timezone: { type: 'string' } }, required: ['timezone'] },
  tokens: 51,
  original: 'get_current_time',
  enabled: true,
  overridden: false,
  hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
}

const listing = <T extends z.ZodType>(item: T) =>
  listOf(item).extend({
    live: z.boolean().meta({ description: 'False: the lists are the last known ones, the server is not online' }),
    readAt: z.string().nullable().meta({ description: 'When the lists were read; null: never' }),
    warnings: z.array(z.string()),
  })

const exampleListing = (...items: readonly unknown[]) => ({
  ...exampleList(...items),
  live: true,
  readAt: '2026-11-21T09:30:00.000Z',
  warnings: [],
})

/** Routes for a server's tools, prompts and resources, online or not, and for its owner's overrides. */
export function serverToolRoutes(deps: ServerToolsDeps): Route[] {
  return [
    listRoute(deps, 'tools', toolItem, exampleTool),
    listRoute(deps, 'prompts', promptItem, { name: 'summarise', tokens: 12 }),
    listRoute(deps, 'resources', resourceItem, { uri: 'file:///notes.txt', name: 'notes', tokens: 14 }),
    changeTool(deps),
    approveTool(deps),
  ]
}

const promptItem = z.looseObject({ name: z.string(), tokens: z.number().int() })
const resourceItem = z.looseObject({
  uri: z.string().optional(),
  uriTemplate: z.string().optional().meta({ description: 'In place of `uri` for a template' }),
  tokens: z.number().int(),
})

type Kind = ListCapability

function listRoute(deps: ServerToolsDeps, kind: Kind, item: z.ZodType, example: object): Route {
  return route({
    method: 'GET',
    path: `/api/servers/{ref}/${kind}`,
    access: 'user',
    summary: `The ${kind} of a server`,
    tag,
    params: refParams,
    query: pageQuery,
    responses: {
      200: { description: `A page of ${kind}`, schema: listing(item), example: exampleListing(example) },
    },
    async handle({ actor, params, query }) {
      const record = await deps.registry.servers.resolve(actor, params.ref, 'use')
      const caller = callerOf(deps, actor, record)
      if (caller !== undefined) await deps.upstreams.callerLists(record.id, caller)
      const catalog = deps.upstreams.catalog(record.id, undefined, caller)
      const { state, warnings = [] } = deps.upstreams.status(record.id, undefined, caller)
      const all = [...(catalog?.warnings ?? []), ...warnings.map(({ message }) => message)]
      return {
        body: {
          ...offered(deps, actor, record, kind, query),
          live: state === 'online',
          readAt: catalog?.readAt ?? null,
          warnings: seesWhole(deps.registry.shares, actor, record) ? all : [],
        },
      }
    },
  })
}

/**
 * The user whose own lists are shown; undefined for those who edit the owner's, with the role `change`. Where each user signs in, the
 * owner's lists may name what its account alone has.
 */
function callerOf({ registry }: ServerToolsDeps, actor: UserActor, record: ServerRecord): string | undefined {
  return includesRole(registry.shares.roleOf(actor, record), 'change') ? undefined : actor.userId
}

/** A page of the items of one kind that are visible to this actor. */
function offered(
  deps: ServerToolsDeps,
  actor: UserActor,
  record: ServerRecord,
  kind: Kind,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): { readonly items: readonly JsonObject[]; readonly total: number; readonly limit: number; readonly offset: number } {
  const whole = seesWhole(deps.registry.shares, actor, record)
  if (kind === 'tools') {
    const tools = (whole ? serverTools : openTools)(record, deps.upstreams, callerOf(deps, actor, record))
    const items = pieceOf(tools, offset, limit, tool => tool.characters).map(whole ? ownedTool : viewedTool)
    return { items, total: tools.length, limit: appliedLimit(items, tools.length, { limit, offset }), offset }
  }
  const catalog = deps.upstreams.catalog(record.id, undefined, callerOf(deps, actor, record))
  const all =
    kind === 'prompts'
      ? (catalog?.prompts ?? [])
      : [...(catalog?.resources ?? []), ...(catalog?.resourceTemplates ?? [])]
  const chosen = record[kind] ?? 'all'
  const known = new Set(chosen === 'all' ? [] : chosen.map(name => itemKey(kind, name)))
  const offers = ({ key }: CatalogItem) => chosen === 'all' || known.has(key)
  const shown = whole ? all : all.filter(offers)
  const items = pieceOf(shown, offset, limit, ({ text }) => text.length).map(item => {
    const given = itemJson(item)
    const json = kind === 'prompts' ? { ...given, name: item.key } : given
    return { ...json, tokens: tokensOf(json), ...(offers(item) ? {} : { enabled: false }) }
  })
  return { items, total: shown.length, limit: appliedLimit(items, shown.length, { limit, offset }), offset }
}

function changeTool(deps: ServerToolsDeps): Route {
  return route({
    method: 'PATCH',
    path: '/api/servers/{ref}/tools/{tool}',
    access: 'user',
    summary: 'Switch a tool on or off, change its name, description or arguments; null takes a change back',
    tag,
    params: refToolParams,
    body: z.strictObject({
      enabled: z.boolean().nullable().optional(),
      name: z.string().min(1).max(128).nullable().optional(),
      description: z.string().max(8192).nullable().optional(),
      arguments: z.record(z.string(), anyJson).nullable().optional(),
    }),
    responses: { 200: { description: 'The tool', schema: toolItem, example: exampleTool } },
    async handle({ actor, params, body, info, request }) {
      const before = await deps.registry.servers.resolve(actor, params.ref, 'change')
      const original = originalName(deps, before, params.tool)
      const patch = { tools: { [original]: body as JsonObject } }
      const record = await deps.registry.servers.patch(actor, qualified(before), patch, writeOptions(request.headers))
      noteChange(deps.registry.audit, actor, info, 'server.update', record, {
        tool: original,
        fields: Object.keys(body),
      })
      return { headers: { etag: etag(record.revision) }, body: toolAfter(deps, record, original) }
    },
  })
}

function approveTool(deps: ServerToolsDeps): Route {
  return route({
    method: 'POST',
    path: '/api/servers/{ref}/tools/{tool}/approve',
    access: 'user',
    summary: 'Approve the changed definition of a tool',
    tag,
    params: refToolParams,
    body: z.strictObject({ hash: z.string().max(128).meta({ description: 'Of the definition that was read' }) }),
    responses: { 200: { description: 'The tool', schema: toolItem, example: exampleTool } },
    async handle({ actor, params, body, info }) {
      const record = await deps.registry.servers.resolve(actor, params.ref, 'change')
      // A tool that only callers see is in no list of its owner.
      const isKnown = deps.upstreams.definitions(record.id).has(params.tool)
      const tools = serverTools(record, deps.upstreams)
      const isListed = !isKnown || tools.some(({ original }) => original === params.tool)
      const original = isListed ? findTool(record.name, tools, params.tool).original : params.tool
      deps.upstreams.approveTool(record.id, original, body.hash)
      noteChange(deps.registry.audit, actor, info, 'server.approve', record, { tool: original, hash: body.hash })
      return { body: toolAfter(deps, record, original) }
    },
  })
}

/** A server that was never online has no list yet: an override may then use any name. */
function originalName(deps: ServerToolsDeps, record: ServerRecord, name: string): string {
  const catalog = deps.upstreams.catalog(record.id)
  if (!catalog || Object.hasOwn(record.tools, name)) return name
  return findTool(record.name, serverTools(record, deps.upstreams), name).original
}

function toolAfter(deps: ServerToolsDeps, record: ServerRecord, original: string): JsonObject {
  const tools = serverTools(record, deps.upstreams)
  const tool = tools.find(each => each.original === original)
  if (tool) return ownedTool(tool)
  return {
    ...(structuredClone(overrideOf(record.tools, original) ?? {}) as unknown as JsonObject),
    name: overrideOf(record.tools, original)?.name ?? original,
    original,
    overridden: true,
    tokens: 0,
  }
}
