import { LIST_CAPABILITIES, listChanged } from '../../domain/mcp-methods.ts'
import { Notice } from '../rpc/notice.ts'
import { mergeCapabilities } from '../scope/capabilities.ts'
import { type InitializeParts, refuseWhileDraining } from './initialize.ts'
import type { ScopedRequest } from './scoped-request.ts'
import type { Session } from './session.ts'

/** The parts of the hub that reviving a session uses. */
export type ReviveParts = Pick<InitializeParts, 'sessions' | 'subscribers' | 'draining'>

/**
 * Revives the session of an earlier process with this id, if it is the caller's, of this path, and still open; else
 * undefined. Throws quota_sessions, storage errors, and draining: after a 404 the client would drop its session.
 */
export function revive(
  { sessions, subscribers, draining }: ReviveParts,
  id: string,
  claim: Pick<ScopedRequest, 'principal' | 'actor' | 'scope'>,
): Promise<Session | undefined> {
  refuseWhileDraining({ draining })
  const { scope } = claim
  if (!subscribers.hasSubscribers(scope)) scope.markAnnounced()
  return sessions.revive(id, claim)
}

/** Notifies a client whose session continues in a new process to read its lists again: they may have changed. */
export function notifyListsMayDiffer(session: Session): void {
  const { scope } = session
  const capabilities = mergeCapabilities(scope.resolved, scope.catalog)
  for (const list of LIST_CAPABILITIES)
    if (capabilities[list] !== undefined) session.notify(new Notice(listChanged(list)))
}
