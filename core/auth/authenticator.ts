import { LRUCache } from 'lru-cache'
import { HubError } from '../contract/errors.ts'
import type { Credential, KeyScope, UserActor } from '../contract/records.ts'
import type { EventBus } from '../events/bus.ts'
import type { KeyRecord, Registry } from '../registry/api.ts'
import { SharedCache } from '../transport-kit/shared-cache.ts'
import { hashAccessKey, isAccessKey, looksLikeAccessKey, mayBeAdoptedKey } from './access-keys.ts'
import type { Authenticator, CredentialSource, TokenAudience } from './api.ts'
import { credentialOf, wellFormed } from './credentials.ts'
import type { FailedCredentials } from './failed-credentials.ts'
import type { Revocations } from './revocations.ts'
import type { SecondFactors } from './second-factors.ts'
import type { SignIns } from './sign-ins.ts'
import { TokenVerifiers } from './token-verifiers.ts'
import { TOKEN_LEEWAY_MS, type Tokens } from './tokens.ts'

const KEEP_MS = 30_000
const MAX_KEPT = 10_000
/** Number of attempts to verify a credential whose rights change during the verification. */
const ATTEMPTS = 3

/** Dependencies for reading credentials and rights. */
export interface AuthenticatorDeps {
  readonly tokens: Pick<Tokens, 'verify'>
  readonly revocations: Pick<Revocations, 'isRevoked'>
  readonly signIns: Pick<SignIns, 'used' | 'isOpen'>
  readonly registry: {
    readonly users: Pick<Registry['users'], 'byId'>
    readonly keys: Pick<Registry['keys'], 'byHash' | 'touch'>
  }
  readonly bus: Pick<EventBus, 'on'>
  readonly failedCredentials: FailedCredentials
  /** Default: none. */
  readonly verifiers?: TokenVerifiers
  /** Default: nobody must have a second factor. */
  readonly secondFactors?: Pick<SecondFactors, 'isRequired' | 'takesPassword'>
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number
}

/** A verified credential and how long it is cached. */
interface Verified {
  readonly actor: UserActor
  /** The same user at an address without administration; always one object, since streams and sessions are keyed by it. */
  restricted?: UserActor
  /** Null for an access key: a password change does not end it. */
  readonly epoch: number | null
  readonly keyHash: string | null
  mustChangePassword: boolean
  readonly hasSecondFactor: boolean
  untilMs: number
  /** The number of the last change of anybody's rights when this was verified. */
  change: number
}

/**
 * Resolves credentials to actors. Verified credentials are cached for 30 s, at most 10,000 of them (beyond that the user with
 * most of them loses the oldest), and dropped at once
 * when an event reports a change of the user, key or token. Failures are not cached but counted per address before any
 * look-up; credentials that were verified before or `expect`ed are not subject to that limit. `dispose` stops
 * listening.
 */
