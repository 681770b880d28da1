import { createHash } from 'node:crypto'
import type { PluginSealing } from 'patchbay/features'

/** Encodes and decodes opaque texts that only this hub can create. */
export type CursorSealer = Pick<PluginSealing, 'token' | 'openToken'>

const PURPOSE = 'cursor'

/** A place in the results of one search by one user; `query` is everything that the search depends on. */
export function sealCursor(sealer: CursorSealer, userId: string, query: unknown, id: number): string {
  return sealer.token(PURPOSE, new TextEncoder().encode(`${hashOf(userId, query)} ${id}`))
}

/** Returns the id of the record after which the search continues; undefined for the cursor of another user or search. */
export function openCursor(sealer: CursorSealer, userId: string, query: unknown, cursor: string): number | undefined {
  const bytes = sealer.openToken(PURPOSE, cursor)
  if (!bytes) return undefined
  const [hash, id] = new TextDecoder().decode(bytes).split(' ')
  return hash === hashOf(userId, query) ? Number(id) : undefined
}

function hashOf(userId: string, query: unknown): string {
  return createHash('sha256').update(userId).update(JSON.stringify(query)).digest('base64url')
}
