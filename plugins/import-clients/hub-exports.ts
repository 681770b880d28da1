import type { JsonObject, JsonValue } from 'patchbay/contract'
import type { ImportSource } from 'patchbay/features'
import { type Found, isObject, mapOf, nameRest, part } from './fields.ts'

const KNOWN = new Set([
  ...['type', 'transport', 'command', 'args', 'env', 'cwd', 'url', 'headers', 'bearerToken', 'description', 'name'],
  ...['timeout', 'requestTimeout', 'enabled', 'disabled', 'enabledTools', 'disabledTools', 'tags'],
])

/** Exports of hubs whose entries have tokens of their own (MetaMCP) or defaults for all (1MCP). */
export const exportedHub: ImportSource = {
  label: 'MetaMCP, 1MCP',
  places: [{ path: '~/.config/1mcp/mcp.json' }],
  off: { field: 'disabled', value: true },
  reads: document =>
    isObject(document) &&
    isObject(document.mcpServers) &&
    (isObject(document.serverDefaults) ||
      isObject(document.mcpTemplates) ||
      Object.values(document.mcpServers).some(entry => isObject(entry) && typeof entry.bearerToken === 'string')),
  read(document) {
    const found: Found = { servers: [], notCarried: [] }
    const root = isObject(document) ? document : {}
    const defaults = isObject(root.serverDefaults) ? root.serverDefaults : {}
    for (const [name, entry] of Object.entries(isObject(root.mcpServers) ? root.mcpServers : {})) {
      readEntry(found, name, entry, defaults)
    }
    if (root.mcpTemplates !== undefined) {
      found.notCarried.push({
        pointer: '#/mcpTemplates',
        what: 'templates of servers',
        instead: 'Add each as a server.',
      })
    }
    return found
  },
}

function readEntry(found: Found, name: string, entry: JsonValue, defaults: JsonObject): void {
  const pointer = `#/mcpServers/${part(name)}`
  if (!isObject(entry)) {
    found.servers.push({ name, pointer, body: {}, problem: 'The entry is not an object' })
    return
  }
  const { bearerToken, env, headers, ...rest } = { ...defaults, ...entry }
  // The newer word of 1MCP for the same.
  const { requestTimeout } = rest
  const token = typeof bearerToken === 'string' && bearerToken !== '' ? { Authorization: `Bearer ${bearerToken}` } : {}
  // A default is for the servers that can have it.
  const isRemote = rest.url !== undefined && rest.command === undefined
  const { env: usualEnv, headers: usualHeaders } = defaults
  const all = {
    env: isRemote ? undefined : mapOf(env, isObject(usualEnv) ? usualEnv : {}),
    headers: mapOf(headers, { ...token, ...(isObject(usualHeaders) ? usualHeaders : {}) }),
  }
  const filled = Object.entries(all).flatMap(([field, values]) =>
    values === undefined ? [] : [[field, values] as const],
  )
  const known = Object.entries(rest).filter(([field]) => KNOWN.has(field) && field !== 'requestTimeout')
  const timeout = requestTimeout === undefined ? {} : { timeout: requestTimeout }
  const body = { ...Object.fromEntries(known), ...timeout, ...Object.fromEntries(filled) }
  found.servers.push({ name, pointer, body })
  nameRest(found, pointer, rest, KNOWN)
}
