import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { ServerRecord } from '../../contract/records.ts'

/** A process of one session of a user. */
export interface SessionProcess {
  /** True where it only finds out whether the server asks. */
  readonly isTrial: boolean
}

/** Limits one user's processes at one server, since sessions start processes by default. Throws `quota_servers`. */
export function checkProcesses(
  { name, ownerId }: Pick<ServerRecord, 'name' | 'ownerId'>,
  userId: string,
  wanted: SessionProcess,
  others: readonly SessionProcess[],
): void {
  const foreign = userId !== ownerId
  const most = foreign ? LIMITS.foreignProcessesPerUserAndServer : LIMITS.ownProcessesPerUserAndServer
  const trials = foreign && wanted.isTrial ? others.filter(({ isTrial }) => isTrial).length : 0
  if (others.length >= most) throw tooMany(name, `${most} sessions of this user have a process of it`)
  const mostTrials = LIMITS.trialProcessesPerUserAndServer
  if (trials >= mostTrials) throw tooMany(name, `${mostTrials} sessions of this user find out whether it asks`)
}

function tooMany(name: string, why: string): HubError {
  const message = `Cannot start "${name}" for one more session: ${why}, the most that may`
  return new HubError('quota_servers', message, { hint: 'End a session of another client.' })
}
