import { z } from 'zod'
import type { SystemActor } from '../../contract/records.ts'
import type { ServerRegistry } from '../../registry/api.ts'
import { type Route, route } from '../route.ts'
import { exampleList, listOf, pageQuery } from './schemas.ts'
import { exampleViewedServer, viewedServer as viewedServerSchema } from './server-schemas.ts'
import { type LiveView, page, viewedServer } from './views.ts'

export interface PublicRoutesDeps {
  readonly registry: { readonly servers: Pick<ServerRegistry, 'list'> }
  readonly upstreams: LiveView
  readonly version: string
  /** What this hub can do, such as `{assistant: false}`. */
  readonly features: Readonly<Record<string, boolean>>
}

/** The version of the programs that this one follows on from; fixed by the specification. */
const BASELINE = '1.0.25'

/** Nobody is signed in: the hub itself reads the list, and what is not public is left out below. */
const READER: SystemActor = { kind: 'system', purpose: 'public server list' }

const info = z.object({
  name: z.string(),
  version: z.string(),
  baseline: z.string(),
  features: z.record(z.string(), z.boolean()),
})

/** What anybody may know without signing in. */
export function publicRoutes({ registry, upstreams, version, features }: PublicRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/public/info',
      access: 'public',
      summary: 'Name, version and features of this hub',
      tag: 'public',
      responses: {
        200: {
          description: 'About the hub',
          schema: info,
          example: { name: 'Patchbay', version: '1.1.0', baseline: BASELINE, features: { assistant: false } },
        },
      },
      handle: () => ({ body: { name: 'Patchbay', version, baseline: BASELINE, features } }),
    }),
    route({
      method: 'GET',
      path: '/api/public/servers',
      access: 'public',
      summary: 'The public servers of all owners',
      tag: 'public',
      query: pageQuery,
      responses: {
        200: {
          description: 'A page of servers; may be kept for a minute',
          schema: listOf(viewedServerSchema),
          example: exampleList(exampleViewedServer),
        },
      },
      async handle({ query }) {
        const records = await registry.servers.list(READER, { scope: 'all' })
        const open = records.filter(record => record.visibility === 'public')
        const { items, ...cut } = page(open, query)
        return {
          // Who asks makes no difference to the answer, so that a shared cache may keep it.
          headers: { 'cache-control': 'public, max-age=60' },
          body: { items: items.map(record => viewedServer(upstreams, record)), ...cut },
        }
      },
    }),
  ]
}
