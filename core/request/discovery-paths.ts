/** Path of the catalogue of MCP servers, below the base path. */
export const CATALOG_PATH = '/.well-known/mcp/catalog.json'
/** Path of the card of all servers of a caller, which does not exist; a group may have this name. */
export const ROOT_CARD_PATH = '/mcp/server-card'

/** `{MCP endpoint}/server-card`. It does not match the endpoint of a group that is called `server-card`. */
const CARD = /^\/mcp\/(?:(?:\$|%24)[^/]+\/)?(?:(?!@|%40|\$|%24)[^/]+|(?:@|%40)[^/]+\/[^/]+)\/server-card\/?$/

/** True for the path of a server card, whether or not there is a group. */
export function isCardPath(path: string): boolean {
  return path.endsWith('/server-card') || path.endsWith('/server-card/') ? CARD.test(path) : false
}

/**
 * True for a well-known path behind that of an endpoint, where some clients look for metadata. No endpoint has such a path: a
 * group's name has no slash.
 */
export function isWellKnownBehind(path: string): boolean {
  return path.includes('/.well-known/') && /^\/(?:mcp|sse)\/(?:.*\/)?\.well-known\/./.test(path)
}

/** True for the paths that strangers and scripts of any origin may read while discovery is enabled. */
export function isDiscoveryPath(path: string): boolean {
  return path === CATALOG_PATH || isCardPath(path)
}
