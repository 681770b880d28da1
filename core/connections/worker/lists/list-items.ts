import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import { cutShort } from '../../../domain/cut-short.ts'
import { isPlainObject } from '../../../domain/json/exact-json.ts'
import type { ListKind } from '../../protocol.ts'
import { annotations, COMMON, flag, type Keep, listOf, mend, object, oneOf, shape, size, text } from './keep.ts'
import { schemaFault } from './schema-fault.ts'
import { plainSchema, withInputSchema } from './schema-forms.ts'

/** An item that was read, or the reason why it is left out. */
export type ReadItem =
  | {
      readonly item: JsonObject
      /** Members that were removed, added or rewritten; empty: the item is as the upstream wrote it. */
      readonly normalized: readonly string[]
    }
  /** Why it cannot be listed. */
  | { readonly objection: string }

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
const inputSchema: Keep = written => {
  const value = plainSchema(written)
  if (value === null || value === true) return { type: 'object' }
  if (!isPlainObject(value)) return undefined
  const { type } = value
  if (type === 'object') return objectSchema(value)
  const either = type === undefined || type === null || (Array.isArray(type) && type.includes('object'))
  return either ? objectSchema({ ...value, type: 'object' }) : undefined
}

/**
 * From 2026-07-28 on its root may be of any type; legacy clients only get schemas of type object. One that clients cannot compile is
 * removed: with it they would refuse the whole list.
 */
const outputSchema: Keep = written => {
  const value = plainSchema(written)
  const kept = isPlainObject(value) && value.type === 'object' ? objectSchema(value) : object(value)
  return isPlainObject(kept) && schemaFault(kept) === undefined ? kept : undefined
}

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
  const whole = kind === 'tools' ? withInputSchema(item) : item
  const found = mend(whole, RULES[kind])
  if (kind === 'tools') {
    if (whole !== item && !found.normalized.includes('inputSchema')) found.normalized.push('inputSchema')
    if (found.item.inputSchema !== undefined) return found
    return {
      objection: `the tool "${cutShort(String(item.name), 128)}" is left out: its "inputSchema" describes no object`,
    }
  }
  const address = kind === 'resources' ? item.uri : item.uriTemplate
  if (kind === 'prompts' || typeof item.name === 'string' || address === undefined) return found
  return { item: { ...found.item, name: address }, normalized: [...found.normalized, 'name'] }
}
