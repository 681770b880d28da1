import { expect, test } from 'bun:test'
import { HubError } from '../../../core/contract/errors.ts'
import { JobTooLong } from '../../../core/http/body/body-thread.ts'

test('an error of another copy of the contract is one of the hub, and keeps what it says', async () => {
  const path = '../../../core/contract/errors.ts?copy'
  const copy = (await import(path)) as { readonly HubError: typeof HubError }
  expect(copy.HubError).not.toBe(HubError)
  const error = new copy.HubError('group_not_found', 'There is no group "x"', { hint: 'Look' })
  expect(error).toBeInstanceOf(HubError)
  expect([error.status, error.code, error.hint]).toEqual([404, 'group_not_found', 'Look'])
})

test('other errors, and what has only the name, are none', () => {
  const named = Object.assign(new Error('x'), { name: 'HubError', code: 'internal' })
  for (const value of [new Error('x'), named, null, undefined, 'HubError', {}]) {
    expect(value instanceof HubError).toBe(false)
  }
})

test('a class that extends it has its own errors alone', () => {
  expect(new JobTooLong(5_000)).toBeInstanceOf(HubError)
  expect(new JobTooLong(5_000)).toBeInstanceOf(JobTooLong)
  expect(new HubError('overloaded', 'x')).not.toBeInstanceOf(JobTooLong)
})
