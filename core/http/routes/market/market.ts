import { z } from 'zod'
import { type Route, route } from '../../route.ts'
import { plannedQuery, plannedReply } from '../planned.ts'
import { exampleList, flag, listOf, pageFields, pageQuery } from '../schemas.ts'
import { exampleServer, server } from '../servers/server-schemas.ts'
import { noteChange, page, qualified, recordReply, serverView } from '../views.ts'
import type { MarketRoutesDeps } from './market-deps.ts'
import * as shapes from './market-schemas.ts'
import { upgradeRoutes } from './upgrades.ts'

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

/** Templates of servers: looking for them and installing them. */
export function marketRoutes(deps: MarketRoutesDeps): Route[] {
  return [...templateRoutes(deps), ...sourceRoutes(deps), ...upgradeRoutes(deps)]
}

function templateRoutes(deps: MarketRoutesDeps): Route[] {
  const { market, registry } = deps
  return [
    route({
      method: 'GET',
      path: `${base}/templates`,
      access: 'user',
      tag,
      query: search,
      summary: 'Templates of all sources, the best matches first',
      responses: {
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
    }),
    route({
      method: 'GET',
      path: `${base}/templates/{id}`,
      access: 'user',
      tag,
      params: idParams,
      summary: 'One template with its inputs and variants',
      responses: { 200: { description: 'The template', schema: shapes.template, example: shapes.templateExample } },
      async handle({ actor, params }) {
        return { body: await market.get(actor, idOf(params.id)) }
      },
    }),
    route({
      method: 'GET',
      path: `${base}/categories`,
      access: 'user',
      tag,
      query: pageQuery,
      summary: 'The categories, with how many templates each has',
      responses: {
        200: {
          description: 'A page of categories',
          schema: listOf(shapes.category),
          example: exampleList({ name: 'files', templates: 6 }),
        },
      },
      async handle({ actor, query }) {
        return { body: page(await market.categories(actor), query) }
      },
    }),
    route({
      method: 'POST',
      path: `${base}/templates/{id}/install`,
      access: 'user',
      tag,
      params: idParams,
      query: plannedQuery,
      body: shapes.installBody,
      summary: 'Install a template as a server of your own; with `dryRun=true` only say what it would do',
      responses: {
        200: { description: 'What it would do', schema: shapes.plan, example: shapes.planExample },
        201: { description: 'The server', schema: server, example: exampleServer },
      },
      async handle({ actor, params, query, body, info }) {
        const { name = serverName(params.id), variant, inputs = {}, start = false, planHash } = body
        const id = idOf(params.id)
        const request = { id, name, variant, inputs, start }
        const wanted = { actor, query, planHash, inputs: request }
        return plannedReply(market.installation, wanted, {
          done(made) {
            noteChange(registry.audit, actor, info, 'server.create', made, { template: id })
            const address = `${info.baseUrl}/api/servers/${encodeURIComponent(qualified(made))}`
            return recordReply(serverView(deps, actor, made), 201, address)
          },
        })
      },
    }),
  ]
}

function sourceRoutes({ market }: MarketRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: `${base}/sources`,
      access: 'user',
      tag,
      query: pageQuery,
      summary: 'Where templates come from, and how old each list is',
      responses: {
        200: {
          description: 'A page of sources',
          schema: listOf(shapes.source),
          example: exampleList(shapes.sourceExample),
        },
      },
      async handle({ actor, query }) {
        return { body: page(await market.sources(actor), query) }
      },
    }),
    route({
      method: 'POST',
      path: `${base}/sources/{id}/refresh`,
      access: 'admin',
      tag,
      params: idParams,
      summary: 'Read a source again; the old list stays until the new one is whole',
      responses: { 200: { description: 'The source', schema: shapes.source, example: shapes.sourceExample } },
      async handle({ actor, params }) {
        return { body: await market.refresh(actor, params.id) }
      },
    }),
  ]
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
