import type { AuthorizationServer } from 'oauth4webapi'
import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi'
import type { IssuerClient } from '../tokens/clients.ts'

/** Time for which a sign-in waits for the browser, in milliseconds. */
const FLOW_MS = 600_000
const MOST_FLOWS = 10_000
const MOST_FLOWS_OF_USER = 50

/** A sign-in that a user has begun. */
export interface Flow {
  readonly id: string
  readonly userId: string
  readonly serverId: string
  readonly server: string
  readonly verifier: string
  readonly state: string
  readonly issuer: AuthorizationServer
  readonly client: IssuerClient
  readonly redirectUri: string
  readonly resource: string
  readonly sendsResource: boolean
  /** Parameters beside the usual ones at the issuer's page. */
  readonly parameters: Readonly<Record<string, string>>
  /** Its tokens are bound to a key of the hub. */
  readonly isBound: boolean
  readonly scopes: readonly string[]
  /** The user is signed in there already, and grants it again. */
  readonly widens: boolean
  readonly expiresAtMs: number
  outcome: { readonly state: 'waiting' | 'done' | 'failed'; readonly code?: string }
}

/** The sign-ins under way: one for each user and server, in memory alone, for ten minutes. */
export class Flows {
  readonly #byId = new Map<string, Flow>()

  /** Takes the place of an earlier one of the user at the server. */
  begin(given: Omit<Flow, 'id' | 'verifier' | 'state' | 'expiresAtMs' | 'outcome'>): Flow {
    this.#tidy()
    for (const flow of this.#byId.values())
      if (flow.userId === given.userId && flow.serverId === given.serverId) this.#byId.delete(flow.id)
    const [oldest, ...others] = [...this.#byId.values()].filter(({ userId }) => userId === given.userId)
    if (oldest && others.length + 1 >= MOST_FLOWS_OF_USER) this.#byId.delete(oldest.id)
    const flow: Flow = {
      ...given,
      id: crypto.randomUUID(),
      verifier: generateRandomCodeVerifier(),
      state: generateRandomState(),
      expiresAtMs: Date.now() + FLOW_MS,
      outcome: { state: 'waiting' },
    }
    this.#byId.set(flow.id, flow)
    return flow
  }

  /** The one that waits for this state; undefined when there is none, or it was used. */
  byState(state: string): Flow | undefined {
    this.#tidy()
    return [...this.#byId.values()].find(flow => flow.state === state && flow.outcome.state === 'waiting')
  }

  byId(id: string): Flow | undefined {
    this.#tidy()
    return this.#byId.get(id)
  }

  /** The sign-ins of a user at a server end. */
  end(userId: string, serverId: string): void {
    for (const flow of this.#byId.values())
      if (flow.userId === userId && flow.serverId === serverId) this.#byId.delete(flow.id)
  }

  #tidy(): void {
    const now = Date.now()
    for (const [id, { expiresAtMs }] of this.#byId) {
      if (expiresAtMs > now && this.#byId.size < MOST_FLOWS) break
      this.#byId.delete(id)
    }
  }
}

/** Parameters by which the sign-in would be another one. */
const OWN_PARAMETERS: ReadonlySet<string> = new Set([
  ...['response_type', 'response_mode', 'client_id', 'redirect_uri', 'state', 'nonce', 'scope', 'resource'],
  ...['code_challenge', 'code_challenge_method', 'request', 'request_uri', 'dpop_jkt'],
])

/** The first of these parameters that only the hub may set. */
export function ownParameter(parameters: Readonly<Record<string, string>>): string | undefined {
  return Object.keys(parameters).find(name => OWN_PARAMETERS.has(name.trim().toLowerCase()))
}

/** The address at which the user signs in. */
export async function authorizeUrl(endpoint: string, flow: Flow): Promise<string> {
  const url = new URL(endpoint)
  const parameters = {
    response_type: 'code',
    client_id: flow.client.id,
    redirect_uri: flow.redirectUri,
    state: flow.state,
    code_challenge: await calculatePKCECodeChallenge(flow.verifier),
    code_challenge_method: 'S256',
    ...(flow.scopes.length === 0 ? {} : { scope: flow.scopes.join(' ') }),
    ...(flow.sendsResource ? { resource: flow.resource } : {}),
    // Without it some issuers give no refresh token.
    ...(flow.scopes.includes('offline_access') ? { prompt: 'consent' } : {}),
    ...flow.parameters,
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}
