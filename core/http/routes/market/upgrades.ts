import { z } from 'zod'
import type { JsonObject } from '../../../contract/json.ts'
import type { Direction } from '../../../market/upgrades.ts'
import { type Route, route } from '../../route.ts'
import { plannedQuery, plannedReply } from '../planned.ts'
import { exampleList, listOf, pageQuery, refParams } from '../schemas.ts'
import { server } from '../servers/server-schemas.ts'
import { noteChange, page, recordReply, serverView } from '../views.ts'
import type { MarketRoutesDeps } from './market-deps.ts'
import * as shapes from './market-schemas.ts'

const tag = 'market'
const SUMMARY: Readonly<Record<Direction, string>> = {
  up: 'Change a server to the version of its template that the source lists now; with `dryRun=true` only say what it would do',
  back: 'Change a server back to what it was upgraded from; with `dryRun=true` only say what it would do',
}

/** Versions of installed servers: which have another one in their source, and changing to it. */
export function upgradeRoutes(deps: MarketRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/market/updates',
      access: 'user',
      tag,
      query: pageQuery,
      summary: 'Your installed servers whose source lists another version, or does not list them any more',
      responses: {
        200: {
          description: 'A page of servers',
          schema: listOf(shapes.update),
          example: exampleList(shapes.updateExample),
        },
      },
      async handle({ actor, query }) {
        return { body: page(await deps.market.upgrades.list(actor), query) }
      },
    }),
    changeRoute(deps, '/api/servers/{ref}/upgrade', 'up'),
    changeRoute(deps, '/api/servers/{ref}/downgrade', 'back'),
  ]
}

function changeRoute(deps: MarketRoutesDeps, path: string, direction: Direction): Route {
  return route({
    method: 'POST',
    path,
    access: 'user',
    tag,
    params: refParams,
    query: plannedQuery,
    body: shapes.upgradeBody,
    summary: SUMMARY[direction],
    responses: {
      200: {
        description: 'The changed server; with `dryRun=true` what the change would do',
        schema: z.union([shapes.upgradePlan, server]),
        example: shapes.upgradePlanExample,
      },
    },
    async handle({ actor, params: { ref }, query, body: { inputs = {}, choices = {}, planHash }, info }) {
      const wanted = {
        ...{ actor, query, planHash },
        inputs: { ref, direction, inputs, choices },
      }
      return plannedReply(deps.market.upgrades.change, wanted, {
        done(changed) {
          const { id = '', version = '' } = changed.template ?? {}
          const detail: JsonObject = { template: id, version }
          const action = direction === 'up' ? 'server.upgrade' : 'server.downgrade'
          noteChange(deps.registry.audit, actor, info, action, changed, detail)
          return recordReply(serverView(deps, actor, changed))
        },
      })
    },
  })
}
