import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ERROR_CODES, FIELD_CODES, type HubErrorCode } from '../../../core/contract/codes.ts'
import { type ErrorCode, HubError } from '../../../core/contract/errors.ts'
import { REMEDIES, remedyOf } from '../../../core/contract/remedies.ts'
import { rpcError } from '../../../core/domain/rpc-error.ts'
import { bundledPlugins } from '../../../core/hub/bundled.ts'
import { BELOW_THE_HUB, TO_COME } from '../../support/codes-to-come.ts'
import { OCCASIONS, PLUGIN_OCCASIONS } from '../../support/error-occasions.ts'
import { readSources } from '../../support/source.ts'

const ROOT = join(import.meta.dir, '../../..')
const CODES = Object.keys(ERROR_CODES) as HubErrorCode[]

/** Every code that core or a plugin names outside the tables, written out or as `${kind}_not_found`. */
function namedCodes(): Set<string> {
  // The last one has a state with the same name as a code.
  const tables = ['core/contract/codes.ts', 'core/contract/remedies.ts', 'core/outbound/body.ts']
  const named = new Set<string>()
  for (const { path, text } of readSources(ROOT, ['core', 'plugins'])) {
    if (tables.includes(path)) continue
    for (const [, code = ''] of text.matchAll(/'([a-z_]+)'/g)) named.add(code)
    for (const [, ending = ''] of text.matchAll(/`\$\{\w+\}(_[a-z_]+)`/g))
      for (const code of CODES) if (code.endsWith(ending)) named.add(code)
  }
  return named
}

describe('the table of codes', () => {
  test('holds only what core or a plugin can answer, but for the parts that are still to come', () => {
    const named = namedCodes()
    const unused = [...CODES, ...Object.keys(FIELD_CODES)].filter(code => !named.has(code))
    expect(unused.sort()).toEqual(Object.keys(TO_COME).sort())
  })

  test('is asserted by the tests of a part where no whole hub is needed', () => {
    for (const [code, file] of Object.entries(BELOW_THE_HUB))
      expect([code, readFileSync(join(ROOT, file), 'utf8').includes(`'${code}'`)]).toEqual([code, true])
  })

  test('says of each code when it comes and what to do', () => {
    expect(Object.keys(REMEDIES)).toEqual(CODES)
    expect(Object.keys(OCCASIONS)).toEqual(CODES)
    for (const code of CODES) {
      expect([code, REMEDIES[code]]).toEqual([code, expect.stringMatching(/^\S.{8,110}\.$/)])
      expect([code, OCCASIONS[code].length > 4]).toEqual([code, true])
      expect([code, ERROR_CODES[code].title.length > 4]).toEqual([code, true])
    }
  })

  test('says the same of the codes of bundled plugins, with one meaning in all of them, in Chinese too', () => {
    const entries = bundledPlugins.flatMap(({ errors = {} }) => Object.entries(errors))
    const meanings = new Map(entries)
    expect([...meanings.keys()].sort()).toEqual(Object.keys(PLUGIN_OCCASIONS).sort())
    for (const [code, meaning] of entries) expect([code, meaning]).toEqual([code, meanings.get(code) ?? meaning])
    expect([...meanings.keys()].filter(code => Object.hasOwn(ERROR_CODES, code))).toEqual([])
    for (const { errors = {}, words = {} } of bundledPlugins)
      for (const { title, remedy } of Object.values(errors))
        expect([remedy, words[title], words[remedy]]).toEqual([
          expect.stringMatching(/^\S.{8,110}\.$/),
          expect.stringMatching(/[\u3400-\u9fff]/),
          expect.stringMatching(/[\u3400-\u9fff]/),
        ])
  })

  test('has no status that HTTP does not have', () => {
    for (const code of CODES) expect([code, ERROR_CODES[code].status]).toEqual([code, expect.any(Number)])
    const statuses = new Set(Object.values(ERROR_CODES).map(({ status }) => status))
    const known = [
      200, 400, 401, 403, 404, 405, 406, 408, 409, 412, 413, 415, 422, 426, 429, 431, 500, 502, 503, 504, 507, 508,
    ]
    expect([...statuses].filter(status => !known.includes(status))).toEqual([])
  })
})

describe('an error', () => {
  test('brings its own remedy, else that of its code; a fault of the hub brings none', () => {
    expect(remedyOf(new HubError('admin_only', 'x', { hint: 'Do this.' }))).toBe('Do this.')
    expect(remedyOf(new HubError('admin_only', 'x'))).toBe(REMEDIES.admin_only)
    expect(remedyOf(new HubError('internal', 'x'))).toBeUndefined()
  })

  test('says when to repeat: always for 429 and 503, else where it is known, in whole seconds', () => {
    expect(new HubError('rate_limited', 'x').retryAfter).toBe(1)
    expect(new HubError('server_offline', 'x', { retryAfterSeconds: 2.1 }).retryAfter).toBe(3)
    expect(new HubError('upstream_http_error', 'x', { retryAfterSeconds: 7 }).retryAfter).toBe(7)
    expect(new HubError('upstream_http_error', 'x').retryAfter).toBeUndefined()
    expect(new HubError('draining', 'x', { retryAfterSeconds: 0 }).retryAfter).toBe(1)
    expect(new HubError('server_offline', 'x').retryAfter).toBeUndefined()
  })

  test('as JSON-RPC holds code, request, remedy and when to repeat, which its own data cannot replace', () => {
    const error = new HubError('quota_calls' as ErrorCode, 'x', { retryAfterSeconds: 5, data: { code: 'mine', at: 1 } })
    expect(rpcError(error, 'r1')).toEqual({
      code: -32600,
      message: 'x',
      data: { at: 1, hint: REMEDIES.quota_calls, retryAfter: 5, code: 'quota_calls', requestId: 'r1' },
    })
  })
})