export function createAuthenticator(deps: AuthenticatorDeps): Authenticator & {
  /** Exempts a session token that the hub has just issued from the address's limit on its first use. */
  expect(token: string): void
  dispose(): void
} {
  const { tokens, revocations, signIns, registry, bus, failedCredentials, now = Date.now } = deps
  const { verifiers = new TokenVerifiers(), secondFactors } = deps
  const kept = new SharedCache<string, Verified>({ maxSize: MAX_KEPT })
  const expected = new LRUCache<string, true>({ max: MAX_KEPT })
  const pending = new Map<string, Promise<Verified>>()
  const known = new WeakMap<UserActor, Verified>()
  let changes = 0

  const drop = (matches: (actor: UserActor) => boolean): void => {
    changes += 1
    // Verifications under way may have read the old row: later requests must not share them.
    pending.clear()
    for (const [header, { value }] of kept.entries()) if (matches(value.actor)) kept.delete(header)
  }
  const stopListening = [
    bus.on('user.updated', ({ data }) => drop(actor => actor.userId === data.userId)),
    bus.on('user.removed', ({ data }) => drop(actor => actor.userId === data.userId)),
    bus.on('key.removed', ({ data }) => drop(({ credential: c }) => c.kind === 'key' && c.keyId === data.keyId)),
    bus.on('token.revoked', ({ data }) =>
      drop(({ credential: c }) => c.kind === 'session' && c.familyId === data.familyId),
    ),
  ]

  /** A look-up counts as a use by the credential's user. */
  const lookUp = (header: string): Verified | undefined => {
    const hit = kept.peek(header)
    if (!hit) return undefined
    if (verifiers.isOpen(hit.actor.credential)) return kept.get(hit.actor.userId, header)
    kept.delete(header)
    return undefined
  }

  /** Verifies, again when rights changed meanwhile, and then caches the outcome. */
  const settle = async (header: string, credential: string): Promise<Verified> => {
    for (let attempt = 1; ; attempt += 1) {
      const change = changes
      const verified = await verify(credential, change)
      if (change === changes) kept.set(verified.actor.userId, header, verified)
      else if (attempt < ATTEMPTS) continue
      return verified
    }
  }

  const verifyOnce = (header: string, credential: string, { addressKey }: CredentialSource): Promise<Verified> => {
    const running = pending.get(header)
    if (running !== undefined) return running
    const check = () => settle(header, credential)
    const known = kept.has(header) || expected.has(credential)
    const started = (known ? check() : failedCredentials.counted(addressKey, check)).finally(() => {
      // The credential is now cached or known to be wrong.
      expected.delete(credential)
      if (pending.get(header) === started) pending.delete(header)
    })
    pending.set(header, started)
    return started
  }

  const verify = async (credential: string, change: number): Promise<Verified> => {
    const found = await find(credential)
    const user = await registry.users.byId(found.userId)
    if (!user || user.disabled || (found.epoch !== null && found.epoch !== user.tokenEpoch)) throw revoked()
    const verified: Verified = {
      actor: { kind: 'user', userId: user.id, name: user.name, role: user.role, credential: found.credential },
      epoch: found.epoch,
      keyHash: found.keyHash,
      mustChangePassword: user.mustChangePassword,
      hasSecondFactor: user.secondFactor !== null,
      untilMs: Math.min(now() + KEEP_MS, endMs(found.credential)),
      change,
    }
    known.set(verified.actor, verified)
    return verified
  }

  const find = async (credential: string) => {
    if (looksLikeAccessKey(credential)) return byKey(credential)
    const keyHash = hashAccessKey(credential)
    const adopted = mayBeAdoptedKey(credential) ? await registry.keys.byHash(keyHash) : undefined
    return adopted ? usedKey(adopted, keyHash) : byToken(credential)
  }

  const byToken = async (token: string) => {
    const verified = await tokens.verify(token).catch(async (error: unknown) => {
      const found = await verifiers.verify(token)
      if (found) return found
      throw error
    })
    if ('credential' in verified) return { ...verified, keyHash: null }
    const { userId, epoch, ...claims } = verified
    if (await revocations.isRevoked(claims.familyId)) throw revoked()
    signIns.used(claims.familyId)
    const credential: Credential = { kind: 'session', ...claims }
    return { userId, credential, epoch, keyHash: null }
  }

  const byKey = async (secret: string) => {
    if (!isAccessKey(secret)) throw new HubError('token_invalid', 'The access key is not in the form of one')
    const keyHash = hashAccessKey(secret)
    const key = await registry.keys.byHash(keyHash)
    // Deleted keys leave no trace, so a key that never existed gets the same answer.
    if (!key) throw new HubError('token_revoked', 'There is no such access key any more', { hint: 'Make a new one.' })
    return usedKey(key, keyHash)
  }

  const usedKey = (key: KeyRecord, keyHash: string) => {
    const expiresAtMs = key.expiresAt === undefined ? undefined : Date.parse(key.expiresAt)
    if (expiresAtMs !== undefined && expiresAtMs <= now()) {
      throw new HubError('token_expired', 'The access key has expired', { hint: 'Make a new one.' })
    }
    registry.keys.touch(key.id)
    const credential: Credential = {
      kind: 'key',
      keyId: key.id,
      label: key.label,
      scopes: key.scopes,
      ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
      ...(key.makers ? { makers: key.makers } : {}),
    }
    return { userId: key.ownerId, credential, epoch: null, keyHash }
  }

  const isWithdrawn = async (credential: Credential, keyHash: string | null): Promise<boolean> => {
    if (credential.kind === 'session') return revocations.isRevoked(credential.familyId)
    if (credential.kind === 'grant') return !(await verifiers.isInForce(credential))
    return keyHash !== null && !isUnchanged(await registry.keys.byHash(keyHash), credential)
  }

  /** Reads the rows again for a credential that was verified before. */
  const isStillValid = async (verified: Verified): Promise<boolean> => {
    const change = changes
    const { actor, epoch, keyHash } = verified
    const { credential } = actor
    if (now() >= endMs(credential) || !verifiers.isOpen(credential)) return false
    if (await isWithdrawn(credential, keyHash)) return false
    const user = await registry.users.byId(actor.userId)
    if (!user || user.disabled || user.role !== actor.role) return false
    if (epoch !== null && epoch !== user.tokenEpoch) return false
    verified.untilMs = Math.min(now() + KEEP_MS, endMs(credential))
    verified.change = change
    return true
  }

  /** See `Authenticator.continues`, without the account. */
  const originContinues = async (credential: Credential, keyHash: string | null): Promise<boolean> => {
    switch (credential.kind) {
      case 'local':
        return true
      case 'grant':
        return verifiers.isInForce(credential)
      case 'session':
        if (await revocations.isRevoked(credential.familyId)) return false
        return now() < endMs(credential) || signIns.isOpen(credential.familyId)
      case 'key': {
        const key = keyHash === null ? undefined : await registry.keys.byHash(keyHash)
        return key !== undefined && (key.expiresAt === undefined || now() < Date.parse(key.expiresAt))
      }
    }
  }

  /** The actor of a valid credential at this address. */
  const actorAt = (verified: Verified, { mayAdminister }: CredentialSource): UserActor => {
    if (verified.actor.role !== 'admin' || mayAdminister) return verified.actor
    if (!verified.restricted) {
      verified.restricted = { ...verified.actor, role: 'user', restricted: true }
      known.set(verified.restricted, verified)
    }
    return verified.restricted
  }

  const admit = (
    verified: Verified,
    audience: TokenAudience,
    method: string,
    beforePasswordChange: boolean,
    beforeSecondFactor: boolean,
  ): void => {
    const mayKeep = beforePasswordChange || secondFactors?.takesPassword(verified.actor.role) === false
    admitCredential(verified, audience, method, mayKeep)
    if (beforeSecondFactor || verified.hasSecondFactor || !secondFactors?.isRequired(verified.actor.role)) return
    throw new HubError('second_factor_required', 'Users must have a second factor here, and this one has none')
  }

  return {
    authenticate(headers, audience, method, source, beforePasswordChange = false, beforeSecondFactor = false) {
      const authorization = headers.get('authorization')
      const authToken = audience === 'mcp' ? null : headers.get('x-auth-token')
      if (authorization !== null && authToken === null) {
        const hit = lookUp(authorization)
        if (hit && hit.untilMs > now()) {
          admit(hit, audience, method, beforePasswordChange, beforeSecondFactor)
          return actorAt(hit, source)
        }
      }
      const credential = credentialOf(authorization, authToken)
      const header = authorization ?? `Bearer ${credential}`
      return verifyOnce(header, credential, source).then(found => {
        admit(found, audience, method, beforePasswordChange, beforeSecondFactor)
        return actorAt(found, source)
      })
    },

    async authenticateToken(token, audience, method, source) {
      const header = `Bearer ${wellFormed(token)}`
      const hit = lookUp(header)
      const found = hit && hit.untilMs > now() ? hit : await verifyOnce(header, token, source)
      admit(found, audience, method, false, false)
      return actorAt(found, source)
    },

    expect(token) {
      expected.set(token, true)
    },

    stillValid(actor) {
      const verified = known.get(actor)
      if (verified) {
        const isOpen = verifiers.isOpen(actor.credential)
        if (isOpen && verified.change === changes && verified.untilMs > now()) return true
        return isStillValid(verified)
      }
      // An actor that was not made here (the command line's own): its user must still match it.
      return registry.users.byId(actor.userId).then(user => !!user && !user.disabled && user.role === actor.role)
    },

    async continues(actor) {
      const { epoch = null, keyHash = null } = known.get(actor) ?? {}
      const user = await registry.users.byId(actor.userId)
      if (!user || user.disabled || (epoch !== null && epoch !== user.tokenEpoch)) return false
      return originContinues(actor.credential, keyHash)
    },

    dispose() {
      for (const stop of stopListening) stop()
      kept.clear()
    },
  }
}

