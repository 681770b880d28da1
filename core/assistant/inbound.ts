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

/** How an assistant says who it is. */
export interface AssistantCredential {
  /** In the query: most platforms keep nothing but an address. */
  readonly token: string | undefined
  readonly authorization: string | null
  /** `owner~name`, for the key of all endpoints. */
  readonly endpoint: string | undefined
  /** The key of per-client limits. */
  readonly addressKey: string
}

/** What admission needs. */
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
  // Nobody guesses 256 bits: wrong credentials of others behind the same address do not keep an assistant out.
  if (served && (named === undefined || links.named(named) === served)) return Promise.resolve(served)
  return failedCredentials.counted(given.addressKey, async (): Promise<Served> => {
    // Compared at each request, whether an endpoint is named or not.
    const isApiKey = apiKey !== undefined && equalSecrets(secret, apiKey)
    // In the query only tokens of endpoints are read: the key of all must not stand in addresses.
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

/** A socket of the hub's own server for a link. One whose owner's assistants send too much is closed. */
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
