import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { PluginSealing } from 'patchbay/features'
import type { Fail } from '../errors.ts'
import type { Asked } from './provider.ts'

const LIFE_MS = 10 * 60_000
const PURPOSE = 'flow'
/** Most characters of a path to come back to. */
const MOST_PATH = 512

/** A sign-in at a provider that has begun. */
export interface Flow extends Omit<Asked, 'state'> {
  readonly provider: string
  /** SHA-256 of the secret that the beginning browser keeps, base64url. */
  readonly keyHash: string
  readonly expiresAtMs: number
  /** The user who links an account. */
  readonly linking?: string
  readonly returnTo?: string
}

/**
 * Sign-ins under way are sealed into `state`, so that nothing is kept for somebody who does not come back. A browser proves by
 * `key` that it began one: without it, a link that somebody sends would sign its reader in as the sender.
 */
export class Flows {
  readonly #sealing: PluginSealing
  readonly #fail: Fail

  constructor(sealing: PluginSealing, fail: Fail) {
    this.#sealing = sealing
    this.#fail = fail
  }

  begin(given: Pick<Flow, 'provider' | 'keyHash' | 'redirectUri' | 'linking' | 'returnTo'>): Asked {
    const [nonce, verifier] = [randomBytes(16).toString('base64url'), randomBytes(32).toString('base64url')]
    const flow: Flow = { ...given, nonce, verifier, expiresAtMs: Date.now() + LIFE_MS }
    const state = this.#sealing.token(PURPOSE, new TextEncoder().encode(JSON.stringify(flow)))
    return { state, nonce, verifier, redirectUri: given.redirectUri }
  }

  /** Throws `sign_in_foreign` for one of another browser, provider or hub, and for one that is too old. */
  open(parameters: URLSearchParams, provider: string, key: string): Flow & Asked {
    const [state, ...more] = parameters.getAll('state')
    const bytes = state === undefined || more.length > 0 ? undefined : this.#sealing.openToken(PURPOSE, state)
    const flow = bytes && (JSON.parse(new TextDecoder().decode(bytes)) as Flow)
    const isOwn = flow && sameText(flow.keyHash, createHash('sha256').update(key).digest('base64url'))
    if (!isOwn || flow.provider !== provider || flow.expiresAtMs <= Date.now())
      throw this.#fail('sign_in_foreign', 'This sign-in was begun in another browser, or more than ten minutes ago')
    return { ...flow, state: state as string }
  }
}

/** A path of the console, or undefined for anything that could lead elsewhere. */
export function ownPath(path: string | undefined): string | undefined {
  if (path === undefined || path.length > MOST_PATH) return undefined
  return /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path) ? path : undefined
}

function sameText(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}
