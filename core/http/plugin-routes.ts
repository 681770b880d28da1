import { z } from 'zod'
import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import type { RouteContribution } from '../contract/points.ts'
import type { UserActor } from '../contract/records.ts'
import type { RouteAccess, RouteAnswer, RouteAnswerKind } from '../contract/routes.ts'
import type { AuditRegistry } from '../registry/api.ts'
import { targetOf } from '../request/canonical-path.ts'
import { type RunnableRoute, runnable } from './pipeline.ts'
import type { Method, Reply, Route } from './route.ts'

/** The description of one route of a plugin, with its schemas as JSON Schema. */
export interface DescribedRoute {
  readonly method: Method
  /** Below `/api/plugins/{plugin}`, or whole. */
  readonly path: string
  readonly whole?: true
  readonly ownCredential?: true
  readonly ownLimit?: true
  readonly anyQuery?: true
  readonly tag?: string
  readonly access: RouteAccess
  readonly summary: string
  readonly params?: JsonObject
  readonly query?: JsonObject
  readonly body?: JsonObject
  readonly answers: Readonly<
    Record<
      string,
      {
        readonly description: string
        readonly schema?: JsonObject
        /** The answer is such a record, or of the schema. */
        readonly of?: NonNullable<RouteAnswerKind['of']>
        readonly example?: JsonValue | object
        readonly contentType?: string
      }
    >
  >
  readonly reads?: true
  readonly bodyLimit?: number
  readonly rawBody?: number
  readonly timeoutMs?: number
  readonly audit?: string
}

/** A request to a route of a plugin, whose fields the plugin's schemas check. */
export interface RawRouteRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  readonly body: unknown
  readonly bytes: Uint8Array
  readonly actor: UserActor | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly search: string
  readonly baseUrl: string
  readonly addressKey: string
  readonly clientAddress: string
  readonly viaProxy: boolean
  readonly requestId: string
}

/** A route that a plugin offers now. */
export interface PluginSchemaRoute {
  readonly plugin: string
  readonly described: DescribedRoute
  /** The error for a raw body that is too long. */
  readonly tooLarge?: () => HubError
  handle(request: RawRouteRequest, signal: AbortSignal): Promise<RouteAnswer>
}

