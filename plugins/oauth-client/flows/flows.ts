import type { AuthorizationServer } from 'oauth4webapi'
import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi'
import type { IssuerClient } from '../tokens/clients.ts'

/** Time for which a sign-in waits for the browser, in milliseconds. */
const FLOW_MS = 600_000
/** Time for which the outcome of a sign-in by code can be read after the end of its code, in milliseconds. */
const OUTCOME_MS = 60_000
const MOST_FLOWS = 10_000
const MOST_FLOWS_OF_USER = 50
/** Sign-ins by code of one user, for each of which the hub asks an issuer every few seconds. */
const MOST_DEVICE_FLOWS_OF_USER = 10

/** The part that is the same for every grant. */
export interface FlowPlace {
  readonly userId: string
  readonly serverId: string
  readonly server: string
  readonly issuer: AuthorizationServer
  readonly client: IssuerClient
  readonly resource: string
  readonly sendsResource: boolean
  /** Its tokens are bound to a key of the hub. */
  readonly isBound: boolean
  readonly scopes: readonly string[]
  /** The user is signed in there already, and grants it again. */
  readonly widens: boolean
}

/** The result of a sign-in; `code` and `message` of its failure. */
interface Outcome {
  readonly state: 'waiting' | 'done' | 'failed'
  readonly code?: string
  readonly message?: string
}

interface FlowState extends FlowPlace {
  readonly id: string
  readonly expiresAtMs: number
  outcome: Outcome
}

/** A sign-in whose browser comes back with a code of the issuer. */
export interface CodeFlow extends FlowState {
  readonly kind: 'code'
  readonly verifier: string
  readonly state: string
  readonly redirectUri: string
  /** Parameters beside the usual ones at the issuer's page. */
  readonly parameters: Readonly<Record<string, string>>
}

/** The answer of an issuer that gives codes to enter on another device (RFC 8628). */
export interface DeviceCode {
  readonly deviceCode: string
  readonly userCode: string
  readonly verificationUri: string
  readonly verificationUriComplete?: string
  readonly intervalMs: number
  readonly lifeMs: number
}

/** A sign-in whose code the user enters at the issuer, which the hub asks for the outcome. */
export interface DeviceFlow extends FlowState, DeviceCode {
  readonly kind: 'device'
  /** Aborted when another start takes its place, or the user signs out at the server. */
  readonly ended: AbortController
}

/** A sign-in that a user has begun. */
export type Flow = CodeFlow | DeviceFlow

/** The sign-ins under way: one for each user and server, in memory alone. */
export class Flows {
  readonly #byId = new Map<string, Flow>()

  /** Takes the place of an earlier one of the user at the server, as all of these do. It waits ten minutes. */
  begin(given: FlowPlace & Pick<CodeFlow, 'redirectUri' | 'parameters'>): CodeFlow {
    return this.#add({
      ...given,
      ...newState(FLOW_MS),
      kind: 'code',
      verifier: generateRandomCodeVerifier(),
      state: generateRandomState(),
    })
  }

  beginDevice(given: FlowPlace, code: DeviceCode): DeviceFlow {
    const own = [...this.#byId.values()].filter(
      ({ kind, userId, outcome }) => kind === 'device' && userId === given.userId && outcome.state === 'waiting',
    )
    const [oldest] = own
    if (oldest && own.length >= MOST_DEVICE_FLOWS_OF_USER) this.#remove(oldest)
    return this.#add({ ...given, ...code, ...newState(code.lifeMs), kind: 'device', ended: new AbortController() })
  }

  /** The one that waits for this state; undefined when there is none, or it was used. */
  byState(state: string): CodeFlow | undefined {
    this.#tidy()
    for (const flow of this.#byId.values())
      if (flow.kind === 'code' && flow.state === state && flow.outcome.state === 'waiting') return flow
    return undefined
  }

  byId(id: string): Flow | undefined {
    this.#tidy()
    return this.#byId.get(id)
  }

  /** The sign-ins of a user at a server end. */
  end(userId: string, serverId: string): void {
    for (const flow of this.#byId.values()) if (flow.userId === userId && flow.serverId === serverId) this.#remove(flow)
  }

  #add<F extends Flow>(flow: F): F {
    this.#tidy()
    this.end(flow.userId, flow.serverId)
    const [oldest, ...others] = [...this.#byId.values()].filter(({ userId }) => userId === flow.userId)
    if (oldest && others.length + 1 >= MOST_FLOWS_OF_USER) this.#remove(oldest)
    const [first] = this.#byId.values()
    if (first && this.#byId.size >= MOST_FLOWS) this.#remove(first)
    this.#byId.set(flow.id, flow)
    return flow
  }

  #remove(flow: Flow): void {
    this.#byId.delete(flow.id)
    if (flow.kind === 'device') flow.ended.abort()
  }

  #tidy(): void {
    const now = Date.now()
    for (const flow of this.#byId.values())
      if (flow.expiresAtMs + (flow.kind === 'device' ? OUTCOME_MS : 0) <= now) this.#remove(flow)
  }
}

function newState(lifeMs: number): Pick<FlowState, 'id' | 'expiresAtMs' | 'outcome'> {
  return { id: crypto.randomUUID(), expiresAtMs: Date.now() + lifeMs, outcome: { state: 'waiting' } }
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
export async function authorizeUrl(endpoint: string, flow: CodeFlow): Promise<string> {
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
