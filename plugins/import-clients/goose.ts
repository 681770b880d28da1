import type { JsonObject, JsonValue } from 'patchbay/contract'
import type { ImportSource } from 'patchbay/features'
import { type Found, forwarded, isObject, mapOf, milliseconds, nameRest, part, texts } from './fields.ts'

const KNOWN = new Set([
  ...['type', 'name', 'display_name', 'description', 'bundled', 'cmd', 'args', 'envs', 'env_keys', 'uri', 'headers'],
  ...['timeout', 'enabled', 'available_tools'],
])
const TRANSPORTS = new Map([
  ['stdio', 'stdio'],
  ['sse', 'sse'],
  ['streamable_http', 'streamable-http'],
])

/** `config.yaml` of Goose: the map `extensions`. */
export const goose: ImportSource = {
  label: 'Goose',
  places: [
    { path: '~/.config/goose/config.yaml' },
    { os: 'windows', path: '%APPDATA%/Block/goose/config/config.yaml' },
  ],
  format: 'yaml',
  off: { field: 'enabled', value: false },
  reads: document => typeof document === 'string' && /^["']?extensions["']?[ \t]{0,8}:(?:\s|$)/m.test(document),
  read(document) {
    const extensions = isObject(document) && isObject(document.extensions) ? document.extensions : {}
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
  const transport = TRANSPORTS.get(String(entry.type))
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
  // Each entry that nobody has limited contains an empty list.
  const only = texts(entry.available_tools) ?? []
  const env = mapOf(entry.envs, forwarded(texts(entry.env_keys) ?? []))
  const sent = mapOf(headers)
  return {
    ...(cmd === undefined ? {} : { command: cmd }),
    ...(args === undefined ? {} : { args }),
    ...(uri === undefined ? {} : { url: uri }),
    ...(sent === undefined ? {} : { headers: sent }),
    ...(env === undefined ? {} : { env }),
    ...(typeof description === 'string' && description !== '' ? { description } : {}),
    ...(isSet(timeout) ? { timeout: milliseconds(timeout) } : {}),
    ...(isSet(enabled) ? { enabled } : {}),
    ...(only.length === 0 ? {} : { includeTools: only }),
  }
}

/** Goose writes null for what is not set. */
function isSet(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null
}
