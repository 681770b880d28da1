import type { PluginRoutes } from 'patchbay/contract'
import type { PluginServers } from 'patchbay/features'
import { exampleList, flag, formatRef, listOf, pageFields, pageQuery } from 'patchbay/plugin-kit'
import { z } from 'zod'
import type { Market } from '../create.ts'
import { audited, page, plannedQuery } from './fields.ts'
import * as shapes from './schemas.ts'

/** Dependencies of the routes of the market. */
export interface MarketRoutesDeps {
  readonly market: Market
  readonly servers: PluginServers
}

const tag = 'market'
const base = '/api/market'
const idParams = z.object({ id: z.string().min(1).max(256).meta({ description: '`source:name`, with `~` for `/`' }) })
const search = z.strictObject({
  q: z.string().max(256).optional().meta({ description: 'Words in English or Chinese; all of them' }),
  category: z.string().max(64).optional(),
  tag: z.string().max(64).optional(),
  source: z.string().max(64).optional(),
  installed: flag.meta({ description: 'Only templates of which you have a server' }),
  sort: z
    .enum(['relevance', 'name', '-name', '-updatedAt', '-toolCount'])
    .optional()
    .meta({ description: 'Default `relevance`' }),
  ...pageFields,
})

/** Adds the routes to look for templates, to install them, and about their sources. */
export function addTemplateRoutes(routes: PluginRoutes, { market, servers }: MarketRoutesDeps): void {
  routes.add({
    whole: true,
    method: 'GET',
    path: `${base}/templates`,
    access: 'user',
    tag,
    query: search,
    summary: 'Templates of all sources, the best matches first',
    answers: {
      200: {
        description: 'A page of templates',
        schema: listOf(shapes.template),
        example: exampleList(shapes.templateExample),
      },
    },
    async handle({ actor, query }) {
      const { limit, offset } = query
      return { body: { ...(await market.find(actor, query, query)), limit, offset } }
    },
  })
  routes.add({
    whole: true,
    method: 'GET',
    path: `${base}/templates/{id}`,
    access: 'user',
    tag,
    params: idParams,
    summary: 'One template with its inputs and variants',
    answers: { 200: { description: 'The template', schema: shapes.template, example: shapes.templateExample } },
    async handle({ actor, params }) {
      return { body: await market.get(actor, idOf(params.id)) }
    },
  })
  routes.add({
    whole: true,
    method: 'GET',
    path: `${base}/categories`,
    access: 'user',
    tag,
    query: pageQuery,
    summary: 'The categories, with how many templates each has',
    answers: {
      200: {
        description: 'A page of categories',
        schema: listOf(shapes.category),
        example: exampleList({ name: 'files', templates: 6 }),
      },
    },
    async handle({ actor, query }) {
      return { body: page(await market.categories(actor), query) }
    },
  })
  routes.add({
    whole: true,
    method: 'POST',
    path: `${base}/templates/{id}/install`,
    access: 'user',
    tag,
    params: idParams,
    query: plannedQuery,
    body: shapes.installBody,
    summary: 'Install a template as a server of your own; with `dryRun=true` only say what it would do',
    answers: {
      200: { description: 'What it would do', schema: shapes.plan, example: shapes.planExample },
      201: { description: 'The server', of: 'server' },
    },
    async handle({ actor, params, query, body, baseUrl, ...caller }) {
      const { name = serverName(params.id), variant, inputs = {}, start = false, planHash } = body
      const request = { id: idOf(params.id), name, variant, inputs, start, request: audited(caller) }
      if (query.dryRun === 'true') return { body: await market.installation.plan(actor, request) }
      const made = await market.installation.apply(actor, planHash, request)
      const location = `${baseUrl}/api/servers/${encodeURIComponent(formatRef(made.ownerName, made.name))}`
      return { status: 201, body: servers.view(actor, made), headers: { etag: `"${made.revision}"`, location } }
    },
  })
  addSourceRoutes(routes, market)
}

function addSourceRoutes(routes: PluginRoutes, market: Market): void {
  routes.add({
    whole: true,
    method: 'GET',
    path: `${base}/sources`,
    access: 'user',
    tag,
    query: pageQuery,
    summary: 'Where templates come from, and how old each list is',
    answers: {
      200: {
        description: 'A page of sources',
        schema: listOf(shapes.source),
        example: exampleList(shapes.sourceExample),
      },
    },
    async handle({ actor, query }) {
      return { body: page(await market.sources(actor), query) }
    },
  })
  routes.add({
    whole: true,
    method: 'POST',
    path: `${base}/sources/{id}/refresh`,
    access: 'admin',
    tag,
    params: idParams,
    summary: 'Read a source again; the old list stays until the new one is whole',
    answers: { 200: { description: 'The source', schema: shapes.source, example: shapes.sourceExample } },
    async handle({ actor, params }) {
      return { body: await market.refresh(actor, params.id) }
    },
  })
}

/** An encoded slash in a path is refused, since proxies read it differently. */
function idOf(inPath: string): string {
  return inPath.replaceAll('~', '/')
}

/** The last part of an id. */
function serverName(id: string): string {
  return (
    id
      .slice(id.indexOf(':') + 1)
      .split('~')
      .at(-1) ?? id
  )
}
