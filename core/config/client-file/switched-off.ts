import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { pointerPath } from '../../domain/json/json-pointer.ts'
import { type Path, sameJson } from '../jsonc-edit.ts'
import { type ConfigChange, type ConfigSyntax, UnreadableConfig } from './config-syntax.ts'

/** A member of a client's entries that switches a server off. */
export interface OffSwitch {
  readonly field: string
  readonly value: boolean
}

/** A client's file in which the servers are off that the hub has now. */
export interface SwitchedText {
  readonly text: string
  /** Names of the servers that were switched off or removed in it. */
  readonly off: readonly string[]
  /** Servers that stay as they are there, and why. */
  readonly left: readonly { readonly name: string; readonly why: string }[]
}

/** Switches that an entry may have, whatever its client: used where the entry has one already. */
const USUAL: readonly OffSwitch[] = [
  { field: 'disabled', value: true },
  { field: 'enabled', value: false },
  { field: 'isActive', value: false },
]

/** The plan of an import, and the switch that its program has for servers. */
export interface TakenOver {
  /** The program, or `hub`, `export`, or `client` for a map of servers that many programs have. */
  readonly source: string
  readonly items: readonly JsonObject[]
  readonly own: OffSwitch | undefined
}

/** The entries of another hub have this switch. */
const OF_HUBS: OffSwitch = { field: 'enabled', value: false }

/** The text without the servers that an import took over. Throws UnreadableConfig. */
export function withoutTakenOver(syntax: ConfigSyntax, text: string, { source, items, own }: TakenOver): SwitchedText {
  if (source === 'export') throw new UnreadableConfig('an export starts no servers, so none can be switched off in it')
  if (source !== 'hub') return switchedOff(syntax, text, items, own)
  // The file of this hub itself is such a file too, and all in it is there already.
  const others = items.filter(({ verdict }) => verdict !== 'same')
  return switchedOff(syntax, text, others, OF_HUBS)
}

/**
 * The text without the servers that an import took over: each is switched off by the client's own switch, or by one that its
 * entry has; without such a switch its entry is removed. `items`: of the plan of an import. Throws UnreadableConfig.
 */
function switchedOff(
  syntax: ConfigSyntax,
  text: string,
  items: readonly JsonObject[],
  own: OffSwitch | undefined,
): SwitchedText {
  const value = syntax.value(text)
  const off: string[] = []
  const left: { name: string; why: string }[] = []
  const changes = new Map<string, ConfigChange>()
  for (const item of items.filter(({ kind }) => kind === 'server')) {
    const name = String(item.name)
    const why = stays(item)
    const path = placeOf(value, String(item.pointer))
    if (why !== undefined) left.push({ name, why })
    else if (path === undefined) left.push({ name, why: 'its entry has no place of its own in the file' })
    else {
      const places = [path, ...equalPlaces(value, path)].flatMap(place => withoutServer(value, place, own) ?? [])
      for (const change of places) changes.set(JSON.stringify(change.path), change)
      if (places.length > 0) off.push(name)
    }
  }
  return { text: changes.size === 0 ? text : syntax.change(text, [...changes.values()]), off, left }
}

/** Why the client keeps the server; undefined: the hub runs it. */
function stays({ verdict, body }: JsonObject): string | undefined {
  if (verdict !== 'new' && verdict !== 'replaced' && verdict !== 'same') return 'the hub did not take it over'
  return isJsonObject(body) && body.enabled === false ? 'it is switched off in the hub' : undefined
}

function placeOf(value: JsonValue, pointer: string): Path | undefined {
  const tokens = pointerPath(pointer.replace(/^#/, ''))
  if (!tokens || tokens.length < 2) return undefined
  const path: (string | number)[] = []
  let inner: JsonValue | undefined = value
  for (const token of tokens) {
    path.push(Array.isArray(inner) ? Number(token) : token)
    inner = memberOf(inner, token)
  }
  return inner === undefined ? undefined : path
}

function memberOf(value: JsonValue | undefined, token: string | number): JsonValue | undefined {
  if (Array.isArray(value)) return value[Number(token)]
  return isJsonObject(value) && Object.hasOwn(value, token) ? value[token] : undefined
}

function valueAt(value: JsonValue, path: Path): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(memberOf, value)
}

/** A client that keeps servers by project may have the same one in several: an import takes it once. */
function equalPlaces(value: JsonObject, path: Path): readonly Path[] {
  const name = path.at(-1)
  const entry = valueAt(value, path)
  if (typeof name !== 'string' || path.at(-2) !== 'mcpServers' || !isJsonObject(value.projects)) return []
  const places = Object.keys(value.projects).map(folder => ['projects', folder, 'mcpServers', name])
  return places.filter(place => {
    const other = valueAt(value, place)
    return other !== undefined && sameJson(other, entry) && place.join('\0') !== path.join('\0')
  })
}

/** The change that switches an entry off; undefined: it is off. */
function withoutServer(value: JsonObject, path: Path, own: OffSwitch | undefined): ConfigChange | undefined {
  const entry = valueAt(value, path)
  const known = isJsonObject(entry) ? (own ?? USUAL.find(({ field }) => typeof entry[field] === 'boolean')) : undefined
  if (!isJsonObject(entry) || known === undefined) return { path, value: undefined }
  return entry[known.field] === known.value ? undefined : { path: [...path, known.field], value: known.value }
}
