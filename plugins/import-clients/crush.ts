import type { JsonObject, JsonValue } from 'patchbay/contract'
import type { ImportSource } from 'patchbay/features'
import { type Found, isObject, milliseconds, part } from './fields.ts'

const TYPES: ReadonlySet<JsonValue | undefined> = new Set(['stdio', 'http', 'sse'])

/** `crush.json`: the map `mcp`, whose timeouts are in seconds. */
export const crush: ImportSource = {
  label: 'Crush',
  places: [{ path: '~/.config/crush/crush.json' }, { path: 'crush.json' }, { path: '.crush.json' }],
  off: { field: 'disabled', value: true },
  reads: document =>
    isObject(document) &&
    isObject(document.mcp) &&
    Object.values(document.mcp).some(entry => isObject(entry) && TYPES.has(entry.type)),
  read(document) {
    const found: Found = { servers: [], notCarried: [] }
    const map = isObject(document) && isObject(document.mcp) ? document.mcp : {}
    for (const [name, entry] of Object.entries(map)) {
      const pointer = `#/mcp/${part(name)}`
      if (isObject(entry)) found.servers.push({ name, pointer, body: bodyOf(entry) })
      else found.servers.push({ name, pointer, body: {}, problem: 'The entry is not an object' })
    }
    nameDisabled(found, document)
    return found
  },
}

function bodyOf(entry: JsonObject): JsonObject {
  const { timeout } = entry
  return { ...entry, ...(timeout === undefined ? {} : { timeout: milliseconds(timeout) }) }
}

/** Approvals, and tools that are off in the whole client: `permissions.allowed_tools`, `options.disabled_tools`. */
function nameDisabled(found: Found, document: JsonValue): void {
  const root = isObject(document) ? document : {}
  for (const [field, list] of [
    ['permissions', 'allowed_tools'],
    ['options', 'disabled_tools'],
  ] as const) {
    const section = root[field]
    if (!isObject(section) || !Array.isArray(section[list])) continue
    if (!section[list].some(tool => typeof tool === 'string' && tool.startsWith('mcp_'))) continue
    const what = `"${list}" of the whole client`
    const instead = 'Switch tools in their servers; approvals stay with the client.'
    found.notCarried.push({ pointer: `#/${field}/${list}`, what, instead })
  }
}
