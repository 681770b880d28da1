import type { ErrorCode, FieldCode } from '../../core/contract/errors.ts'

/** Codes that are not answered yet, and the part that will. A code that core or a plugin uses must not be here. */
export const TO_COME: Partial<Record<ErrorCode | FieldCode, string>> = {
  size: 'the rotation of logs among the settings of monitoring',
}

/** Codes whose state a test cannot cause from outside, and the reason. */
export const OUT_OF_REACH: Partial<Record<ErrorCode | FieldCode, string>> = {
  quota_sessions: 'idle sessions make room; other limits let one user keep no more than 356 busy',
}

/**
 * Codes that tests of one part assert, with their files, since a whole hub reaches the state only by chance or on another
 * database.
 */
export const BELOW_THE_HUB: Partial<Record<ErrorCode | FieldCode, string>> = {
  // In the detail of a delivery, not in the code of an answer.
  delivery_failed: 'test/plugins/alert-chat.test.ts',
  // Error of a WebSocket that ends; it is in the state of its endpoint or server until the next attempt.
  upstream_flood: 'test/unit/outbound/websocket.test.ts',
  quarantined: 'test/unit/connections/protocol-errors.test.ts',
  upstream_tls_error: 'test/unit/outbound/tls.test.ts',
  storage_unavailable: 'test/postgres/hub.test.ts',
}
