import type { ErrorCode, FieldCode } from '../../core/contract/errors.ts'

/** Codes that nothing answers yet, and the part that will. One that core or a plugin names has no place here any more. */
export const TO_COME: Partial<Record<ErrorCode | FieldCode, string>> = {
  size: 'the rotation of logs among the settings of monitoring',
}

/** Codes whose state no test can bring about from outside, and why. */
export const OUT_OF_REACH: Partial<Record<ErrorCode | FieldCode, string>> = {
  quota_sessions: 'idle sessions make room; other limits let one user keep no more than 356 busy',
}

/** Codes that tests of one part assert, in this file, since a whole hub comes there only by chance or on another database. */
export const BELOW_THE_HUB: Partial<Record<ErrorCode | FieldCode, string>> = {
  // In the detail of a delivery, which is no code of an answer.
  delivery_failed: 'test/plugins/alert-chat.test.ts',
  // Of a WebSocket that ends; the state of its endpoint or server has it until the next attempt.
  upstream_flood: 'test/unit/outbound/websocket.test.ts',
  quarantined: 'test/unit/connections/protocol-errors.test.ts',
  upstream_tls_error: 'test/unit/outbound/tls.test.ts',
  storage_unavailable: 'test/postgres/hub.test.ts',
}
