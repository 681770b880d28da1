import type { PluginContext } from 'patchbay/contract'
import { z } from 'zod'
import type { IdentityRow } from '../tables.ts'
import type { Ways } from '../ways.ts'
import type { ProviderDeps } from './provider-routes.ts'

const identity = z.object({
  id: z.string(),
  provider: z.string(),
  email: z.string().nullable(),
  createdAt: z.string(),
  lastUsedAt: z.string().nullable(),
})

/** Adds the routes of the accounts that one has linked. */
export function addIdentities(
  context: PluginContext<unknown>,
  { identities, turns, teams, ways }: Pick<ProviderDeps, 'identities' | 'turns' | 'teams'> & { readonly ways: Ways },
): void {
  const { routes, signIns } = context
  const common = { whole: true, access: 'user', tag: 'sign-in' } as const
  routes.add({
    ...common,
    ...{ method: 'GET', path: '/api/auth/identities' },
    summary: 'The accounts at providers that you have linked',
    answers: {
      200: {
        description: 'They',
        schema: z.object({ items: z.array(identity) }),
        example: {
          items: [
            {
              ...{ id: '6f0d1f0e-9d0b-4d6f-8f6a-0c7c8f7e1a11', provider: 'company', email: 'ada@company.example' },
              ...{ createdAt: '2026-11-21T09:30:00.000Z', lastUsedAt: null },
            },
          ],
        },
      },
    },
    async handle({ actor }) {
      const items = await identities.list(actor.userId)
      return {
        body: {
          items: items.map(({ id, provider, email, created_at: createdAt, last_used_at: lastUsedAt }) => ({
            ...{ id, provider, email, createdAt, lastUsedAt },
          })),
        },
      }
    },
  })

  routes.add({
    ...common,
    ...{ method: 'DELETE', path: '/api/auth/identities/{id}' },
    summary: 'Unlink an account; the last way to sign in stays',
    params: z.object({ id: z.string().min(1).max(64) }),
    answers: {
      204: { description: 'Unlinked' },
      403: { description: 'reauth_required; insufficient_scope for an access key' },
      404: { description: 'identity_not_found' },
      409: { description: 'last_sign_in' },
    },
    async handle({ actor, params, baseUrl }) {
      signIns.requireProof(actor)
      // In turn with the removal of passkeys: of the last two ways in that go at once, one stays.
      const { provider, issuer } = await turns.take(actor.userId, async () => {
        const mayBeLast = await ways.remainsWithoutAccounts(actor.userId, baseUrl)
        const opens = (row: IdentityRow) => ways.opens(row)
        return identities.unlink(actor.userId, params.id, { mayBeLast, opens })
      })
      await teams.unlinked(actor.userId, { provider, issuer })
      context.audit(actor, 'identity_unlinked', `${actor.name} (${provider})`, actor.userId)
      return { status: 204 }
    },
  })
}
