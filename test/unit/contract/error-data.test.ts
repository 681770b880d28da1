import { expect, test } from 'bun:test'
import { type ErrorCode, HubError } from '../../../core/contract/errors.ts'

test('the data of an error is that of its code; the types refuse another one', () => {
  const errors = [
    new HubError('json_invalid', 'x', { data: { line: 1, column: 2 } }),
    new HubError('server_ambiguous', 'x', { data: { candidates: ['a~x', 'b~x'] } }),
    new HubError('quota_servers', 'x', { hint: 'Remove one' }),
    // @ts-expect-error: this code has no data.
    new HubError('quota_servers', 'x', { data: { limit: 5 } }),
    // @ts-expect-error: the column is missing.
    new HubError('json_invalid', 'x', { data: { line: 1 } }),
    // @ts-expect-error: the status is a number.
    new HubError('redirect_blocked', 'x', { data: { status: '302' } }),
    // @ts-expect-error: there is no such member.
    new HubError('method_not_allowed', 'x', { data: { allow: ['GET'], other: 1 } }),
    // A code that is known only at run time, such as that of an error from a worker, may have any data.
    new HubError('quota_servers' as ErrorCode, 'x', { data: { any: 1 } }),
  ]
  expect(errors.map(({ data }) => data !== undefined)).toEqual([true, true, false, true, true, true, true, true])
})
