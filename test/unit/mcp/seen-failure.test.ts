import { expect, test } from 'bun:test'
import { seenFailure } from '../../../core/mcp/call/seen-failure.ts'

const server = { id: 's', name: 'notes' }
const failed = { kind: 'failed', code: 'server_offline', message: 'spawn /opt/inside/notes EAGAIN' } as const
const upstreams = (state: 'online' | 'offline', code?: string) =>
  ({ status: () => ({ state, ...(code === undefined ? {} : { reason: { code, message: 'x' } }) }) }) as never

test('seenFailure() says of an online server that this caller got no connection, and nothing of why', () => {
  const seen = (state: 'online' | 'offline', code?: string) =>
    seenFailure(failed, { userId: 'u', seesReason: false }, server, upstreams(state, code)).message
  expect(seen('online')).toBe('Server "notes" is online, but a connection for this caller could not be opened')
  expect(seen('offline', 'connection_lost')).toBe('Server "notes" is offline: connection_lost')
  const whole = seenFailure(failed, { userId: 'u', seesReason: true }, server, upstreams('online'))
  expect(whole.message).toBe(failed.message)
})
