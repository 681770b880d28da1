import type { PluginPeople } from 'patchbay/features'
import type { Plans } from './plans.ts'
import { grantSubject, keySubject } from './quota.ts'

/** Removes the quotas of a user's access keys and clients that are gone: they count for the number of quotas that one may set. */
export async function removeEnded(
  people: Pick<PluginPeople, 'keysBehind' | 'grants'>,
  plans: Pick<Plans, 'keep'>,
  userId: string,
): Promise<void> {
  const [keys, grants] = await Promise.all([people.keysBehind(userId), people.grants(userId)])
  await plans.keep(userId, 'key', new Set([...keys].map(keySubject)))
  // While the grants are not known, as when their plugin is off, those with a quota may still exist.
  if (grants) await plans.keep(userId, 'grant', new Set(grants.map(({ id }) => grantSubject(userId, id))))
}
