import type { PluginContext } from 'patchbay/contract'
import type { ExternalAccounts } from 'patchbay/plugins/oauth-server'
import { groupsClaim } from './providers/groups.ts'
import { accountKey } from './providers/identities.ts'
import type { ProviderDeps } from './providers/provider-routes.ts'

/** The linked accounts, for tokens that their issuers gave to clients. */
export function externalAccounts(
  { signIns, audit }: Pick<PluginContext<unknown>, 'signIns' | 'audit'>,
  { identities, teams, turns }: Pick<ProviderDeps, 'identities' | 'teams' | 'turns'>,
): ExternalAccounts {
  /** The provider by which people sign in with such an account, else the host of its issuer. */
  const providerOf = (issuer: string): string => {
    const provider = teams.providerOf(issuer)
    return provider === issuer ? new URL(issuer).host : provider
  }

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
    async setTeams(userId, issuer, name, claims) {
      if (typeof claims.iat !== 'number') return
      await teams.set(userId, teams.providerOf(issuer), groupsClaim(name, claims), claims.iat)
    },
    providerOf: issuer => teams.providerOf(issuer),
    onUnlinked: listener => identities.onUnlinked(listener),
  }
}
