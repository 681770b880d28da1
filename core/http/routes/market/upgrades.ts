import { z } from 'zod'
import type { JsonObject } from '../../../contract/json.ts'
import type { UserActor } from '../../../contract/records.ts'
import type { Direction } from '../../../market/upgrades.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { type Reply, type Route, route } from '../../route.ts'
import { exampleList, flag, listOf, pageQuery, refParams } from '../schemas.ts'
import { server } from '../servers/server-schemas.ts'
import { noteChange, page, recordReply, serverView } from '../views.ts'
import type { MarketRoutesDeps } from './market-deps.ts'
import * as shapes from './market-schemas.ts'
import { planMissing } from './plan-hash.ts'

const tag = 'market'
const SUMMARY: Readonly<Record<Direction, string>> = {
  up: 'Change a server to the version of its template that the source lists now; with `dryRun=true` only say what it would do',
  back: 'Change a server back to what it was upgraded from; with `dryRun=true` only say what it would do',
}

type Body = z.output<typeof shapes.upgradeBody>

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
    query: z.strictObject({ dryRun: flag }),
    body: shapes.upgradeBody,
    summary: SUMMARY[direction],
    responses: {
      200: {
        description: 'The changed server; with `dryRun=true` what the change would do',
        schema: z.union([shapes.upgradePlan, server]),
        example: shapes.upgradePlanExample,
      },
    },
    async handle({ actor, params, query, body, info }) {
      if (query.dryRun === 'true') {
        const request = { inputs: body.inputs ?? {}, choices: body.choices ?? {} }
        const {
          body: _,
          installed: __,
          ...shown
        } = await deps.market.upgrades.plan(actor, params.ref, direction, request)
        return { body: shown }
      }
      return applied(deps, actor, params.ref, direction, body, info)
    },
  })
}

async function applied(
  deps: MarketRoutesDeps,
  actor: UserActor,
  ref: string,
  direction: Direction,
  { inputs = {}, choices = {}, planHash }: Body,
  info: RequestInfo,
): Promise<Reply> {
  if (planHash === undefined) throw planMissing('Nothing is changed unseen')
  const changed = await deps.market.upgrades.apply(actor, ref, direction, { inputs, choices }, planHash)
  const { id = '', version = '' } = changed.template ?? {}
  const detail: JsonObject = { template: id, version }
  const action = direction === 'up' ? 'server.upgrade' : 'server.downgrade'
  noteChange(deps.registry.audit, actor, info, action, changed, detail)
  return recordReply(serverView(deps, actor, changed))
}
