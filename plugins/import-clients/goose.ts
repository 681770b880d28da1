import type { ImportSource, JsonObject, JsonValue } from 'patchbay/contract'
import { type Found, forwarded, isObject, nameRest, part, texts } from './fields.ts'

const KNOWN = new Set([
  ...['type', 'name', 'display_name', 'description', 'bundled', 'cmd', 'args', 'envs', 'env_keys', 'uri', 'headers'],
  ...['timeout', 'enabled'],
])
const TRANSPORTS: Readonly<Record<string, string>> = {
  stdio: 'stdio',
  sse: 'sse',
  streamable_http: 'streamable-http',
}
/** Values of a file; an alias counts at each place where it stands. */
const MOST_VALUES = 20_000

/** `config.yaml` of Goose: the map `extensions`. */
export const goose: ImportSource = {
  label: 'Goose',
  places: [
    { path: '~/.config/goose/config.yaml' },
    { os: 'windows', path: '%APPDATA%/Block/goose/config/config.yaml' },
  ],
  reads: document => typeof document === 'string' && /^extensions:\s*(?:#.*)?$/m.test(document),
  async read(document) {
    // Loaded when it is needed, which is seldom.
    const { load } = await import('js-yaml')
    const value = load(String(document)) as JsonValue
    refuseMany(value)
    const extensions = isObject(value) && isObject(value.extensions) ? value.extensions : {}
    const found: Found = { servers: [], notCarried: [] }
    for (const [name, entry] of Object.entries(extensions)) readExtension(found, name, entry)
    return found
  },
}

function readExtension(found: Found, name: string, entry: JsonValue): void {
  const pointer = `#/extensions/${part(name)}`
  if (!isObject(entry)) {
    found.servers.push({ name, pointer, body: {}, problem: 'The extension is not a map' })
    return
  }
  const transport = TRANSPORTS[String(entry.type)]
  if (transport === undefined) {
    const what = `the extension "${name.slice(0, 64)}" of type ${String(entry.type).slice(0, 32)}`
    found.notCarried.push({ pointer, what, instead: 'It is part of Goose and no MCP server.' })
    return
  }
  found.servers.push({ name, pointer, body: { transport, ...bodyOf(entry) } })
  nameRest(found, pointer, entry, KNOWN)
}

function bodyOf(entry: JsonObject): JsonObject {
  const { cmd, args, uri, headers, timeout, enabled, description } = entry
  const env = { ...forwarded(texts(entry.env_keys) ?? []), ...(isObject(entry.envs) ? entry.envs : {}) }
  return {
    ...(cmd === undefined ? {} : { command: cmd }),
    ...(args === undefined ? {} : { args }),
    ...(uri === undefined ? {} : { url: uri }),
    ...(isObject(headers) && Object.keys(headers).length > 0 ? { headers } : {}),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...(typeof description === 'string' && description !== '' ? { description } : {}),
    ...(typeof timeout === 'number' ? { timeout: Math.round(timeout * 1_000) } : {}),
    ...(typeof enabled === 'boolean' ? { enabled } : {}),
  }
}

/** A short text can stand for a billion values by aliases of aliases. Throws Error. */
function refuseMany(value: JsonValue): void {
  let left = MOST_VALUES
  const count = (inner: JsonValue): void => {
    left -= 1
    if (left < 0) throw new Error(`the file holds more than ${MOST_VALUES} values`)
    if (inner !== null && typeof inner === 'object') for (const one of Object.values(inner)) count(one)
  }
  count(value)
}
