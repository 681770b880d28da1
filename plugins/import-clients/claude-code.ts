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
    const seen: Seen = { contents: new Map(), next: new Map() }
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

interface Seen {
  /** The entry of each name that is taken. */
  readonly contents: Map<string, string>
  /** By name: the next number to try, so that not every number is tried again, and the entries that have one. */
  readonly next: Map<string, { number: number; readonly entries: Set<string> }>
}

/** The same server in several projects is one; others of its name get a number. */
function readMap(found: Found, seen: Seen, at: string, map: JsonValue | undefined): void {
  for (const [name, entry] of Object.entries(isObject(map) ? map : {})) {
    const pointer = `${at}/${part(name)}`
    const content = JSON.stringify(entry)
    const free = freeName(seen, name, content)
    if (free === undefined) continue
    if (!isObject(entry)) {
      found.servers.push({ name: free, pointer, body: {}, problem: 'The entry is not an object' })
      continue
    }
    found.servers.push({ name: free, pointer, body: bodyOf(entry) })
    nameRest(found, pointer, entry, KNOWN)
  }
}

/** Undefined for what has a name already. */
function freeName({ contents, next }: Seen, name: string, content: string): string | undefined {
  const others = next.get(name) ?? { number: 2, entries: new Set() }
  next.set(name, others)
  if (contents.get(name) === content || others.entries.has(content)) return undefined
  let free = name
  for (; contents.has(free); others.number += 1) free = `${name}-${others.number}`
  contents.set(free, content)
  others.entries.add(content)
  return free
}

function bodyOf({ type, ...entry }: JsonObject): JsonObject {
  const known = Object.entries(entry).filter(([name]) => KNOWN.has(name))
  return { ...Object.fromEntries(known), ...(type === undefined ? {} : { type }) }
}
