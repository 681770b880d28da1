import type { PluginContext, UserActor } from 'patchbay/contract'
import type { SignInRequest } from 'patchbay/features'
import { z } from 'zod'
import type { Factors } from './factors.ts'
import { newRecoveryCodes } from './recovery-codes.ts'
import { session } from './sign-in-routes.ts'
import type { Tables } from './tables.ts'

/** Recovery codes, as an example. */
export const RECOVERY = ['k2ff-7qpa-3nzs-x4ud']

/** The answer to a factor that is set. */
export const factorSet = {
  description: 'Set. With the first factor also ten recovery codes, shown this once, and a new session',
  schema: z.object({ recoveryCodes: z.array(z.string()).optional(), session: session.optional() }),
  example: { recoveryCodes: RECOVERY },
}

/** Removes what is left of factors that an administrator has taken away, before a new one is set. */
export async function removeRemains(
  { people }: Pick<PluginContext<unknown>, 'people'>,
  factors: Factors,
  userId: string,
): Promise<void> {
  if (!(await people.byId(userId))?.secondFactor) await factors.removeAll(userId)
}

/** Ends the setting of a factor, whose row is stored. With the first one all sign-ins of the user end. */
export async function factorIsSet(
  { people, signIns, ...context }: Pick<PluginContext<unknown>, 'people' | 'signIns' | 'audit'>,
  tables: Tables,
  actor: UserActor,
  request: SignInRequest,
): Promise<{ readonly body: z.infer<typeof factorSet.schema> }> {
  context.audit(actor, 'factor_added', actor.name, actor.userId)
  if ((await people.byId(actor.userId))?.secondFactor) return { body: {} }
  const recoveryCodes = [...(await newRecoveryCodes(tables, actor.userId))]
  // Last: a factor is asked for only when all of it is stored.
  await signIns.setSecondFactor(actor.userId, true, true)
  const opened = await signIns.open(actor.userId, 'second factor set', request)
  return { body: { recoveryCodes, session: opened as z.infer<typeof session> } }
}
