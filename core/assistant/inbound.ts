import { credentialOf, wellFormed } from '../auth/credentials.ts'
import type { FailedCredentials } from '../auth/failed-credentials.ts'
import { HubError } from '../contract/errors.ts'
import type { BridgeSocketEvents } from '../features/bridge.ts'
import type { Socket, SocketHandler } from '../request/request-info.ts'
import { equalSecrets } from '../secrets/equal-secrets.ts'
import { hashToken } from './endpoint.ts'
import type { FrameAllowance } from './frame-allowance.ts'
import type { Links, Served } from './links.ts'

const TOO_MUCH = 1008

/** Credential of an assistant. */
export interface AssistantCredential {
  /** In the query: most platforms keep nothing but an address. */
  readonly token: string | undefined
  readonly authorization: string | null
  /** `owner~name`, for the key of all endpoints. */
  readonly endpoint: string | undefined
  /** The key of per-client limits. */
  readonly addressKey: string
}

/** Dependencies of admission. */
export interface AdmissionDeps {
  readonly links: Links
  readonly failedCredentials: FailedCredentials
  /** ASSISTANT_API_KEY. */
  readonly apiKey: string | undefined
}

/**
 * The endpoint to which an assistant belongs. Throws `unauthenticated`, `credentials_conflict`, `token_invalid` for what opens
 * nothing, and `rate_limited` for an address that sent too many such.
 */
export function admit(
  { links, failedCredentials, apiKey }: AdmissionDeps,
  given: AssistantCredential,
): Promise<Served> {
  const secret = secretOf(given)
  const named = given.endpoint
  const served = links.byToken(hashToken(secret))
  // A secret of 256 bits cannot be guessed: failed credentials from the same address must not block a correct one.
  if (served && (named === undefined || links.named(named) === served)) return Promise.resolve(served)
  return failedCredentials.counted(given.addressKey, async (): Promise<Served> => {
    // Compared for each request, whether or not an endpoint is named, so that the duration reveals nothing.
    const isApiKey = apiKey !== undefined && equalSecrets(secret, apiKey)
    // Only tokens of endpoints may be in the query: the API key of all endpoints must not be in addresses.
    const byKey = isApiKey && given.token === undefined && named !== undefined ? links.named(named) : undefined
    if (byKey) return byKey
    throw new HubError('token_invalid', 'The credential opens no assistant endpoint that is on', {
      hint: 'Use the token of an inbound endpoint, or ASSISTANT_API_KEY with ?endpoint=owner~name.',
    })
  })
}

function secretOf({ token, authorization }: AssistantCredential): string {
  if (token === undefined) return credentialOf(authorization, null)
  if (authorization !== null && credentialOf(authorization, null) !== token)
    throw new HubError('credentials_conflict', '"Authorization" and "token" hold different credentials')
  return wellFormed(token)
}

/** Handler of an incoming socket for a link. The socket is closed if the owner's assistants exceed their allowance. */
export function acceptSocket({ link, setting }: Served, allowance: FrameAllowance): SocketHandler {
  let events: BridgeSocketEvents | undefined
  return {
    open(socket: Socket) {
      events = link.accept({
        send: text => socket.send(text),
        ping: () => socket.ping(),
        close: (code, reason) => socket.close(code, reason),
      })
    },
    message(socket, text) {
      if (!allowance.take(setting.owner.id, text.length)) return socket.close(TOO_MUCH, 'too many messages')
      events?.alive()
      events?.message(text)
    },
    pong: () => events?.alive(),
    drain() {},
    close: (_socket, code) => events?.closed(code),
  }
}
