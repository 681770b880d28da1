import { createHash } from 'node:crypto'
import type { JsonObject } from '../../contract/json.ts'
import { canonical } from '../json/canonical-json.ts'

/** What a caller, or its model, acts on. Icons and `_meta` may change with every list and mean nothing to it. */
const MEANING = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

/** SHA-256 (hex) of what a tool says of itself, whatever the order of its members, so that a change can be noticed. */
export function definitionHash(definition: JsonObject): string {
  const meaning = MEANING.flatMap(field => {
    const value = definition[field]
    return value === undefined ? [] : [[field, value] as const]
  })
  return createHash('sha256')
    .update(canonical(Object.fromEntries(meaning)))
    .digest('hex')
}
