import { type FieldError, HubError } from '../../contract/errors.ts'
import type { Actor, Credential, KeyScope } from '../../contract/records.ts'

type KeyCredential = Extract<Credential, { kind: 'key' }>

/** Owner, scopes and expiry of a key that is created or rotated (ISO 8601 UTC; null: until it is deleted). */
export interface KeyReach {
  readonly ownerId: string
  readonly scopes: readonly KeyScope[]
  readonly expiresAt: string | null
}

/**
 * The expiry of a new key: as wanted, but a key created with a key expires no later than that key. Adds `range` to
 * `errors` for a later one.
 */
export function boundedExpiry(actor: Actor, wanted: string | null, errors: FieldError[]): string | null {
  const maker = keyOf(actor)
  if (maker?.expiresAtMs === undefined) return wanted
  const end = new Date(maker.expiresAtMs).toISOString()
  if (wanted === null) return end
  if (Date.parse(wanted) > maker.expiresAtMs) {
    const detail = `The key that makes it ends at ${end}, and so must this one`
    errors.push({ pointer: '#/expiresAt', code: 'range', detail })
  }
  return wanted
}

/**
 * Throws `insufficient_scope` when an actor with an access key would obtain one with more scopes, a later expiry or another
 * owner: a key cannot extend the rights that its owner gave it. An administrator’s key can see other users' keys, but these give
 * access to private data of theirs.
 */
export function refuseWiderKey(actor: Actor, wanted: KeyReach): void {
  const maker = keyOf(actor)
  if (!maker) return
  if (actor.kind === 'user' && wanted.ownerId !== actor.userId) {
    throw new HubError('insufficient_scope', 'An access key cannot rotate a key of somebody else', {
      hint: 'Sign in to do this.',
    })
  }
  const wider = wanted.scopes.find(scope => !includes(maker.scopes, scope))
  if (wider !== undefined) {
    const name = typeof wider === 'string' ? `"${wider}"` : 'groupId' in wider ? 'that group' : 'that server'
    throw new HubError(
      'insufficient_scope',
      `An access key cannot make or rotate one that opens more: it lacks ${name}`,
      {
        hint: 'Sign in, or name only scopes that the key in use has.',
      },
    )
  }
  const lasts = wanted.expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(wanted.expiresAt)
  if (lasts > (maker.expiresAtMs ?? Number.POSITIVE_INFINITY)) {
    throw new HubError('insufficient_scope', 'An access key cannot make or rotate one that outlives it', {
      hint: 'Sign in to do this.',
    })
  }
}

function keyOf(actor: Actor): KeyCredential | undefined {
  return actor.kind === 'user' && actor.credential.kind === 'key' ? actor.credential : undefined
}

function includes(own: readonly KeyScope[], wanted: KeyScope): boolean {
  return own.some(scope => {
    if (typeof scope === 'string') {
      if (scope === wanted) return true
      return scope === 'api' ? wanted === 'api:read' : scope === 'mcp' && typeof wanted === 'object'
    }
    if (typeof wanted === 'string') return false
    return 'groupId' in scope
      ? 'groupId' in wanted && wanted.groupId === scope.groupId
      : 'serverId' in wanted && wanted.serverId === scope.serverId
  })
}
