import type { PluginContext } from 'patchbay/contract'
import { CLIENT_ROUTE } from '../client-route.ts'
import type { OAuthServerConfig } from '../config.ts'
import { type Fail, OAuthError, oauthAnswer } from '../errors.ts'
import type { ExternalAccounts } from '../types.ts'
import { IssuerKeys } from './keys.ts'
import { ExternalTokens } from './tokens.ts'

/** The verifier of tokens of the configured issuers. */
export function externalTokens(context: PluginContext<OAuthServerConfig>, fail: Fail): ExternalTokens {
  const unreachable = (message: string, cause: unknown) => fail('issuer_unreachable', message, { cause })
  let watched: ExternalAccounts | undefined
  let stop = (): void => undefined
  const tokens: ExternalTokens = new ExternalTokens({
    issuers: context.config.issuers.map(config => ({
      config,
      keys: new IssuerKeys(config.issuer, context.fetch, unreachable),
    })),
    people: context.people,
    accounts() {
      const [accounts] = context.contributions('externalAccounts').values()
      if (accounts !== watched) {
        stop()
        watched = accounts
        stop = accounts?.onUnlinked(account => tokens.unlinked(account)) ?? (() => undefined)
      }
      return accounts
    },
    unknown: message => fail('identity_unknown', message),
  })
  context.signal.addEventListener('abort', () => stop())
  return tokens
}

/** Adds refusals in the place of the hub's own sign-in, which name the issuers. */
export function addElsewhere({ routes, config }: PluginContext<OAuthServerConfig>): void {
  const named = config.issuers.map(({ issuer }) => issuer).join(', ')
  for (const [method, path] of [
    ['GET', '/authorize'],
    ['POST', '/token'],
    ['POST', '/revoke'],
    ['POST', '/register'],
  ] as const)
    routes.add({
      ...{ ...CLIENT_ROUTE, method, path },
      summary: 'Nothing: clients sign in at the external issuers',
      answers: { 404: oauthAnswer('invalid_request', 'The issuers are at other addresses') },
      handle: () => new OAuthError('invalid_request', `Clients of this hub sign in at ${named}`, 404).answer,
    })
}
