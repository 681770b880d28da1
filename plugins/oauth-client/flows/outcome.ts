import { HubError, type PluginContext } from 'patchbay/contract'
import type { Broker } from '../broker.ts'
import type { Credential } from '../credentials/store.ts'
import type { TokenRefusal, Tokens } from '../tokens/tokens.ts'
import type { Flow, FlowPlace } from './flows.ts'

/** Keeps the tokens of a sign-in, with which connections work from now on. */
export async function complete(
  { states }: PluginContext<unknown>,
  broker: Broker,
  flow: Flow,
  tokens: Tokens,
): Promise<Credential> {
  const { userId, serverId, resource, scopes: asked, client, issuer } = flow
  const credential = await broker.store.signedIn({ userId, serverId, resource, asked, client, issuer, tokens })
  broker.refresher.noted(credential)
  flow.outcome = { state: 'done' }
  if (flow.widens) broker.stepped(userId, serverId)
  states.credentialChanged(serverId, userId, 'gained')
  return credential
}

/** The sign-in has failed, as its page shows. */
export function fail(flow: Flow, thrown: unknown): void {
  const isKnown = thrown instanceof HubError
  flow.outcome = {
    state: 'failed',
    code: isKnown ? thrown.code : 'internal',
    ...(isKnown ? { message: thrown.message } : {}),
  }
}

/** The error for an issuer's refusal of the hub, whose registration is then made again, or of `what` it sent. */
export async function refusal(
  { error: make }: PluginContext<unknown>,
  broker: Broker,
  { issuer: { issuer }, client }: Pick<FlowPlace, 'issuer' | 'client'>,
  { error }: TokenRefusal,
  what: string,
): Promise<HubError> {
  const isClient = error === 'invalid_client' || error === 'unauthorized_client'
  if (isClient && client.kind === 'registered') await broker.clients.forget(issuer, client.id)
  const refused = `${issuer} refused ${isClient ? 'the client' : what}: ${error.slice(0, 100)}`
  return isClient ? make('client_refused', refused) : make('sign_in_denied', refused)
}