/** The routes and limits that plugins have now. */
export interface PluginRouteTable {
  /** Contribution of `/api/plugins/{plugin}/{path}` without schemas, whatever the method. */
  free(plugin: string, path: string): RouteContribution | undefined
  /** Routes with schemas, those with fewer parameters first. */
  of(plugin: string): readonly PluginSchemaRoute[]
  /** Routes with whole paths, those with fewer parameters first. */
  whole(): readonly PluginSchemaRoute[]
  /** Routes with schemas of all plugins; the same objects while nothing has changed. */
  all(): readonly PluginSchemaRoute[]
  /** The answer at a path that a plugin claims which does not run, if it has one of its own. */
  unavailable(path: string): HubError | undefined
  /** Routes of kinds of records, with whole paths; of all plugins or of one. */
  records(plugin?: string): readonly Route[]
  /** Error codes of all plugins. */
  codes(): readonly string[]
  /** The limits that hold, by plugin. */
  limits(): Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** The result of looking up a path: a route to run, or the methods that the path has. */
export type FoundPluginRoute =
  | { readonly route: RunnableRoute; readonly params: Readonly<Record<string, string>> }
  | { readonly allow: readonly string[]; readonly open: boolean }

/** Content types that a text of a plugin may have: none that a browser runs. */
const TYPE = /^(?:application\/(?:json|openmetrics-text)|text\/(?:csv|plain))(?:; [a-z]+=[a-z0-9.-]+)*$/i
const PATH = /^\/api\/plugins\/([^/]+)\/(.+)$/
/** Headers that an answer of a plugin may have. */
const HEADER =
  /^(?:x-[a-z0-9-]+|etag|location|content-disposition|cache-control|retry-after|link|last-modified|www-authenticate|pragma)$/i

/**
 * A plugin's route that runs like the hub's own: credential, access and rate are checked first, and a body is limited
 * to 1 MiB. Undefined when no plugin offers this path now.
 */
export function pluginRoute(
  path: string,
  method: string,
  table: PluginRouteTable,
  audit: Pick<AuditRegistry, 'record'>,
): FoundPluginRoute | undefined {
  const [, plugin, below] = PATH.exec(path) ?? []
  if (plugin === undefined || below === undefined) return wholeRoute(path, method, table, audit)
  const found = among(offersOf(plugin, table, audit), path, method)
  if (found && 'route' in found) return found
  const free = table.free(plugin, below)
  return free ? { route: freeRoute(plugin, path, method, free), params: {} } : found
}

/** A route of a plugin whose path is whole. Undefined when no plugin offers this path now. */
export function wholeRoute(
  path: string,
  method: string,
  table: PluginRouteTable,
  audit: Pick<AuditRegistry, 'record'>,
): FoundPluginRoute | undefined {
  const offers = table.whole().map(route => schemaOffer(route, audit))
  return offers.length === 0 ? undefined : among(offers, path, method)
}

function among(offers: readonly Offer[], path: string, method: string): FoundPluginRoute | undefined {
  const wanted = method === 'HEAD' ? 'GET' : method
  const here = offers.flatMap(offer => {
    const params = matched(offer.path, path)
    return params ? [{ ...offer, params }] : []
  })
  const [closest] = here
  const same = here.filter(offer => offer.path === closest?.path)
  const found = same.find(offer => offer.method === wanted)
  if (found) return { route: found.run(), params: found.params }
  if (same.length === 0) return undefined
  const methods = same.flatMap(offer => (offer.method === 'GET' ? ['GET', 'HEAD'] : [offer.method]))
  return { allow: methods.sort(), open: same.some(offer => offer.access === 'public') }
}

/** One method at a path. */
interface Offer extends Pick<RunnableRoute, 'path' | 'method' | 'access'> {
  run(): RunnableRoute
}

/** All routes of a plugin, those with fewer parameters first. */
function offersOf(plugin: string, table: PluginRouteTable, audit: Pick<AuditRegistry, 'record'>): readonly Offer[] {
  const weight = ({ path }: Offer): string => path.replaceAll(/\{\w+\}/g, '~')
  const offers: Offer[] = [
    ...table.of(plugin).map(route => schemaOffer(route, audit)),
    ...table.records(plugin).map(route => {
      const { path, method, access } = route
      return { path, method, access, run: () => runnable(route) }
    }),
  ]
  return offers.sort((a, b) => (weight(a) < weight(b) ? -1 : weight(a) > weight(b) ? 1 : 0))
}

function schemaOffer(route: PluginSchemaRoute, audit: Pick<AuditRegistry, 'record'>): Offer {
  const { method, access } = route.described
  return { path: fullPath(route), method, access, run: () => schemaRoute(route, audit) }
}

/** The whole path of a plugin's route, such as `/api/plugins/library/books/{id}`. */
export function fullPath({ plugin, described }: PluginSchemaRoute): string {
  return described.whole ? described.path : `/api/plugins/${plugin}${described.path}`
}

function matched(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  const takesRest = pattern.endsWith('*}')
  if (takesRest ? given.length < wanted.length - 1 : wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, part] of wanted.entries()) {
    if (part.endsWith('*}')) return { ...params, [part.slice(1, -2)]: given.slice(at).join('/') }
    const text = given[at] ?? ''
    if (!part.startsWith('{')) {
      if (part !== text) return undefined
      continue
    }
    if (text === '') return undefined
    params[part.slice(1, -1)] = decodeURIComponent(text)
  }
  return params
}

