import { ApiError, api, t } from 'patchbay/console'

interface Described {
  readonly id: string
  readonly type: 'public-key'
  readonly transports?: readonly AuthenticatorTransport[]
}

interface NewOptions extends Omit<PublicKeyCredentialCreationOptions, 'challenge' | 'user' | 'excludeCredentials'> {
  readonly challenge: string
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string }
  readonly excludeCredentials?: readonly Described[]
}

interface AskOptions extends Omit<PublicKeyCredentialRequestOptions, 'challenge' | 'allowCredentials'> {
  readonly challenge: string
  readonly allowCredentials?: readonly Described[]
}

/** True where the browser has passkeys: over https and on this machine. */
export function hasPasskeys(): boolean {
  return globalThis.isSecureContext && 'PublicKeyCredential' in globalThis
}

/** Has the browser make a passkey. Throws ApiError. */
export async function makePasskey(): Promise<object> {
  const { options } = await api.post<{ readonly options: NewOptions }>('/api/auth/factors/passkeys/options')
  const { challenge, user, excludeCredentials = [], ...rest } = options
  const publicKey: PublicKeyCredentialCreationOptions = {
    ...rest,
    challenge: bytesOf(challenge),
    user: { ...user, id: bytesOf(user.id) },
    excludeCredentials: excludeCredentials.map(described),
  }
  const made = await asked(() => navigator.credentials.create({ publicKey }))
  const response = made.response as AuthenticatorAttestationResponse
  return {
    id: made.id,
    response: {
      clientDataJSON: textOf(response.clientDataJSON),
      attestationObject: textOf(response.attestationObject),
      transports: response.getTransports(),
    },
  }
}

/** Has the browser ask for a passkey. `about`: the ticket of a sign-in, or `reauth`. Throws ApiError. */
export async function askPasskey(about: { readonly ticket?: string; readonly reauth?: true }): Promise<object> {
  const answer = await api.post<{ readonly options: AskOptions }>('/api/auth/passkeys/options', { body: about })
  const { challenge, allowCredentials, ...rest } = answer.options
  const publicKey: PublicKeyCredentialRequestOptions = {
    ...rest,
    challenge: bytesOf(challenge),
    ...(allowCredentials ? { allowCredentials: allowCredentials.map(described) } : {}),
  }
  const given = await asked(() => navigator.credentials.get({ publicKey }))
  const { clientDataJSON, authenticatorData, signature, userHandle } = given.response as AuthenticatorAssertionResponse
  return {
    id: given.id,
    response: {
      ...{ clientDataJSON: textOf(clientDataJSON), authenticatorData: textOf(authenticatorData) },
      ...{ signature: textOf(signature), userHandle: userHandle && textOf(userHandle) },
    },
  }
}

/** Browsers say as little of a failure as they can: only that the person did not agree, or that the device has no such passkey. */
async function asked(act: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  try {
    const found = await act()
    if (found) return found as PublicKeyCredential
  } catch (error) {
    if (error instanceof DOMException && error.name === 'InvalidStateError')
      throw new ApiError(0, { code: 'passkey_exists', title: t('This device has a passkey for the hub already.') })
  }
  throw new ApiError(0, { code: 'passkey_not_given', title: t('The browser has given no passkey. Try again.') })
}

function described({ id, type, transports }: Described): PublicKeyCredentialDescriptor {
  return { id: bytesOf(id), type, ...(transports ? { transports: [...transports] } : {}) }
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), character => character.charCodeAt(0))
}

function textOf(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
