import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { ServerSettings } from '../../contract/records.ts'
import type { Reader } from '../../store/transact.ts'
import type { Owner } from '../owners.ts'

type Weight = Pick<ServerSettings, 'transport' | 'enabled'>

/**
 * Checks that the owner may have this server, which may replace another one. Throws `quota_servers` beyond the limit of servers,
 * or of an ordinary user's enabled commands. Administrators have no limit of commands.
 */
export async function checkServerQuota(
  db: Reader,
  owner: Owner,
  settings: Weight,
  replaced: (Weight & { readonly ownerId: string }) | undefined,
): Promise<void> {
  const before = replaced?.ownerId === owner.id ? replaced : undefined
  if (!before) await checkCount(db, owner)
  if (owner.role !== 'admin' && runs(settings) && !(before && runs(before))) await checkRunning(db, owner)
}

function runs({ transport, enabled }: Weight): boolean {
  return transport === 'stdio' && enabled
}

async function checkCount(db: Reader, owner: Owner): Promise<void> {
  if ((await countServers(db, owner)) < LIMITS.serversPerUser) return
  throw new HubError('quota_servers', `A user may own ${LIMITS.serversPerUser} servers, and ${owner.name} does`)
}

async function checkRunning(db: Reader, owner: Owner): Promise<void> {
  if ((await countServers(db, owner, { transport: 'stdio', enabled: 1 })) < LIMITS.liveStdioPerUser) return
  const message = `A user may have ${LIMITS.liveStdioPerUser} commands switched on, and ${owner.name} has`
  throw new HubError('quota_servers', message, { hint: 'Switch one of them off first, or save this one switched off.' })
}

async function countServers(
  db: Reader,
  owner: Owner,
  which: { transport?: string; enabled?: 1 } = {},
): Promise<number> {
  let query = db
    .selectFrom('server')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('owner_id', '=', owner.id)
  if (which.transport !== undefined) query = query.where('transport', '=', which.transport)
  if (which.enabled !== undefined) query = query.where('enabled', '=', which.enabled)
  return Number((await query.executeTakeFirstOrThrow()).count)
}
