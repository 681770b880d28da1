import type { AuthenticatorTransport } from '@simplewebauthn/server'
import type { HubError } from 'patchbay/contract'
import type { Person, PluginPeople } from 'patchbay/features'
import type { Fail } from '../errors.ts'
import type { PasskeyRow } from '../tables.ts'
import type { Tries } from '../tries.ts'
import { challengeOf, type NewPasskey, type PasskeyAnswer } from './answers.ts'
import type { Challenges, Use } from './challenges.ts'
import { loadLibrary } from './library.ts'
import { type Place, placeOf } from './place.ts'
import type { MadePasskey, Passkeys } from './stored.ts'

/** EdDSA, ES256 and RS256, which all authenticators between them can. */
const ALGORITHMS = [-8, -7, -257]

/** Parts that check passkeys. */
export interface CheckParts {
  readonly passkeys: Passkeys
  readonly challenges: Challenges
  readonly people: PluginPeople
  readonly tries: Tries
  readonly fail: Fail
  /** Notes an answer that is refused. */
  failed(user: Person): void
}

/** A question to a passkey. */
export interface Asked {
  readonly use: Use
  readonly place: Place
  /** As in the challenge. */
  readonly of?: string
  /** The one user whose passkeys count; absent: the passkey says who signs in. */
  readonly owner?: string
}

/** Asks for passkeys, and checks them: made for this place, by a person whom the device has recognised. */
export class PasskeyChecks {
  readonly #parts: CheckParts

  constructor(parts: CheckParts) {
    this.#parts = parts
  }

