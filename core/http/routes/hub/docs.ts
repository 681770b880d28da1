import { z } from 'zod'
import type { Alerts } from '../../../alerts/create.ts'
import type { JsonObject } from '../../../contract/json.ts'
import type { Transports } from '../../../domain/server/transports.ts'
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
  readonly alerts: Pick<Alerts, 'channelTypes'>
}

/** The API's documentation, as an OpenAPI document and as a page. */
export function docsRoutes({ routes, version, transports, alerts }: DocsRoutesDeps): Route[] {
  let document: JsonObject | undefined
  let describedParts: readonly unknown[] = []
  const described = (): JsonObject => {
    const channelTypes = alerts.channelTypes({ role: 'admin' })
    const now = [...transports.all(), ...channelTypes.map(({ configSchema }) => configSchema)]
    const same = now.length === describedParts.length && now.every((one, at) => one === describedParts[at])
    if (!document || !same) document = openApiDocument([...routes, ...own], version, { transports, channelTypes })
    describedParts = now
    return document
  }
  const own: Route[] = [
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
