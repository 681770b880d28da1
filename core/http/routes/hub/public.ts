import { z } from 'zod'
import { type Route, route } from '../../route.ts'
import { exampleList, listOf, pageQuery } from '../schemas.ts'
import { exampleViewedServer, viewedServer as viewedServerSchema } from '../servers/server-schemas.ts'
import { PublicPages, type PublicPagesDeps } from './public-pages.ts'

/** Dependencies of the routes without a credential. */
export interface PublicRoutesDeps extends PublicPagesDeps {
  readonly version: string
  /** Features of this hub, such as `{assistant: false}`. */
  readonly features: Readonly<Record<string, boolean>>
}

/** The version of the predecessor programs; fixed by the specification. */
const BASELINE = '1.0.25'

const info = z.object({
  name: z.string(),
  version: z.string(),
  baseline: z.string(),
  features: z.record(z.string(), z.boolean()),
})

/** Routes without sign-in. */
export function publicRoutes({ version, features, ...deps }: PublicRoutesDeps): Route[] {
  const pages = new PublicPages(deps)
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
      // The response is the same for every caller, so shared caches and the hub itself may cache it.
      handle: ({ query, request }) => pages.answer(query, request.headers),
    }),
  ]
}
