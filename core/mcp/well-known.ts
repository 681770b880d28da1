import { HubError } from '../contract/errors.ts'
import { parseScopePath } from './paths.ts'

export const METADATA_PATH = '/.well-known/oauth-protected-resource'

/**
 * The protected-resource metadata of RFC 9728. Public, and answered for any name, so that it tells nothing about which
 * exist. The root form stands for `/mcp`. Throws route_not_found, method_not_allowed.
 */
export function resourceMetadata(method: string, path: string, baseUrl: string): Response {
  const resource = path.slice(METADATA_PATH.length) || '/mcp'
  if (!parseScopePath(resource) && !parseScopePath(resource, 'sse'))
    throw new HubError('route_not_found', `Nothing is served at ${path.slice(0, 128)}`)
  if (method !== 'GET') throw new HubError('method_not_allowed', `${METADATA_PATH} takes GET alone`)
  const body = { resource: `${baseUrl}${resource}`, bearer_methods_supported: ['header'], scopes_supported: ['mcp'] }
  return new Response(JSON.stringify(body), {
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  })
}
