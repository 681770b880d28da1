import { createHash } from 'node:crypto'
import type { JsonValue } from '../../../contract/json.ts'

/** Encodes and decodes opaque texts that only this hub can create. */
export interface CursorSealer {
  sealToken(purpose: string, value: JsonValue): string
  openToken(purpose: string, token: string): JsonValue | undefined
}

const PURPOSE = 'log-cursor'

/** A place in the results of one search by one user; `query` is everything that the search depends on. */
export function sealCursor(sealer: CursorSealer, userId: string, query: unknown, id: number): string {
  return sealer.sealToken(PURPOSE, `${hashOf(userId, query)} ${id}`)
}

/** Returns the id of the record after which the search continues; undefined for the cursor of another user or search. */
export function openCursor(sealer: CursorSealer, userId: string, query: unknown, cursor: string): number | undefined {
  const text = sealer.openToken(PURPOSE, cursor)
  if (typeof text !== 'string') return undefined
  const [hash, id] = text.split(' ')
  return hash === hashOf(userId, query) ? Number(id) : undefined
}

function hashOf(userId: string, query: unknown): string {
  return createHash('sha256').update(userId).update(JSON.stringify(query)).digest('base64url')
}
