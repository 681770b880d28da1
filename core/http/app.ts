import { Hono } from 'hono'
import type { PluginLogger } from '../contract/plugin.ts'
import type { BytesInFlight } from '../domain/byte-account.ts'
import type { AuditRegistry } from '../registry/api.ts'
import { targetOf } from '../request/canonical-path.ts'
import { SECURITY_HEADERS, withHeaders } from '../request/headers.ts'
import type { Admitted, Peer, RequestGuard } from './api.ts'
import { RequestBytes } from './body/request-bytes.ts'
import type { Console } from './console/console.ts'
import { preflightResponse, withCors } from './cors.ts'
import { countedResponse } from './counted-answer.ts'
import { problemResponse } from './errors.ts'
import { refuseOAuth } from './no-oauth.ts'
import { createPipeline, isApi, type PipelineDeps, type RunnableRoute, runnable } from './pipeline.ts'
import { type FoundPluginRoute, type PluginRouteTable, pluginRoute, wholeRoute } from './plugin-routes.ts'
import type { RequestLog } from './request-log.ts'
import type { Route } from './route.ts'

/** Dependencies of the application besides those of the pipeline. */
export interface AppDeps extends PipelineDeps {
  /** In matching order: a fixed path must precede one with a parameter. */
  readonly routes: readonly Route[]
  /** The routes of plugins, with where their audit records go. */
  readonly plugins?: { readonly routes: PluginRouteTable; readonly audit: Pick<AuditRegistry, 'record'> }
  /** The web console; absent: there is none. */
  readonly console?: Console
  readonly guard: RequestGuard
  readonly bytes: BytesInFlight
  readonly log: Pick<PluginLogger, 'error'>
  /** Returns an id for a request that was rejected before it got one. */
  readonly nextId: () => string
  /** Logs each answered request. */
  readonly requestLog?: RequestLog | undefined
  /** Counts each answered request. */
  readonly countRequest?: (request: AnsweredRequest) => void
}

/** The HTTP application, without sockets. */
export interface App {
  /** Checks and answers one request; never rejects. */
  fetch(request: Request, peer: Peer): Promise<Response>
  /** Answers a request that the guard has admitted; never rejects. */
  handle(request: Request, admitted: Admitted): Promise<Response>
  /** The error response to a request that the guard rejected. */
  refuse(request: Request, error: unknown): Response
}

/** A request as it is counted. */
export interface AnsweredRequest {
  /** The route's path, such as `/api/servers/{ref}`, or `none`. */
  readonly route: string
  readonly method: string
  readonly status: number
  /** Until the head of the answer. */
  readonly ms: number
  /** Undefined without a valid credential. */
  readonly userId: string | undefined
}

/** Route and user of a request, known once it is answered. */
interface Matched {
  userId?: string | undefined
  /** The route's path, such as `/api/servers/{ref}`; undefined when there is none. */
  pattern?: string
}

type Env = { Bindings: { admitted: Pick<Admitted, 'path' | 'info'>; held: RequestBytes; matched: Matched } }

/**
 * The HTTP application, on web standards only. What no route declares is closed: the route table is the access table.
 */
