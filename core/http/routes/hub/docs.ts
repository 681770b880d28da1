import { z } from 'zod'
import { HubError } from '../../../contract/errors.ts'
import type { JsonObject } from '../../../contract/json.ts'
import type { Transport, Transports } from '../../../domain/server/transports.ts'
import { wholeBody } from '../../compress.ts'
import { docsPage } from '../../document/docs-page.ts'
import { openApiDocument } from '../../document/openapi.ts'
import { type Route, route } from '../../route.ts'

/** What the API document and its page are generated from. */
export interface DocsRoutesDeps {
  /** All other routes of the hub. */
  readonly routes: readonly Route[]
  readonly version: string
  readonly transports: Transports
}

/** The API's documentation, as an OpenAPI document and as a page. */
export function docsRoutes({ routes, version, transports }: DocsRoutesDeps): Route[] {
  let document: JsonObject | undefined
  let describedTransports: readonly Transport[] = []
  const described = (): JsonObject => {
    const now = transports.all()
    const same = now.length === describedTransports.length && now.every((one, at) => one === describedTransports[at])
    if (!document || !same) document = openApiDocument([...routes, ...own], version, transports)
    describedTransports = now
    return document
  }
  const own: Route[] = [
    route({
      method: 'GET',
      path: '/',
      access: 'public',
      summary: 'Leads browsers to the page about this API',
      tag: 'about',
      responses: { 303: { description: 'To `/api/docs`, for clients that accept HTML; 404 for others' } },
      handle({ request, info }) {
        if (!request.headers.get('accept')?.includes('text/html'))
          throw new HubError('route_not_found', 'There is nothing at this path')
        return { status: 303, headers: { location: `${info.baseUrl}/api/docs` } }
      },
    }),
    route({
      method: 'GET',
      path: '/api/openapi.json',
      access: 'public',
      summary: 'This API as an OpenAPI 3.1 document',
      tag: 'about',
      responses: { 200: { description: 'The document', schema: z.looseObject({ openapi: z.string() }) } },
      handle: () => ({ body: described() }),
    }),
    route({
      method: 'GET',
      path: '/api/docs',
      access: 'public',
      summary: 'This API as a page to read',
      tag: 'about',
      responses: { 200: { description: 'The page', contentType: 'text/html', schema: z.string() } },
      async handle() {
        const page = await docsPage(described())
        return wholeBody(page.html, 'text/html; charset=utf-8', { headers: { 'content-security-policy': page.policy } })
      },
    }),
  ]
  return own
}
