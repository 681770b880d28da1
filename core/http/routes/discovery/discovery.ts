import { z } from 'zod'
import type { HubConfig } from '../../../config/schema.ts'
import { HubError } from '../../../contract/errors.ts'
import { formatRef, quoteName } from '../../../domain/names.ts'
import { CATALOG_PATH } from '../../../request/discovery-paths.ts'
import { type Reply, type Route, route } from '../../route.ts'
import { hasTag, textTag } from '../text-tag.ts'
import { type GroupList, PublicGroups, type PublicGroupsDeps } from './public-groups.ts'
import { CARD_TYPE, catalogEntry, serverCard } from './server-card.ts'

/** Dependencies of the routes of discovery. */
export interface DiscoveryRoutesDeps extends PublicGroupsDeps {
  readonly version: string
  readonly config: { readonly values: Pick<HubConfig, 'discoveryEnabled'> }
}

/** Most groups in the catalogue. */
const ENTRIES = 500
/** Catalogues that are kept for one list: the addresses in them depend on the request's host. */
const KEPT_TEXTS = 8
/** Scripts of every origin may read what is the same for everybody; caching is as the draft recommends. */
const HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET',
  'access-control-allow-headers': 'Content-Type',
  'access-control-expose-headers': 'etag, x-request-id, retry-after',
  'cache-control': 'public, max-age=3600',
}

const entry = z.object({
  identifier: z.string(),
  displayName: z.string(),
  type: z.literal(CARD_TYPE),
  url: z.string(),
})
const catalog = z.object({ specVersion: z.literal('draft'), entries: z.array(entry) })
const input = { description: z.string(), isRequired: z.boolean(), isSecret: z.boolean() }
const card = z.object({
  $schema: z.string(),
  name: z.string(),
  title: z.string(),
  description: z.string(),
  version: z.string(),
  remotes: z.array(
    z.object({
      type: z.literal('streamable-http'),
      url: z.string(),
      headers: z.array(
        z.object({ name: z.string(), ...input, value: z.string(), variables: z.record(z.string(), z.object(input)) }),
      ),
      supportedProtocolVersions: z.array(z.string()),
    }),
  ),
})

const EXAMPLE_URL = 'https://hub.example'
const EXAMPLE = { name: 'docs', ownerName: 'alice', description: 'Search in our documents' }

/** The catalogue of public groups and their cards; no routes unless discovery is enabled. */
export function discoveryRoutes(deps: DiscoveryRoutesDeps): Route[] {
  if (deps.config.values.discoveryEnabled !== true) return []
  const groups = new PublicGroups(deps)
  const texts = new CatalogTexts()
  const common = { method: 'GET', tag: 'discovery', rated: true, anyQuery: true } as const
  return [
    route({
      ...common,
      access: 'public',
      path: CATALOG_PATH,
      summary: 'The public groups as a catalogue of MCP servers',
      responses: {
        200: {
          description: 'The first 500 by name; may be kept for an hour',
          schema: catalog,
          example: { specVersion: 'draft', entries: [catalogEntry(EXAMPLE, EXAMPLE_URL)] },
        },
      },
      async handle({ request, info }) {
        return tagged(request, texts.of(await groups.read(), info.baseUrl), 'application/json')
      },
    }),
    route({
      ...common,
      access: 'public',
      path: '/mcp/{owner}/{name}/server-card',
      summary: 'The server card of a public group; the owner begins with @',
      params: z.object({ owner: z.string(), name: z.string() }),
      responses: {
        200: {
          description: 'The card; may be kept for an hour',
          contentType: CARD_TYPE,
          schema: card,
          example: serverCard(EXAMPLE, EXAMPLE_URL, deps.version),
        },
      },
      async handle({ request, info, params: { owner, name } }) {
        const found = owner.startsWith('@') ? (await groups.read()).find(owner.slice(1), name) : undefined
        if (!found) throw missing(owner.startsWith('@') ? formatRef(owner.slice(1), name) : name)
        return tagged(request, JSON.stringify(serverCard(found, info.baseUrl, deps.version)), CARD_TYPE)
      },
    }),
  ]
}

/** The same words for a private group as for one that does not exist. */
function missing(ref: string): HubError {
  return new HubError('group_not_found', `There is no group ${quoteName(ref)}`)
}

/** The text with its tag, or 304 when the client already has it. */
function tagged({ headers }: Request, text: string, type: string): Reply {
  const etag = textTag(text)
  if (hasTag(headers, etag)) return { status: 304, headers: { ...HEADERS, etag } }
  return { text, type, headers: { ...HEADERS, etag } }
}

/** The catalogue's text for each base URL in use, until the list changes. */
class CatalogTexts {
  readonly #texts = new Map<string, string>()
  #list: GroupList | undefined

  of(list: GroupList, baseUrl: string): string {
    const known = this.#list === list ? this.#texts.get(baseUrl) : undefined
    if (known !== undefined) return known
    if (this.#list !== list || this.#texts.size >= KEPT_TEXTS) this.#texts.clear()
    this.#list = list
    const entries = list.groups.slice(0, ENTRIES).map(group => catalogEntry(group, baseUrl))
    const text = JSON.stringify({ specVersion: 'draft', entries })
    this.#texts.set(baseUrl, text)
    return text
  }
}
