import type { ImportSource, JsonObject, JsonValue } from 'patchbay/contract'
import { type Found, isObject, nameRest, part, texts } from './fields.ts'

const KNOWN = new Set(['type', 'command', 'environment', 'cwd', 'url', 'headers', 'enabled', 'timeout', '$schema'])

/** `opencode.json`: the map `mcp`, with a command as one list. */
export const opencode: ImportSource = {
  label: 'opencode',
  places: [{ path: '~/.config/opencode/opencode.json' }, { path: 'opencode.json' }],
  reads: document => isObject(document) && isObject(document.mcp) && Object.values(document.mcp).some(isEntry),
  read(document) {
    const found: Found = { servers: [], notCarried: [] }
    const map = isObject(document) && isObject(document.mcp) ? document.mcp : {}
    for (const [name, entry] of Object.entries(map)) {
      const pointer = `#/mcp/${part(name)}`
      if (!isEntry(entry)) {
        found.servers.push({ name, pointer, body: {}, problem: 'The entry is neither "local" nor "remote"' })
        continue
      }
      found.servers.push({ name, pointer, body: bodyOf(entry) })
      nameRest(found, pointer, entry, KNOWN)
    }
    return found
  },
}

function isEntry(entry: JsonValue): entry is JsonObject {
  return isObject(entry) && (entry.type === 'local' || entry.type === 'remote')
}

function bodyOf(entry: JsonObject): JsonObject {
  const [command, ...args] = texts(entry.command) ?? []
  const { url, headers, environment, cwd, enabled, timeout } = entry
  const body = {
    ...(command === undefined ? {} : { command }),
    ...(args.length === 0 ? {} : { args }),
    ...(url === undefined ? {} : { url }),
    ...(headers === undefined ? {} : { headers }),
    ...(environment === undefined ? {} : { env: environment }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(enabled === undefined ? {} : { enabled }),
    ...(timeout === undefined ? {} : { timeout }),
  }
  return mapTexts(body) as JsonObject
}

/** Its references are `{env:NAME}`. */
function mapTexts(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.replaceAll(/\{env:([A-Za-z_]\w*)\}/g, (_, name: string) => `\${${name}}`)
  if (Array.isArray(value)) return value.map(mapTexts)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapTexts(inner)]))
}
