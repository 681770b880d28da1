import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import { cutShort } from '../../../domain/cut-short.ts'
import { asDouble, isPlainObject } from '../../../domain/json/exact-json.ts'
import type { ListKind } from '../../protocol.ts'

/** The part of a value that can stay in a list: all of it if valid, less if not, undefined for nothing. */
type Keep = (value: JsonValue) => JsonValue | undefined

/** An item that was read, or the reason why it is left out. */
export type ReadItem =
  | {
      readonly item: JsonObject
      /** Members that were removed, added or rewritten; empty: the item is as the upstream wrote it. */
      readonly normalized: readonly string[]
    }
  /** Why it cannot be listed. */
  | { readonly objection: string }

const text: Keep = value => (typeof value === 'string' ? value : undefined)
const flag: Keep = value => (typeof value === 'boolean' ? value : undefined)
const size: Keep = value => (asDouble(value) === undefined ? undefined : value)
const object: Keep = value => (isPlainObject(value) ? value : undefined)
const priority: Keep = value => {
  const number = asDouble(value)
  return number !== undefined && number >= 0 && number <= 1 ? value : undefined
}
/** RFC 3339, with the offset that MCP requires. */
const time: Keep = value =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d.*(?:Z|[+-]\d\d:\d\d)$/.test(value) &&
  !Number.isNaN(Date.parse(value))
    ? value
    : undefined

function oneOf(...known: readonly string[]): Keep {
  return value => (typeof value === 'string' && known.includes(value) ? value : undefined)
}

function listOf(keep: Keep): Keep {
  return value => {
    if (!Array.isArray(value)) return undefined
    const kept = value.flatMap(item => keep(item) ?? [])
    return kept.length === value.length && kept.every((item, at) => item === value[at]) ? value : kept
  }
}

/** Members without a rule stay as they are; without one of `needed` the whole object is dropped. */
function shape(rules: Readonly<Record<string, Keep>>, needed: readonly string[] = []): Keep {
  return value => {
    if (!isPlainObject(value)) return undefined
    const { item } = mend(value, rules)
    return needed.every(name => item[name] !== undefined) ? item : undefined
  }
}

function mend(
  item: JsonObject,
  rules: Readonly<Record<string, Keep>>,
): { readonly item: JsonObject; readonly normalized: string[] } {
  const normalized: string[] = []
  const kept: JsonObject = { ...item }
  for (const [name, keep] of Object.entries(rules)) {
    const value = item[name]
    if (value === undefined) continue
    const stays = keep(value)
    if (stays === value) continue
    normalized.push(name)
    if (stays === undefined) delete kept[name]
    else kept[name] = stays
  }
  return normalized.length === 0 ? { item, normalized } : { item: kept, normalized }
}

/** JSON Schema lets a schema be true or false; MCP clients expect an object for each property of a tool. */
const properties: Keep = value => {
  if (!isPlainObject(value)) return undefined
  const all = Object.entries(value)
  if (all.every(([, schema]) => isPlainObject(schema))) return value
  const written = all.flatMap(([name, schema]): [string, JsonValue][] =>
    isPlainObject(schema)
      ? [[name, schema]]
      : schema === true
        ? [[name, {}]]
        : schema === false
          ? [[name, { not: {} }]]
          : [],
  )
  return Object.fromEntries(written)
}

const objectSchema = shape({ properties, required: listOf(text) })

/** Normalizes what many servers write for a tool without arguments to the one form that clients accept. */
const inputSchema: Keep = value => {
  if (value === null || value === true) return { type: 'object' }
  if (!isPlainObject(value)) return undefined
  const { type } = value
  if (type === 'object') return objectSchema(value)
  const either = type === undefined || type === null || (Array.isArray(type) && type.includes('object'))
  return either ? objectSchema({ ...value, type: 'object' }) : undefined
}

/** From 2026-07-28 on its root may be of any type; legacy clients only get schemas of type object. */
const outputSchema: Keep = value =>
  isPlainObject(value) && value.type === 'object' ? objectSchema(value) : object(value)

const ICONS = listOf(shape({ src: text, mimeType: text, sizes: listOf(text), theme: oneOf('light', 'dark') }, ['src']))
const COMMON = { title: text, description: text, icons: ICONS, _meta: object }
const annotations = shape({ audience: listOf(oneOf('user', 'assistant')), priority, lastModified: time })
const ARGUMENTS = listOf(shape({ name: text, title: text, description: text, required: flag }, ['name']))

const RULES: Readonly<Record<ListKind, Readonly<Record<string, Keep>>>> = {
  tools: {
    ...COMMON,
    inputSchema,
    outputSchema,
    annotations: shape({
      title: text,
      readOnlyHint: flag,
      destructiveHint: flag,
      idempotentHint: flag,
      openWorldHint: flag,
    }),
    execution: shape({ taskSupport: oneOf('required', 'optional', 'forbidden') }),
  },
  prompts: { ...COMMON, arguments: ARGUMENTS },
  resources: { ...COMMON, mimeType: text, size, annotations },
  resourceTemplates: { ...COMMON, mimeType: text, annotations },
}

/**
 * Normalizes one item of a list so that every client can read it. Most clients validate a list as a whole: one invalid
 * item would make all other servers of its group unusable. Optional members that are invalid are removed; a tool
 * without an object as input schema is rejected.
 */
export function readItem(kind: ListKind, item: JsonObject): ReadItem {
  const found = mend(
    kind === 'tools' && item.inputSchema === undefined ? { ...item, inputSchema: null } : item,
    RULES[kind],
  )
  if (kind === 'tools') {
    if (found.item.inputSchema !== undefined) return found
    return {
      objection: `the tool "${cutShort(String(item.name), 128)}" is left out: its "inputSchema" describes no object`,
    }
  }
  const address = kind === 'resources' ? item.uri : item.uriTemplate
  if (kind === 'prompts' || typeof item.name === 'string' || address === undefined) return found
  return { item: { ...found.item, name: address }, normalized: [...found.normalized, 'name'] }
}
