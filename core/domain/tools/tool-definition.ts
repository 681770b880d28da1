import { createHash } from 'node:crypto'
import type { JsonObject } from '../../contract/json.ts'
import { canonical } from '../json/canonical-json.ts'

/** Fields that a caller or its model acts on. Icons and `_meta` may change with every list and are ignored. */
const MEANING = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

/** SHA-256 (hex) of a tool's definition, independent of the order of its members, for detecting changes. */
export function definitionHash(definition: JsonObject): string {
  const meaning = MEANING.flatMap(field => {
    const value = definition[field]
    return value === undefined ? [] : [[field, value] as const]
  })
  return createHash('sha256')
    .update(canonical(Object.fromEntries(meaning)))
    .digest('hex')
}
