import { z } from 'zod'
import type { Alerts } from '../../../alerts/create.ts'
import type { JsonObject } from '../../../contract/json.ts'
import { LongText, partsOf, SHARED_BYTES } from '../../../domain/json/long-text.ts'
import type { Transports } from '../../../domain/server/transports.ts'
import { jsonParts } from '../../../moving/json-pieces.ts'
import { docsPage } from '../../document/docs-page.ts'
import { openApiDocument } from '../../document/openapi.ts'
import type { PluginSchemaRoute } from '../../plugin-routes.ts'
import { type Route, route } from '../../route.ts'
import { exampleServer, server } from '../servers/server-schemas.ts'

/** Sources of the API document and its page. */
export interface DocsRoutesDeps {
  /** All other routes of the hub. */
  readonly routes: readonly Route[]
  readonly version: string
  readonly transports: Transports
  readonly alerts: Pick<Alerts, 'channelTypes'>
  /** Routes of plugins that run; the same objects while nothing has changed. */
  readonly pluginRoutes: () => readonly PluginSchemaRoute[]
  /** Error codes of plugins that run. */
  readonly pluginCodes: () => readonly string[]
  /** Routes of plugins' kinds of records, alike. */
  readonly recordRoutes: () => readonly Route[]
}

/** Documents generated for one state of the API and of its plugins. */
interface Described {
  readonly document: Promise<JsonObject>
  /** The document as JSON, written once and sent to all readers. */
  text?: Promise<LongText>
  /** The page, made once, too. */
  page?: Promise<{ readonly html: LongText; readonly policy: string }>
}

/** The API's documentation, as an OpenAPI document and as a page. */
export function docsRoutes({
  routes,
  version,
  transports,
  alerts,
  pluginRoutes,
  pluginCodes,
  recordRoutes,
}: DocsRoutesDeps): Route[] {
  let current: Described | undefined
  let describedParts: readonly unknown[] = []
  const described = (): Described => {
    const channelTypes = alerts.channelTypes({ role: 'admin' })
    const ofPlugins = pluginRoutes()
    const ofRecords = recordRoutes()
    const codes = pluginCodes()
    const now = [
      ...transports.all(),
      ...channelTypes.map(({ configSchema }) => configSchema),
      ...ofPlugins,
      ...ofRecords,
      ...codes,
    ]
    const same = now.length === describedParts.length && now.every((one, at) => one === describedParts[at])
    if (current && same) return current
    describedParts = now
    const document = openApiDocument([...routes, ...own, ...ofRecords], version, {
      transports,
      channelTypes,
      routes: ofPlugins,
      codes,
      records: { server: { schema: server, example: exampleServer } },
    })
    const made: Described = { document }
    document.catch(() => {
      if (current === made) current = undefined
    })
    current = made
    return made
  }
  const own: Route[] = [
    route({
      method: 'GET',
      path: '/api/openapi.json',
      access: 'public',
      summary: 'This API as an OpenAPI 3.1 document',
      tag: 'about',
      responses: { 200: { description: 'The document', schema: z.looseObject({ openapi: z.string() }) } },
      async handle() {
        const made = described()
        made.text ??= made.document.then(async value => shared(await jsonParts(value)))
        return { text: await made.text }
      },
    }),
    route({
      method: 'GET',
      path: '/api/docs',
      access: 'public',
      summary: 'This API as a page to read',
      tag: 'about',
      responses: { 200: { description: 'The page', contentType: 'text/html', schema: z.string() } },
      async handle() {
        const made = described()
        made.page ??= made.document.then(docsPage).then(({ html, policy }) => {
          return { html: shared(new LongText(partsOf(html))), policy }
        })
        const page = await made.page
        return {
          text: page.html,
          type: 'text/html; charset=utf-8',
          headers: { 'content-security-policy': page.policy },
        }
      },
    }),
  ]
  return own
}

/** Returns a text in small parts, which an ended answer releases: many readers at once need no copy each. */
function shared({ parts }: LongText): LongText {
  const pieces = parts.flatMap(part =>
    Array.from(
      { length: Math.ceil(part.byteLength / SHARED_BYTES) },
      (_, at) => new Uint8Array(part.subarray(at * SHARED_BYTES, (at + 1) * SHARED_BYTES)),
    ),
  )
  return new LongText(pieces)
}
