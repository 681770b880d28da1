import { z } from 'zod'
import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import type { RouteContribution } from '../contract/points.ts'
import type { RunnableRoute } from './pipeline.ts'
import type { Method } from './route.ts'

/** Finds the route of `/api/plugins/{plugin}/{path}` that the plugin offers now. */
export type FindPluginRoute = (plugin: string, path: string) => RouteContribution | undefined

const PATH = /^\/api\/plugins\/([^/]+)\/(.+)$/

/**
 * A plugin's route that runs like the hub's own: credential, access and rate are checked first, and a body is limited
 * to 1 MiB. Undefined when no plugin offers this path now.
 */
export function pluginRoute(path: string, method: string, find: FindPluginRoute): RunnableRoute | undefined {
  const [, plugin, below] = PATH.exec(path) ?? []
  const offered = plugin === undefined || below === undefined ? undefined : find(plugin, below)
  if (!offered) return undefined
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