/** True when a key exists with an unchanged end: a key that was rotated with an overlap ends earlier, and is verified again. */
function isUnchanged(key: KeyRecord | undefined, credential: Credential): boolean {
  if (!key || credential.kind !== 'key') return false
  return (key.expiresAt === undefined ? undefined : Date.parse(key.expiresAt)) === credential.expiresAtMs
}

/** Applies the rules that depend on the request to a valid credential. */
function admitCredential(
  { actor, mustChangePassword }: Verified,
  audience: TokenAudience,
  method: string,
  beforePasswordChange: boolean,
): void {
  const { credential } = actor
  if (credential.kind === 'grant' && audience !== 'mcp') {
    throw new HubError('token_wrong_audience', 'The token was made for a path under /mcp, and opens nothing else')
  }
  if (audience === 'api' && credential.kind === 'key' && !opensApi(credential.scopes, method)) {
    throw new HubError('insufficient_scope', `This access key does not open the API for ${method}`, {
      hint: 'Use a key with scope "api", or "api:read" for reading.',
    })
  }
  if (mustChangePassword && !beforePasswordChange) {
    throw new HubError('password_change_required', 'The password was set by an administrator and must be changed first')
  }
}

function opensApi(scopes: readonly KeyScope[], method: string): boolean {
  if (scopes.includes('api')) return true
  return scopes.includes('api:read') && (method === 'GET' || method === 'HEAD')
}

/** When a credential ends by itself, in milliseconds since 1970. */
function endMs(credential: Credential): number {
  if (credential.kind === 'session') return credential.expiresAtMs + TOKEN_LEEWAY_MS
  return credential.kind !== 'local' && credential.expiresAtMs !== undefined
    ? credential.expiresAtMs
    : Number.POSITIVE_INFINITY
}

function revoked(): HubError {
  return new HubError('token_revoked', 'The credential was withdrawn', { hint: 'Sign in again.' })
}
