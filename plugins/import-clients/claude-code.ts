import type { ImportSource, JsonObject, JsonValue } from 'patchbay/contract'
import { type Found, isObject, nameRest, part } from './fields.ts'

const KNOWN = new Set(['type', 'command', 'args', 'env', 'url', 'headers', 'timeout'])

/** `~/.claude.json` of Claude Code: `mcpServers` of the user and of each project. */
export const claudeCode: ImportSource = {
  label: 'Claude Code',
  places: [{ path: '~/.claude.json' }, { path: '.mcp.json' }],
  reads: document => isObject(document) && isObject(document.projects) && Object.values(document.projects).some(hasMap),
  read(document) {
    const found: Found = { servers: [], notCarried: [] }
    const root = isObject(document) ? document : {}
    const seen = new Map<string, string>()
    readMap(found, seen, '#/mcpServers', root.mcpServers)
    for (const [folder, project] of Object.entries(isObject(root.projects) ? root.projects : {})) {
      if (isObject(project)) readMap(found, seen, `#/projects/${part(folder)}/mcpServers`, project.mcpServers)
    }
    return found
  },
}

function hasMap(project: JsonValue): boolean {
  return isObject(project) && isObject(project.mcpServers) && Object.keys(project.mcpServers).length > 0
}

/** The same server in several projects is one; others of its name get a number. */
function readMap(found: Found, seen: Map<string, string>, at: string, map: JsonValue | undefined): void {
  for (const [name, entry] of Object.entries(isObject(map) ? map : {})) {
    const pointer = `${at}/${part(name)}`
    const content = JSON.stringify(entry)
    let free = name
    for (let number = 2; seen.has(free) && seen.get(free) !== content; number += 1) free = `${name}-${number}`
    if (seen.get(free) === content) continue
    seen.set(free, content)
    if (!isObject(entry)) {
      found.servers.push({ name: free, pointer, body: {}, problem: 'The entry is not an object' })
      continue
    }
    found.servers.push({ name: free, pointer, body: bodyOf(entry) })
    nameRest(found, pointer, entry, KNOWN)
  }
}

function bodyOf({ type, ...entry }: JsonObject): JsonObject {
  const known = Object.entries(entry).filter(([name]) => KNOWN.has(name))
  return { ...Object.fromEntries(known), ...(type === undefined ? {} : { type }) }
}
