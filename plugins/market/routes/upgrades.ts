import type { PluginRoutes } from 'patchbay/contract'
import { exampleList, listOf, pageQuery, refParams } from 'patchbay/plugin-kit'
import type { Direction } from '../upgrades.ts'
import { audited, page, plannedQuery } from './fields.ts'
import * as shapes from './schemas.ts'
import type { MarketRoutesDeps } from './templates.ts'

const tag = 'market'
const SUMMARY: Readonly<Record<Direction, string>> = {
  up: 'Change a server to the version of its template that the source lists now; with `dryRun=true` only say what it would do',
  back: 'Change a server back to what it was upgraded from; with `dryRun=true` only say what it would do',
}

/** Adds the routes about versions of installed servers: which have another one in their source, and changing to it. */
export function addUpgradeRoutes(routes: PluginRoutes, deps: MarketRoutesDeps): void {
  routes.add({
    whole: true,
    method: 'GET',
    path: '/api/market/updates',
    access: 'user',
    tag,
    query: pageQuery,
    summary: 'Your installed servers whose source lists another version, or does not list them any more',
    answers: {
      200: {
        description: 'A page of servers',
        schema: listOf(shapes.update),
        example: exampleList(shapes.updateExample),
      },
    },
    async handle({ actor, query }) {
      return { body: page(await deps.market.upgrades.list(actor), query) }
    },
  })
  addChangeRoute(routes, deps, '/api/servers/{ref}/upgrade', 'up')
  addChangeRoute(routes, deps, '/api/servers/{ref}/downgrade', 'back')
}

function addChangeRoute(
  routes: PluginRoutes,
  { market, servers }: MarketRoutesDeps,
  path: string,
  direction: Direction,
): void {
  const { change } = market.upgrades
  routes.add({
    whole: true,
    method: 'POST',
    path,
    access: 'user',
    tag,
    params: refParams,
    query: plannedQuery,
    body: shapes.upgradeBody,
    summary: SUMMARY[direction],
    answers: {
      200: {
        description: 'The changed server; with `dryRun=true` what the change would do',
        schema: shapes.upgradePlan,
        of: 'server',
        example: shapes.upgradePlanExample,
      },
    },
    async handle({ actor, params: { ref }, query, body: { inputs = {}, choices = {}, planHash }, ...caller }) {
      const request = { ref, direction, inputs, choices, request: audited(caller) }
      if (query.dryRun === 'true') return { body: await change.plan(actor, request) }
      const changed = await change.apply(actor, planHash, request)
      return { body: servers.view(actor, changed), headers: { etag: `"${changed.revision}"` } }
    },
  })
}
