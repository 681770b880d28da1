import type { GrantScope } from 'patchbay/contract'
import type { PluginSealing } from 'patchbay/features'
import type { Fail } from './errors.ts'
import { resourceAt, SCOPES } from './site.ts'

const LIFE_MS = 600_000
const PURPOSE = 'authorization request'
const LONGEST: Readonly<Record<string, number>> = { client_id: 2_048, redirect_uri: 512, state: 2_048, resource: 2_048 }
const LONGEST_OTHER = 512

/** A request for access that has the right form, of a client that nobody has looked at. */
export interface AuthorizationRequest {
  readonly id: string
  readonly clientId: string
  readonly redirectUri: string
  readonly state: string | undefined
  readonly challenge: string
  readonly resource: string
  readonly scopes: readonly GrantScope[]
  /** Address of the hub at which it came in. */
  readonly base: string
  readonly expiresAtMs: number
}

/** Reads the query of `/authorize`. Throws `authorization_invalid` with what is wrong. */
export function readRequest(search: string, base: string, fail: Fail): AuthorizationRequest {
  const wrong = (message: string) => fail('authorization_invalid', message)
  const query = new URLSearchParams(search)
  const one = (name: string): string | undefined => {
    const values = query.getAll(name)
    if (values.length > 1) throw wrong(`The parameter "${name}" is there ${values.length} times`)
    const [value] = values
    if (value !== undefined && value.length > (LONGEST[name] ?? LONGEST_OTHER))
      throw wrong(`The parameter "${name}" is too long`)
    return value === '' ? undefined : value
  }
  for (const name of new Set(query.keys())) one(name.slice(0, 64))
  const needed = (name: string): string => {
    const value = one(name)
    if (value === undefined) throw wrong(`The parameter "${name}" is missing`)
    return value
  }
  if (needed('response_type') !== 'code') throw wrong('The response type is not "code"')
  if ((one('response_mode') ?? 'query') !== 'query') throw wrong('The response mode is not "query"')
  if (query.has('request') || query.has('request_uri')) throw wrong('Requests as objects are not taken')
  const challenge = needed('code_challenge')
  if (one('code_challenge_method') !== 'S256') throw wrong('The code challenge method is not "S256"')
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) throw wrong('The code challenge has not 43 characters of base64url')
  const resource = resourceAt(base, one('resource'))
  if (resource === undefined) throw wrong(`The resource is no address below ${base}/mcp`)
  const scopes = scopesAsked(one('scope'))
  if (scopes.length === 0) throw wrong(`The scope has none of ${SCOPES.join(', ')}`)
  return {
    ...{ id: crypto.randomUUID(), clientId: needed('client_id'), redirectUri: needed('redirect_uri') },
    ...{ state: one('state'), challenge, resource, scopes, base, expiresAtMs: Date.now() + LIFE_MS },
  }
}

/** Known scopes of those asked for; without any, all that the hub has. Others are ignored (RFC 6749, section 3.3). */
function scopesAsked(text: string | undefined): readonly GrantScope[] {
  const asked = (text ?? '').split(' ').filter(scope => scope !== '' && scope !== 'offline_access')
  return asked.length === 0 ? SCOPES : SCOPES.filter(scope => asked.includes(scope))
}

/** Keeps requests without a place: they travel sealed through the browser. */
export class SealedRequests {
  readonly #sealing: Pick<PluginSealing, 'token' | 'openToken'>
  readonly #fail: Fail

  constructor(sealing: Pick<PluginSealing, 'token' | 'openToken'>, fail: Fail) {
    this.#sealing = sealing
    this.#fail = fail
  }

  seal(request: AuthorizationRequest): string {
    return this.#sealing.token(PURPOSE, Buffer.from(JSON.stringify(request)))
  }

  /** Throws `flow_unknown` for a text that this hub has not sealed at this address, or more than ten minutes ago. */
  open(text: string, base: string): AuthorizationRequest {
    const bytes = this.#sealing.openToken(PURPOSE, text)
    const request = bytes && (JSON.parse(Buffer.from(bytes).toString()) as AuthorizationRequest)
    if (!request || request.expiresAtMs <= Date.now())
      throw this.#fail('flow_unknown', 'The request is not one of this hub, or more than ten minutes old')
    if (request.base !== base)
      throw this.#fail('flow_unknown', `The request came in at ${request.base}: open the console at that address`)
    return request
  }
}
