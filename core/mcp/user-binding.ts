import type { SessionBinding } from '../connections/api.ts'
import { MODERN_VERSION } from '../domain/era.ts'
import { userConnection } from '../domain/session-scope.ts'

/** What a connection is told that all calls of one user share: it offers nothing, as nobody could say whom a question is for. */
export function userBinding(userId: string): SessionBinding {
  return { id: userConnection(userId), userId, kind: 'user', capabilities: {}, protocolVersion: MODERN_VERSION }
}
