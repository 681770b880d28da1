import type { Market } from '../../../market/create.ts'
import type { Registry } from '../../../registry/api.ts'
import type { ServerViewDeps } from '../views.ts'

/** Dependencies of the routes of the market. */
export interface MarketRoutesDeps extends ServerViewDeps {
  readonly market: Market
  readonly registry: ServerViewDeps['registry'] & Pick<Registry, 'audit'>
}
