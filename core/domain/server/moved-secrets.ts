import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { Actor } from '../../contract/records.ts'
import { pointerToken } from '../json/json-pointer.ts'
import { validationError } from '../validation-error.ts'
import { isSecretName } from './secrets.ts'

/** Longest age of a sign-in that may move stored secrets, in milliseconds. */
const RECENT_SIGN_IN_MS = 5 * 60_000

/** A change that keeps stored secrets, which its sender gave by their masks. */
export interface KeptSecrets {
  /** JSON Pointers into the body, with `#`. */
  readonly kept: readonly string[]
  /** True when the secrets would be sent elsewhere: to another address, program or owner. */
  readonly moved: boolean
  /** True when the actor owns them. */
  readonly isOwn: boolean
}

/**
 * The rule for every stored secret that a change would send to another place: its owner may do that with a sign-in of the last
 * five minutes, as for an export of secrets. With an access key, with an older sign-in, or by another user, each secret must be
 * entered again. `nowMs`: Unix time. Throws `validation_failed` with `secret_required` for each.
 */
export function refuseMovedSecrets(actor: Actor, { kept, moved, isOwn }: KeptSecrets, nowMs: number): void {
  if (!moved || kept.length === 0) return
  const why = isOwn ? notRecent(actor, nowMs) : 'somebody else than its owner makes the change'
  if (why === undefined) return
  const instead = isOwn ? ', or save it within five minutes of a sign-in' : ''
  const detail = `The secret would go to another place, and ${why}: enter the secret again${instead}`
  throw validationError(
    kept.map(pointer => ({ pointer, code: 'secret_required' as const, detail })),
    'The secrets must be entered again',
  )
}

/** True when the actor signed in within the last five minutes; false for an access key. */
export function hasRecentSignIn(actor: Actor, nowMs: number): boolean {
  if (actor.kind === 'system' || actor.credential.kind === 'local') return true
  return actor.credential.kind === 'session' && nowMs - actor.credential.signedInAtMs <= RECENT_SIGN_IN_MS
}

function notRecent(actor: Actor, nowMs: number): string | undefined {
  if (hasRecentSignIn(actor, nowMs)) return undefined
  const isKey = actor.kind === 'user' && actor.credential.kind === 'key'
  return isKey ? 'an access key was sent instead of a session token' : 'the sign-in is older than five minutes'
}

const ADDRESS_NAME = /url|uri|host|endpoint|address|server|proxy|port|domain|gateway/i

/** True when a field of this name and value may determine a destination. */
export function looksLikeAddress(name: string, value: JsonValue): boolean {
  return ADDRESS_NAME.test(name) || (typeof value === 'string' && value.includes('://'))
}

/** Returns every field with an address in a configuration of unknown shape, as a text to compare. */
export function addressesIn(config: JsonObject): string {
  const found: string[] = []
  const visit = (value: JsonValue, names: readonly string[]): void => {
    if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value)) visit(one, [...names, name])
      return
    }
    const isUrl = typeof value === 'string' && value.includes('://')
    const isAddress = isUrl || names.some(name => looksLikeAddress(name, null) && !isSecretName(name))
    if (isAddress) found.push(`${names.map(pointerToken).join('/')}=${JSON.stringify(value)}`)
  }
  visit(config, [])
  return found.sort().join('\n')
}
