import type { JsonObject, JsonValue } from 'patchbay/contract'
import type { ImportSource } from 'patchbay/features'
import { type Found, isObject, part, texts } from './fields.ts'

/** `settings.json` of Gemini CLI that chooses servers beside `mcpServers`: `mcp.allowed` and `mcp.excluded`, and what these were
 * called before. A file without them has a plain map. */
export const gemini: ImportSource = {
  label: 'Gemini CLI',
  places: [{ path: '~/.gemini/settings.json' }, { path: '.gemini/settings.json' }],
  reads: document => isObject(document) && isObject(document.mcpServers) && isChoosing(document),
  read(document) {
    const found: Found = { servers: [], notCarried: [] }
    const root = isObject(document) ? document : {}
    const { allowed, excluded } = choiceIn(root)
    for (const [name, entry] of Object.entries(isObject(root.mcpServers) ? root.mcpServers : {})) {
      const pointer = `#/mcpServers/${part(name)}`
      if (!isObject(entry)) {
        found.servers.push({ name, pointer, body: {}, problem: 'The entry is not an object' })
        continue
      }
      const isOff = excluded?.includes(name) === true || allowed?.includes(name) === false
      found.servers.push({ name, pointer, body: { ...entry, ...(isOff ? { enabled: false } : {}) } })
    }
    return found
  },
}

function isChoosing(root: JsonObject): boolean {
  const { allowed, excluded } = choiceIn(root)
  return allowed !== undefined || excluded !== undefined
}

function choiceIn(root: JsonObject): Readonly<Record<'allowed' | 'excluded', string[] | undefined>> {
  const mcp = isObject(root.mcp) ? root.mcp : {}
  return {
    allowed: listOf(mcp.allowed, root.allowMCPServers),
    excluded: listOf(mcp.excluded, root.excludeMCPServers),
  }
}

function listOf(...lists: readonly (JsonValue | undefined)[]): string[] | undefined {
  return lists.map(list => texts(list)).find(list => list !== undefined)
}
