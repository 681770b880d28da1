import type { SessionBinding } from '../../connections/api.ts'
import { MODERN_VERSION } from '../../domain/era.ts'
import { OLDER_CONNECTION, type Side, userConnection } from '../../domain/session-scope.ts'

/** Of connections that several share: they offer nothing, as nobody could say whom a question is for. */
const SHARED = { capabilities: {}, protocolVersion: MODERN_VERSION } as const

/** What a connection is told that all calls of one user share. */
export function userBinding(userId: string, side?: Side): SessionBinding {
  return { id: userConnection(userId, side), userId, kind: 'user', ...SHARED }
}

/** What the connection is told that all share who meet a server's older face. */
export const OLDER_BINDING: SessionBinding = { id: OLDER_CONNECTION, userId: '', kind: 'face', ...SHARED }