function schemaRoute(offered: PluginSchemaRoute, audit: Pick<AuditRegistry, 'record'>): RunnableRoute {
  const { plugin, described } = offered
  const path = fullPath(offered)
  const { method, access, summary, tag = 'plugins', whole, ownCredential, ownLimit, anyQuery } = described
  return {
    ...{ path, method, access, summary, tag },
    ...(whole && !ownLimit ? { rated: true as const } : {}),
    ...(ownCredential ? { ownCredential } : {}),
    ...(anyQuery ? { anyQuery } : {}),
    ...(described.reads ? { reads: true } : {}),
    ...(described.query ? { query: z.record(z.string(), z.unknown()) } : {}),
    ...(described.body ? { body: z.record(z.string(), z.unknown()) } : {}),
    ...(described.bodyLimit === undefined ? {} : { bodyLimit: described.bodyLimit }),
    ...(described.rawBody === undefined ? {} : { rawBody: described.rawBody }),
    responses: {},
    async handle({ request, params, query, body, actor, info, signal, readBody }) {
      const bytes =
        described.rawBody === undefined
          ? new Uint8Array()
          : await readBody().catch((error: unknown) => {
              const isTooLong = error instanceof HubError && error.code === 'body_too_large'
              throw (isTooLong && offered.tooLarge?.()) || error
            })
      const given = {
        ...{ params: params as Record<string, string>, query, body, bytes, actor, requestId: info.requestId },
        headers: headersOf(request, ownCredential === true),
        search: targetOf(request.url).query,
        ...{ baseUrl: info.baseUrl, addressKey: info.addressKey, clientAddress: info.clientAddress },
        viaProxy: info.viaProxy,
      }
      const reply = replyOf(plugin, await offered.handle(given, signal))
      if (described.audit !== undefined && actor && (reply.status ?? 200) < 400) {
        const action = `${plugin}.${described.audit}`
        audit.record(actor, {
          action,
          target: Object.values(given.params).join('/'),
          ownerId: actor.userId,
          request: info,
        })
      }
      return reply
    },
  }
}

/** Headers with the caller's credential for the hub. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'x-auth-token', 'cookie', 'proxy-authorization'])

function headersOf({ headers }: Request, isOwn: boolean): Readonly<Record<string, string>> {
  return Object.fromEntries([...headers].filter(([name]) => isOwn || !CREDENTIALS.has(name)))
}

/** The answer as the hub sends it. Throws `internal` for one that no plugin may send. */
function replyOf(plugin: string, { status = 200, body, text, type, page, headers = {} }: RouteAnswer): Reply {
  const wrong = Object.keys(headers).find(name => !HEADER.test(name))
  const isStatus = Number.isInteger(status) && status >= 200 && status <= 599
  const isType = type === undefined || TYPE.test(type)
  if (wrong !== undefined || !isStatus || !isType) {
    const what =
      wrong !== undefined ? `the header "${wrong}"` : isStatus ? `the type "${type}"` : `the status ${status}`
    throw new HubError('internal', `The plugin "${plugin}" answered with ${what}, which it may not`)
  }
  if (text !== undefined) return { status, headers, text, ...(type === undefined ? {} : { type }) }
  if (page !== undefined) return { status, headers, text: page, type: 'text/html; charset=utf-8' }
  return { status, headers, ...(body === undefined ? {} : { body }) }
}

function freeRoute(plugin: string, path: string, method: string, offered: RouteContribution): RunnableRoute {
  return {
    method: method as Method,
    path,
    access: offered.access,
    summary: '',
    tag: 'plugins',
    query: z.record(z.string(), z.unknown()),
    responses: {},
    rawBody: LIMITS.bodyBytes,
    async handle({ request, actor, readBody }) {
      const body = await readBody()
      const bodyless = request.method === 'GET' || request.method === 'HEAD'
      const { url, headers, signal } = request
      const passed = new Request(url, {
        method: request.method,
        headers,
        signal,
        ...(bodyless ? {} : { body: Uint8Array.from(body) }),
      })
      passed.headers.delete('authorization')
      passed.headers.delete('x-auth-token')
      try {
        return unannounced(await offered.fetch(passed, actor))
      } catch (error) {
        if (error instanceof HubError) throw error
        throw new HubError('internal', `The plugin "${plugin}" failed at this path`, { cause: error })
      }
    },
  }
}

/** Without the plugin's own word for its length, so that the bytes themselves are counted. */
function unannounced(response: Response): Response {
  if (!response.headers.has('content-length')) return response
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
}
