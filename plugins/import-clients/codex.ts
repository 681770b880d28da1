import type { JsonObject, JsonValue } from 'patchbay/contract'
import type { ImportSource } from 'patchbay/features'
import { type Found, forwarded, isObject, mapOf, milliseconds, nameRest, part, texts } from './fields.ts'

const KNOWN = new Set([
  ...['command', 'args', 'env', 'env_vars', 'cwd', 'url', 'bearer_token_env_var', 'bearer_token', 'http_headers'],
  ...[
    'env_http_headers',
    'enabled',
    'enabled_tools',
    'disabled_tools',
    'startup_timeout_sec',
    'startup_timeout_ms',
    'tool_timeout_sec',
  ],
])

/** A table of servers or a key in it. The blanks are bounded: many lines of many blanks must not be searched again and again. */
const SERVERS = /^[ \t]{0,64}(?:\[[ \t]{0,8})?["']?mcp_servers["']?[ \t]{0,8}[.\]=]/m

/** `config.toml` of Codex: tables `[mcp_servers.name]`. */
export const codex: ImportSource = {
  label: 'Codex',
  places: [{ path: '~/.codex/config.toml' }, { path: '.codex/config.toml' }],
  format: 'toml',
  off: { field: 'enabled', value: false },
  reads: document => typeof document === 'string' && SERVERS.test(document),
  read(document) {
    const servers = isObject(document) ? document.mcp_servers : undefined
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
  const { command, args, cwd, url, enabled, tool_timeout_sec: timeout } = entry
  const env = mapOf(entry.env, forwarded(texts(entry.env_vars) ?? []))
  const headers = headersOf(entry)
  const { enabled_tools: only, disabled_tools: off } = entry
  return {
    ...(command === undefined ? {} : { command }),
    ...(args === undefined ? {} : { args }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(url === undefined ? {} : { url }),
    ...(env === undefined ? {} : { env }),
    ...(headers === undefined ? {} : { headers }),
    ...(enabled === undefined ? {} : { enabled }),
    ...(timeout === undefined ? {} : { timeout: milliseconds(timeout) }),
    ...startOf(entry),
    ...(only === undefined ? {} : { includeTools: only }),
    ...(off === undefined ? {} : { excludeTools: off }),
  }
}

/** `startup_timeout_sec`, or what it was called before. */
function startOf({ startup_timeout_sec: seconds, startup_timeout_ms: ms }: JsonObject): JsonObject {
  if (seconds !== undefined) return { startTimeout: milliseconds(seconds) }
  return ms === undefined ? {} : { startTimeout: ms }
}

function headersOf(entry: JsonObject): JsonValue | undefined {
  const { bearer_token: token, bearer_token_env_var: variable } = entry
  const named = isObject(entry.env_http_headers) ? entry.env_http_headers : {}
  const fromEnvironment = Object.entries(named).map(([header, name]) => [header, `\${${String(name)}}`])
  const others = {
    ...Object.fromEntries(fromEnvironment),
    ...(typeof token === 'string' ? { Authorization: `Bearer ${token}` } : {}),
    ...(typeof variable === 'string' ? { Authorization: `Bearer \${${variable}}` } : {}),
  }
  const own = entry.http_headers
  return mapOf(isObject(own) ? { ...own, ...others } : own, others)
}