  /** Throws `passkeys_unavailable`. */
  place(baseUrl: string): Place {
    const place = placeOf(baseUrl)
    if (place) return place
    const { host } = new URL(baseUrl)
    throw this.#parts.fail(
      'passkeys_unavailable',
      `Browsers make passkeys for a host name with https, or for localhost, and "${host}" is not such an address`,
    )
  }

  /** Options for a new passkey, as `PublicKeyCredential.parseCreationOptionsFromJSON` reads them. */
  async newOptions({ userId, name }: { readonly userId: string; readonly name: string }, place: Place) {
    const { passkeys, challenges } = this.#parts
    const { generateRegistrationOptions } = await loadLibrary()
    const present = await passkeys.list(userId, place.host)
    return generateRegistrationOptions({
      ...{ rpName: place.host, rpID: place.host, userName: name, userDisplayName: name, attestationType: 'none' },
      userID: new TextEncoder().encode(userId),
      challenge: Buffer.from(challenges.make('set', place, userId), 'base64url'),
      excludeCredentials: present.map(described),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      supportedAlgorithmIDs: ALGORITHMS,
      timeout: 300_000,
    })
  }

  /** Throws `second_factor_ended` and `passkey_refused`. */
  async made(userId: string, place: Place, given: NewPasskey): Promise<MadePasskey> {
    const { challenges } = this.#parts
    const expectedChallenge = challengeOf(given.response.clientDataJSON)
    if (expectedChallenge === undefined) throw this.#refused()
    const challenge = challenges.open(expectedChallenge, 'set', userId)
    if (challenge.host !== place.host || challenge.origin !== place.origin) throw this.#refused()
    challenges.take(challenge)
    const { verifyRegistrationResponse, decodeAttestationObject } = await loadLibrary()
    const { id, response } = given
    const read = async () => {
      const attestation = decodeAttestationObject(Buffer.from(response.attestationObject, 'base64url'))
      // Other statements have certificates, which the library would look up at addresses that they name.
      const format = attestation.get('fmt')
      const isBare = format === 'none' || (format === 'packed' && !attestation.get('attStmt').get('x5c'))
      if (!isBare) throw new Error('The passkey has an attestation, which was not asked for')
      return verifyRegistrationResponse({
        response: {
          ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
          response: { clientDataJSON: response.clientDataJSON, attestationObject: response.attestationObject },
        },
        ...{ expectedChallenge, expectedOrigin: place.origin, expectedRPID: place.host },
        ...{ requireUserVerification: true, supportedAlgorithmIDs: ALGORITHMS },
      })
    }
    const { registrationInfo } = await read().catch((error: unknown) => {
      throw this.#refused(error)
    })
    if (registrationInfo?.credential.id !== id) throw this.#refused()
    const { publicKey, counter } = registrationInfo.credential
    return {
      ...{ credential_id: id, host: place.host, public_key: Buffer.from(publicKey).toString('base64url') },
      ...{ counter: String(counter), transports: JSON.stringify(response.transports ?? []) },
    }
  }

  /**
   * Options for an answer, as `PublicKeyCredential.parseRequestOptionsFromJSON` reads them. Throws `factor_not_found` for an owner
   * without a passkey of this place.
   */
  async options({ use, place, of, owner }: Asked) {
    const { passkeys, challenges, fail } = this.#parts
    const own = owner === undefined ? undefined : await passkeys.list(owner, place.host)
    if (own?.length === 0) throw fail('factor_not_found', `You have no passkey for ${place.host}`)
    const { generateAuthenticationOptions } = await loadLibrary()
    return generateAuthenticationOptions({
      ...{ rpID: place.host, userVerification: 'required', timeout: 300_000 },
      challenge: Buffer.from(challenges.make(use, place, of), 'base64url'),
      ...(own ? { allowCredentials: own.map(described) } : {}),
    })
  }

  /**
   * The user whose passkey has answered. A passkey that nobody has set and one that does not fit get the same answer. Throws
   * `second_factor_ended`, `passkey_refused` and `login_throttled`.
   */
  async check({ use, place, of, owner }: Asked, given: PasskeyAnswer): Promise<Person> {
    const { passkeys, challenges, people, tries, failed } = this.#parts
    const expectedChallenge = challengeOf(given.response.clientDataJSON)
    if (expectedChallenge === undefined) throw this.#refused()
    const challenge = challenges.open(expectedChallenge, use, of)
    const row = await passkeys.find(given.id)
    const user = row && (await people.byId(row.user_id))
    // Without the mark at the user, the row is a remainder of factors that an administrator has taken away.
    if (!row || !user || user.disabled || !user.secondFactor) throw this.#refused()
    if (owner !== undefined && user.id !== owner) throw this.#refused()
    const succeeded = tries.begin(`passkey ${user.id} ${user.epoch}`)
    challenges.take(challenge)
    const isHere = row.host === place.host && challenge.host === place.host && challenge.origin === place.origin
    const cause = isHere ? await this.#problem(row, place, expectedChallenge, given) : new Error('Of another place')
    if (cause !== undefined) {
      failed(user)
      throw this.#refused(cause)
    }
    succeeded()
    return user
  }

  /** The reason why an answer does not count; undefined for one that does, and is noted. */
  async #problem(row: PasskeyRow, place: Place, expectedChallenge: string, given: PasskeyAnswer): Promise<unknown> {
    const { clientDataJSON, authenticatorData, signature, userHandle } = given.response
    if (userHandle && Buffer.from(userHandle, 'base64url').toString() !== row.user_id)
      return new Error('Of another user')
    try {
      const { verifyAuthenticationResponse } = await loadLibrary()
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: {
          ...{ id: given.id, rawId: given.id, type: 'public-key', clientExtensionResults: {} },
          response: { clientDataJSON, authenticatorData, signature },
        },
        ...{ expectedChallenge, expectedOrigin: place.origin, expectedRPID: place.host, requireUserVerification: true },
        credential: {
          ...{ id: row.credential_id, counter: Number(row.counter) },
          publicKey: new Uint8Array(Buffer.from(row.public_key, 'base64url')),
        },
      })
      if (!verified) return new Error('The signature is wrong')
      const isNoted = await this.#parts.passkeys.used(row, authenticationInfo.newCounter)
      return isNoted ? undefined : new Error('The counter has changed meanwhile')
    } catch (error) {
      return error
    }
  }

  #refused(cause?: unknown): HubError {
    return this.#parts.fail(
      'passkey_refused',
      'The passkey is not one that is set here, or its answer is not right',
      cause,
    )
  }
}

function described({ credential_id: id, transports }: PasskeyRow) {
  return { id, transports: JSON.parse(transports) as AuthenticatorTransport[] }
}
