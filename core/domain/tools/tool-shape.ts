import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { ArgumentOverride, ServerSettings, ToolOverride } from '../../contract/records.ts'
import { visibleName } from '../text/visible-text.ts'

/** Overrides of one tool's arguments, by name. */
export type ArgumentRules = Readonly<Record<string, ArgumentOverride>>

/**
 * The owner's override of one tool, by the key of its item or by the name as its server wrote it. A tool may be named
 * `constructor`, so only own members count.
 */
export function overrideOf<T extends ToolOverride>(overrides: Readonly<Record<string, T>>, key: string): T | undefined {
  if (Object.hasOwn(overrides, key)) return overrides[key]
  if (!key.includes('⟨U+')) return undefined
  return Object.entries(overrides).find(([name]) => visibleName(name) === key)?.[1]
}

/** True when a server offers a tool: by the tool's own override, else by `toolsDefault`. */
export function isToolOn(
  { toolsDefault }: Pick<ServerSettings, 'toolsDefault'>,
  override: Pick<ToolOverride, 'enabled'> | undefined,
): boolean {
  return override?.enabled ?? toolsDefault !== 'off'
}

/**
 * Combines the rules of a server and of a group's member; undefined if there are none. Arguments that the server's owner pinned
 * or hid stay so in every group, since a group may belong to another user; a member may override the rest.
 */
export function joinRules(
  server: ArgumentRules | undefined,
  member: ArgumentRules | undefined,
): ArgumentRules | undefined {
  if (!server || !member) return server ?? member
  const joined = new Map<string, ArgumentOverride>(Object.entries(server))
  for (const [name, rule] of Object.entries(member)) {
    const base = joined.get(name)
    joined.set(name, base === undefined ? rule : joinRule(base, rule))
  }
  return fromMap(joined)
}

function joinRule(server: ArgumentOverride, member: ArgumentOverride): ArgumentOverride {
  return server.pin !== undefined || server.hidden ? server : { ...server, ...member }
}

/**
 * The pinned arguments in which the server's variables are filled in: those written by the server's owner. A group's
 * owner could otherwise read a variable by pinning it where the server echoes its arguments.
 */
export function pinsWithVariables(
  rules: ArgumentRules | undefined,
  server: ArgumentRules | undefined,
  sameOwner: boolean,
): readonly string[] {
  return Object.entries(rules ?? {}).flatMap(([name, { pin }]) => {
    if (pin === undefined || !JSON.stringify(pin).includes('${')) return []
    const ofServer = server !== undefined && Object.hasOwn(server, name) && server[name]?.pin !== undefined
    return sameOwner || ofServer ? [name] : []
  })
}

/** Keywords whose schemas describe the same object. */
const PARTS = ['allOf', 'anyOf', 'oneOf']
const DEEPEST = 8

/** The input schema for callers: without arguments that they may not set, with the owner's defaults and descriptions. */
export function shapeSchema(schema: JsonValue | undefined, rules: ArgumentRules): JsonObject {
  return shapePart({ type: 'object', ...(isJsonObject(schema) ? schema : {}) }, rules, 0)
}

function shapePart(part: JsonObject, rules: ArgumentRules, depth: number): JsonObject {
  const shaped: JsonObject = { ...part }
  const settled = settledBy(rules)
  if (isJsonObject(part.properties)) shaped.properties = shapeProperties(part.properties, rules)
  if (Array.isArray(part.required)) {
    shaped.required = part.required.filter(name => !settled.has(String(name)))
    // Drafts before 2020-12 do not allow an empty list.
    if (shaped.required.length === 0) delete shaped.required
  }
  if (isJsonObject(part.dependentRequired)) {
    const kept = Object.entries(part.dependentRequired).flatMap(([name, needed]) => {
      const left = Array.isArray(needed) ? needed.filter(each => !settled.has(String(each))) : []
      return settled.has(name) || left.length === 0 ? [] : [[name, left] as const]
    })
    shaped.dependentRequired = fromMap(new Map<string, JsonValue>(kept))
  }
  for (const keyword of PARTS) {
    const inner = part[keyword]
    if (depth < DEEPEST && Array.isArray(inner))
      shaped[keyword] = inner.map(each => (isJsonObject(each) ? shapePart(each, rules, depth + 1) : each))
  }
  return shaped
}

/** The arguments that a caller may leave out. */
function settledBy(rules: ArgumentRules): ReadonlySet<string> {
  const found = Object.entries(rules).filter(
    ([, { pin, hidden, default: preset }]) => pin !== undefined || hidden || preset !== undefined,
  )
  return new Set(found.map(([name]) => name))
}

function shapeProperties(given: JsonObject, rules: ArgumentRules): JsonObject {
  const properties = new Map(Object.entries(given))
  for (const [name, { pin, hidden, default: preset, description }] of Object.entries(rules)) {
    const property = properties.get(name)
    if (property === undefined) continue
    if (pin !== undefined || hidden) {
      properties.delete(name)
      continue
    }
    properties.set(name, {
      ...(isJsonObject(property) ? property : {}),
      ...(preset === undefined ? {} : { default: preset }),
      ...(description === undefined ? {} : { description }),
    })
  }
  return fromMap(properties)
}

/** The arguments for the upstream: pinned values replace the caller's, and hidden arguments are removed. */
export function shapeArguments(given: JsonObject | undefined, rules: ArgumentRules): JsonObject {
  const shaped = new Map<string, JsonValue>(Object.entries(given ?? {}))
  for (const [name, { pin, hidden, default: preset }] of Object.entries(rules)) {
    if (hidden) shaped.delete(name)
    if (pin !== undefined) shaped.set(name, pin)
    else if (preset !== undefined && !shaped.has(name)) shaped.set(name, preset)
  }
  return fromMap(shaped)
}

/** The names that both lists allow. */
export function bothNames(
  a: 'all' | readonly string[] | undefined,
  b: 'all' | readonly string[] | undefined,
): 'all' | readonly string[] {
  if (a === undefined || a === 'all') return b ?? 'all'
  if (b === undefined || b === 'all') return a
  const allowed = new Set(b)
  return a.filter(name => allowed.has(name))
}

/** Uses `Object.fromEntries`, which makes own members of every name, even `__proto__`. */
function fromMap<T>(map: ReadonlyMap<string, T>): Record<string, T> {
  return Object.fromEntries(map)
}