export function createApp(deps: AppDeps): App {
  const pipeline = createPipeline(deps)
  const routes = deps.routes.map(runnable)
  const hono = new Hono<Env>({
    // The guard's path: below the base path, in canonical form.
    getPath: (_request, options) => (options as { env: Env['Bindings'] }).env.admitted.path,
  })
  for (const route of routes) {
    hono.on(route.method, honoPath(route.path), async context => {
      const { raw } = context.req
      const params = context.req.param() as Record<string, string>
      const { admitted, held, matched } = context.env
      matched.pattern = route.path
      const response = await pipeline.run(route, raw, admitted.info, params, held)
      return raw.method === 'HEAD' ? withoutBody(response) : response
    })
  }
  const known = routes.map(route => ({ route, matches: pathPattern(route.path) }))
  const runOffered = async (
    offered: FoundPluginRoute,
    raw: Request,
    { admitted: { path, info }, held, matched }: Env['Bindings'],
  ): Promise<Response> => {
    if ('allow' in offered) return pipeline.unrouted(raw, path, info, offered.allow, offered.open)
    // A free route has any path below its plugin's: none is a name in the metrics.
    if (offered.route.summary !== '') matched.pattern = offered.route.path
    const response = await pipeline.run(offered.route, raw, info, offered.params, held)
    return raw.method === 'HEAD' ? withoutBody(response) : response
  }
  hono.notFound(async context => {
    const { raw } = context.req
    const { path, info } = context.env.admitted
    const offered = deps.plugins && pluginRoute(path, raw.method, deps.plugins.routes, deps.plugins.audit)
    if (offered) return runOffered(offered, raw, context.env)
    const here = known.filter(({ matches }) => matches.test(path)).map(({ route }) => route)
    const refusal = deps.plugins?.routes.unavailable(path)
    return pipeline.unrouted(context.req.raw, path, info, allowedMethods(here), here.some(isPublic), refusal)
  })
  hono.onError(error => {
    throw error
  })

  const answer = async (request: Request, { path, info }: Admitted, matched: Matched): Promise<Response> => {
    const held = new RequestBytes(deps.bytes, info)
    const problem = (error: unknown): Response =>
      problemResponse(error, { requestId: info.requestId, method: request.method, path, log: deps.log })
    try {
      const env: Env['Bindings'] = { admitted: { path, info }, held, matched }
      // Below `/api` the hub's own routes win.
      const offered = isApi(path)
        ? undefined
        : deps.plugins && wholeRoute(path, request.method, deps.plugins.routes, deps.plugins.audit)
      const response =
        (offered && (await runOffered(offered, request, env))) ??
        refuseOAuth(path) ??
        (await deps.console?.answer(request, path, info)) ??
        (await hono.fetch(request, env))
      held.settle()
      return await countedResponse(request, response, held)
    } catch (error) {
      held.settle()
      return await countedResponse(request, problem(error), held).catch(problem)
    } finally {
      matched.userId = held.userId
      held.release()
    }
  }

  const app: App = {
    refuse(request, error) {
      const { path } = targetOf(request.url)
      return problemResponse(error, { requestId: deps.nextId(), method: request.method, path, log: deps.log })
    },

    async handle(request, admitted) {
      const startedAt = performance.now()
      const { requestId } = admitted.info
      const matched: Matched = {}
      const own = preflightResponse(request, admitted.corsOrigin) ?? (await answer(request, admitted, matched))
      const headed = withHeaders(own, {
        ...SECURITY_HEADERS,
        'cache-control': 'no-store',
        'x-request-id': requestId,
      })
      const response = withCors(headed, admitted.corsOrigin)
      const { pattern = 'none', userId } = matched
      const ms = performance.now() - startedAt
      const method = methodLabel(request.method)
      deps.countRequest?.({ route: pattern, method, status: response.status, ms, userId })
      deps.requestLog?.(request, admitted.info, { pattern, response, ms })
      return response
    },

    async fetch(request, peer) {
      let admitted: Admitted
      try {
        admitted = deps.guard.admit(request, peer)
      } catch (error) {
        return app.refuse(request, error)
      }
      return app.handle(request, admitted)
    },
  }
  return app
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** A caller may send any word as the method. */
function methodLabel(method: string): string {
  return METHODS.has(method) ? method : 'other'
}

/** Converts `/api/servers/{ref}` to Hono's syntax. */
function honoPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}

function pathPattern(path: string): RegExp {
  const literal = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&')
  return new RegExp(`^${literal.replace(/\{\w+\}/g, '[^/]+')}$`)
}

function allowedMethods(routes: readonly RunnableRoute[]): string[] {
  const methods = new Set<string>()
  for (const { method } of routes) {
    methods.add(method)
    if (method === 'GET') methods.add('HEAD')
  }
  return [...methods].sort()
}

function isPublic(route: RunnableRoute): boolean {
  return route.access === 'public'
}

/** The response to HEAD. The body is cancelled, since a stream would otherwise run on without a reader. */
async function withoutBody(response: Response): Promise<Response> {
  await response.body?.cancel()
  return new Response(null, { status: response.status, headers: response.headers })
}
