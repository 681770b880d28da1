import { expect, test } from 'bun:test'
import { codeOfDetail, faultOf, faultText } from '../../../core/alerts/delivery/delivery-fault.ts'
import { HubError } from '../../../core/contract/errors.ts'

test('a fault has a stable code, with which its kept text begins', () => {
  const addressed = faultOf(new HubError('url_address_blocked', 'Not to 10.0.0.1'))
  expect(addressed).toEqual({ code: 'url_address_blocked', detail: 'url_address_blocked: Not to 10.0.0.1' })
  expect(faultOf(new TypeError('x is undefined'))).toEqual({
    ...{ code: 'delivery_failed', detail: 'delivery_failed: x is undefined' },
  })
  expect(faultText('channel_type_unavailable', 'a'.repeat(900)).detail).toHaveLength(500)
})

test('the code is read from the kept text; what was kept before texts had codes has none', () => {
  expect(codeOfDetail(faultText('channel_off', 'The channel is off').detail)).toBe('channel_off')
  for (const old of ['The channel is off', 'toString: 1', '550: no such user', ''])
    expect(codeOfDetail(old)).toBeUndefined()
})
