import type { JsonObject, JsonValue } from 'patchbay/contract'
import type { ImportSource } from 'patchbay/features'
import { type Found, isObject, nameRest, part, texts } from './fields.ts'

const KNOWN = new Set(['type', 'command', 'args', 'env', 'url', 'headers', 'timeout'])

/** `~/.claude.json` of Claude Code: `mcpServers` of the user and of each project, and settings with rules for tools beside servers. */
export const claudeCode: ImportSource = {
  label: 'Claude Code',
  places: [{ path: '~/.claude.json' }, { path: '.mcp.json' }],
  reads: document =>
    isObject(document) &&
    ((isObject(document.projects) && Object.values(document.projects).some(hasMap)) ||
      (isObject(document.permissions) && hasMap(document))),
  read(document) {
    const found: Found = { servers: [], notCarried: [] }
    const root = isObject(document) ? document : {}
    const seen: Seen = { contents: new Map(), next: new Map() }
    const permissions = isObject(root.permissions) ? root.permissions : {}
    const denied = mcpRules(permissions.deny)
    readMap(found, seen, '#/mcpServers', root.mcpServers, { off: new Set(), denied })
    for (const list of ['allow', 'ask']) nameApprovals(found, `#/permissions/${list}`, permissions[list])
    for (const [folder, project] of Object.entries(isObject(root.projects) ? root.projects : {})) {
      if (!isObject(project)) continue
      const at = `#/projects/${part(folder)}`
      const own = isObject(project.mcpServers) ? project.mcpServers : {}
      const off = new Set(texts(project.disabledMcpServers) ?? [])
      readMap(found, seen, `${at}/mcpServers`, own, { off, denied })
      nameDisabled(
        found,
        `${at}/disabledMcpServers`,
        [...off].filter(name => !Object.hasOwn(own, name)),
      )
      nameApprovals(found, `${at}/allowedTools`, project.allowedTools)
    }
    return found
  },
}

function hasMap(project: JsonValue): boolean {
  return isObject(project) && isObject(project.mcpServers) && Object.keys(project.mcpServers).length > 0
}

/** The file's settings of servers beside their entries. */
interface Said {
  readonly off: ReadonlySet<string>
  readonly denied: readonly string[]
}

/** Rules for tools of servers: `mcp__server`, `mcp__server__tool`, `mcp__server__*`. */
function mcpRules(list: JsonValue | undefined): string[] {
  return (texts(list) ?? []).filter(rule => rule.startsWith('mcp__'))
}

/** Tools of a server, and patterns of these, that the client never calls: as names of its own. */
function deniedOf(name: string, rules: readonly string[]): string[] {
  const server = `mcp__${name.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`
  return rules.flatMap(rule => {
    if (rule === server || rule === 'mcp__*') return ['*']
    return rule.startsWith(`${server}__`) ? [rule.slice(server.length + 2)] : []
  })
}

function nameApprovals(found: Found, pointer: string, list: JsonValue | undefined): void {
  const count = mcpRules(list).length
  if (count === 0) return
  const what = `${count} rules by which the client calls tools with or without asking`
  found.notCarried.push({
    pointer,
    what,
    instead: 'The client goes on asking by them; their names there are those of this hub.',
  })
}

function nameDisabled(found: Found, pointer: string, names: readonly string[]): void {
  if (names.length === 0) return
  const shown = names.slice(0, 5).map(name => JSON.stringify(name.slice(0, 64)))
  const what = `${shown.join(', ')} switched off in one project`
  found.notCarried.push({ pointer, what, instead: 'Make a group without it for that project.' })
}

interface Seen {
  /** The entry of each name that is taken. */
  readonly contents: Map<string, string>
  /** By name: the next number to try, so that not every number is tried again, and the entries that have one. */
  readonly next: Map<string, { number: number; readonly entries: Set<string> }>
}

/** The same server in several projects is one; others of its name get a number. */
function readMap(found: Found, seen: Seen, at: string, map: JsonValue | undefined, said: Said): void {
  for (const [name, entry] of Object.entries(isObject(map) ? map : {})) {
    const pointer = `${at}/${part(name)}`
    const isOff = said.off.has(name)
    const content = JSON.stringify([entry, isOff])
    const free = freeName(seen, name, content)
    if (free === undefined) continue
    if (!isObject(entry)) {
      found.servers.push({ name: free, pointer, body: {}, problem: 'The entry is not an object' })
      continue
    }
    const denied = deniedOf(name, said.denied)
    const more = { ...(isOff ? { enabled: false } : {}), ...(denied.length === 0 ? {} : { excludeTools: denied }) }
    found.servers.push({ name: free, pointer, body: { ...bodyOf(entry), ...more } })
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
