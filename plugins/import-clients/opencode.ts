import type { JsonObject, JsonValue } from 'patchbay/contract'
import type { ImportSource } from 'patchbay/features'
import { type Found, isObject, nameRest, part, texts } from './fields.ts'
import { ToolRules } from './tool-rules.ts'

const KNOWN = new Set(['type', 'command', 'environment', 'cwd', 'url', 'headers', 'enabled', 'timeout', '$schema'])

/** `opencode.json`: the map `mcp`, with a command as one list, and switches of tools for all servers together. */
export const opencode: ImportSource = {
  label: 'opencode',
  places: [{ path: '~/.config/opencode/opencode.json' }, { path: 'opencode.json' }],
  off: { field: 'enabled', value: false },
  reads: document => isObject(document) && isObject(document.mcp) && Object.values(document.mcp).some(isEntry),
  read(document) {
    const found: Found = { servers: [], notCarried: [] }
    const root = isObject(document) ? document : {}
    const switches = readSwitches(root)
    const rules = new ToolRules(switches.rules)
    const patterns = new Map<string, string[]>()
    for (const [name, entry] of Object.entries(isObject(root.mcp) ? root.mcp : {})) {
      const pointer = `#/mcp/${part(name)}`
      if (!isEntry(entry)) {
        found.servers.push({ name, pointer, body: {}, problem: 'The entry is neither "local" nor "remote"' })
        continue
      }
      const serverRules = rules.of(`${name.replaceAll(/[^A-Za-z0-9_-]/g, '_')}_`)
      found.servers.push({ name, pointer, body: { ...bodyOf(entry), ...serverRules.lists } })
      for (const rule of serverRules.patterns)
        patterns.set(rule, [...(patterns.get(rule) ?? []).slice(0, MOST_NAMES), name])
      nameRest(found, pointer, entry, KNOWN)
    }
    for (const [rule, names] of patterns) namePattern(found, switches, rule, names)
    nameAgents(found, root)
    return found
  },
}

/** Servers that are named for one pattern. */
const MOST_NAMES = 5

interface Switches {
  readonly rules: Map<string, boolean>
  /** The place of each rule. */
  readonly places: Map<string, string>
}

/** `tools` has true and false; `permission`, which came after it and counts before it, has words. */
function readSwitches(root: JsonObject): Switches {
  const switches: Switches = { rules: new Map(), places: new Map() }
  for (const [field, map] of Object.entries({ tools: root.tools, permission: root.permission })) {
    for (const [rule, value] of Object.entries(isObject(map) ? map : {})) {
      const isOn = typeof value === 'boolean' ? value : value !== 'deny'
      if (typeof value !== 'boolean' && typeof value !== 'string') continue
      switches.rules.set(rule, isOn)
      switches.places.set(rule, `#/${field}/${part(rule)}`)
    }
  }
  return switches
}

function namePattern(found: Found, { rules, places }: Switches, rule: string, names: readonly string[]): void {
  const shown = names.slice(0, MOST_NAMES).map(name => JSON.stringify(name.slice(0, 64)))
  found.notCarried.push({
    pointer: places.get(rule) ?? '#/tools',
    what: `the tools of ${shown.join(', ')} by the pattern ${JSON.stringify(rule.slice(0, 64))}, which are ${rules.get(rule) ? 'on' : 'off'} there`,
    instead: 'Tools are known here by their whole names: switch them in the server once it has listed them.',
  })
}

/** Agents and modes have switches of their own. */
function nameAgents(found: Found, root: JsonObject): void {
  for (const field of ['agent', 'mode']) {
    const map = root[field]
    for (const [name, agent] of Object.entries(isObject(map) ? map : {})) {
      if (!isObject(agent) || !(isObject(agent.tools) || isObject(agent.permission))) continue
      found.notCarried.push({
        pointer: `#/${field}/${part(name)}/${isObject(agent.tools) ? 'tools' : 'permission'}`,
        what: `the tools of the ${field} "${name.slice(0, 64)}"`,
        instead: 'Make a group with the tools that it may use.',
      })
    }
  }
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
