import type { PluginContext } from 'patchbay/contract'
import type { ExternalAccounts } from 'patchbay/plugins/oauth-server'
import { accountKey } from './providers/identities.ts'
import type { ProviderDeps } from './providers/provider-routes.ts'

/** The linked accounts, for tokens that their issuers gave to clients. */
export function externalAccounts(
  { signIns, audit }: Pick<PluginContext<unknown>, 'signIns' | 'audit'>,
  { identities, providers, turns }: Pick<ProviderDeps, 'identities' | 'providers' | 'turns'>,
): ExternalAccounts {
  /** The provider by which people sign in with such an account, else the host of its issuer. */
  const providerOf = (issuer: string): string =>
    [...providers.values()].find(provider => provider.issuer === issuer)?.config.id ?? new URL(issuer).host

  const find: ExternalAccounts['find'] = async account => (await identities.find(account))?.user_id
  return {
    find,
    // One after the other: of two tokens at once, only the first one may make a user.
    create: (account, name) =>
      turns.take(accountKey(account), async () => {
        const found = await find(account)
        if (found !== undefined) return found
        const provider = providerOf(account.issuer)
        const whole = { ...account, name, email: undefined }
        const made = await signIns.create(name, ({ id }) => identities.link(id, provider, whole))
        audit({ kind: 'system', purpose: 'sign-in' }, 'identity_linked', `${made.name} (${provider})`, made.id)
        return made.id
      }),
    onUnlinked: listener => identities.onUnlinked(listener),
  }
}
