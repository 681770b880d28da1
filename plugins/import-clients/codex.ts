import type { ImportSource, JsonObject, JsonValue } from 'patchbay/contract'
import { type Found, forwarded, isObject, nameRest, part, texts } from './fields.ts'

const KNOWN = new Set([
  ...['command', 'args', 'env', 'env_vars', 'cwd', 'url', 'bearer_token_env_var', 'bearer_token', 'http_headers'],
  ...['env_http_headers', 'enabled', 'disabled_tools', 'startup_timeout_sec', 'startup_timeout_ms', 'tool_timeout_sec'],
])

/** `config.toml` of Codex: tables `[mcp_servers.name]`. */
export const codex: ImportSource = {
  label: 'Codex',
  places: [{ path: '~/.codex/config.toml' }, { path: '.codex/config.toml' }],
  reads: document => typeof document === 'string' && /^\s*\[\s*"?mcp_servers"?\s*\./m.test(document),
  async read(document) {
    // Loaded when it is needed, which is seldom.
    const { parse } = await import('smol-toml')
    const { mcp_servers: servers } = parse(String(document)) as { mcp_servers?: JsonValue }
    const found: Found = { servers: [], notCarried: [] }
    for (const [name, entry] of Object.entries(isObject(servers) ? servers : {})) {
      const pointer = `#/mcp_servers/${part(name)}`
      if (!isObject(entry)) {
        found.servers.push({ name, pointer, body: {}, problem: 'The entry is not a table' })
        continue
      }
      found.servers.push({ name, pointer, body: bodyOf(entry) })
      nameRest(found, pointer, entry, KNOWN)
    }
    return found
  },
}

function bodyOf(entry: JsonObject): JsonObject {
  const { command, args, cwd, url, enabled } = entry
  const env = { ...forwarded(texts(entry.env_vars) ?? []), ...(isObject(entry.env) ? entry.env : {}) }
  const headers = headersOf(entry)
  const off = texts(entry.disabled_tools) ?? []
  const seconds = entry.tool_timeout_sec
  return {
    ...(command === undefined ? {} : { command }),
    ...(args === undefined ? {} : { args }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(url === undefined ? {} : { url }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(typeof enabled === 'boolean' ? { enabled } : {}),
    ...(typeof seconds === 'number' ? { timeout: Math.round(seconds * 1_000) } : {}),
    ...(off.length === 0 ? {} : { tools: Object.fromEntries(off.map(tool => [tool, { enabled: false }])) }),
  }
}

function headersOf(entry: JsonObject): JsonObject {
  const { bearer_token: token, bearer_token_env_var: variable } = entry
  const named = isObject(entry.env_http_headers) ? entry.env_http_headers : {}
  const fromEnvironment = Object.entries(named).map(([header, name]) => [header, `\${${String(name)}}`])
  return {
    ...(isObject(entry.http_headers) ? entry.http_headers : {}),
    ...Object.fromEntries(fromEnvironment),
    ...(typeof token === 'string' ? { Authorization: `Bearer ${token}` } : {}),
    ...(typeof variable === 'string' ? { Authorization: `Bearer \${${variable}}` } : {}),
  }
}
