import type { JsonSchema } from './json-value.ts'
import { propertiesOf, type SchemaReader } from './schema.ts'

/** Deeper parts are left out of a new value. */
const DEEPEST_NEW = 4
/** Parts of a new value. */
const MOST_PARTS = 500

/** A value to begin with: the schema's defaults, and the parts that are required and have one natural value. */
export function initialValue(reader: SchemaReader, part: unknown, depth = 0, budget = { left: MOST_PARTS }): unknown {
  if (budget.left-- <= 0) return undefined
  const { schema, kind, branches } = reader.read(part)
  if (schema.default !== undefined) return schema.default
  if (kind === 'const') return schema.const
  if (kind === 'array') return []
  if (kind === 'map') return {}
  if (kind === 'boolean') return false
  if (kind === 'choice' && depth < DEEPEST_NEW) return initialValue(reader, branches[0], depth + 1, budget)
  if (kind !== 'object') return undefined
  return depth < DEEPEST_NEW ? newObject(reader, schema, depth, budget) : {}
}

function newObject(reader: SchemaReader, schema: JsonSchema, depth: number, budget: { left: number }): unknown {
  const entries: [string, unknown][] = []
  for (const { name, schema: property, required } of propertiesOf(schema)) {
    const wanted = required || reader.read(property).schema.default !== undefined
    const value = wanted ? initialValue(reader, property, depth + 1, budget) : undefined
    if (value !== undefined) entries.push([name, value])
  }
  return Object.fromEntries(entries)
}
