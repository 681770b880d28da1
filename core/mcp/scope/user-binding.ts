import type { SessionBinding } from '../../connections/api.ts'
import { MODERN_VERSION } from '../../domain/era.ts'
import { OLDER_CONNECTION, type Side, userConnection } from '../../domain/session-scope.ts'

/** For shared connections: no client capabilities, as the hub would not know which client a server request is for. */
const SHARED = { capabilities: {}, protocolVersion: MODERN_VERSION } as const

/** The binding of the connection that all calls of one user share. */
export function userBinding(userId: string, side?: Side): SessionBinding {
  return { id: userConnection(userId, side), userId, kind: 'user', ...SHARED }
}

/** The binding of the connection that all callers of a server's legacy side share. */
export const OLDER_BINDING: SessionBinding = { id: OLDER_CONNECTION, userId: '', kind: 'face', ...SHARED }
