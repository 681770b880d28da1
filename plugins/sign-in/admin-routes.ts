import type { PluginContext } from 'patchbay/contract'
import { z } from 'zod'
import type { FactorDeps } from './factor-routes.ts'

/** Adds the route with which an administrator takes away the second factors of a user who has lost them. */
export function addAdminRoutes(
  context: PluginContext<unknown>,
  { factors, turns }: Pick<FactorDeps, 'factors' | 'turns'>,
): void {
  const { routes, people, signIns } = context
  routes.add({
    ...{ method: 'DELETE', path: '/api/admin/users/{name}/factors', whole: true, access: 'admin', tag: 'users' },
    summary: 'Take away all second factors of a user, whose sign-ins end; the password stays',
    params: z.object({ name: z.string().min(1).max(256) }),
    answers: {
      200: {
        description: 'Number of factors that were there',
        schema: z.object({ removed: z.number().int() }),
        example: { removed: 1 },
      },
      403: { description: 'admin_only, reauth_required; insufficient_scope for an access key' },
      404: { description: 'user_not_found' },
    },
    async handle({ actor, params }) {
      signIns.requireProof(actor)
      const user = await people.byName(actor, params.name)
      const removed = await turns.take(user.id, async () => {
        await signIns.setSecondFactor(user.id, false, true)
        return factors.removeAll(user.id)
      })
      context.audit(actor, 'factors_removed', user.name, user.id)
      return { body: { removed } }
    },
  })
}
