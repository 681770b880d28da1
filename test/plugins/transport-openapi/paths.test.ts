import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { HubError } from 'patchbay/contract'
import { placeArguments, planPath } from '../../../plugins/transport-openapi/call-plan.ts'
import type { Parameter } from '../../../plugins/transport-openapi/parameters.ts'

test('no value whatever leaves its segment of the path', () => {
  const pieces = [
    '.',
    '..',
    '/',
    '\\',
    '%2e',
    '%2F',
    '%5c',
    '%252e',
    ';',
    '?',
    '#',
    '@',
    ':',
    'a',
    'ü',
    '\ud800',
    ' ',
    '\t',
    '&',
    '=',
  ]
  const text = fc.oneof(
    fc.array(fc.constantFrom(...pieces), { maxLength: 6 }).map(all => all.join('')),
    fc.string(),
  )
  const value = fc.oneof(text, fc.array(text, { maxLength: 3 }), fc.dictionary(text, text, { maxKeys: 2 }))
  const base = new URL('http://127.0.0.1:1/v1')
  fc.assert(
    fc.property(value, fc.constantFrom('simple', 'label', 'matrix'), fc.boolean(), (given, style, explode) => {
      const parameter = {
        name: 'id',
        argument: 'id',
        in: 'path',
        required: true,
        asJson: false,
        allowReserved: false,
      }
      const plan = {
        ...{
          tool: 'op',
          schema: {},
          method: 'GET',
          base,
          path: planPath('/users/{id}/posts'),
          body: undefined,
          proofs: [],
          accept: '',
          extraArguments: 'drop' as const,
        },
        parameters: [{ ...parameter, style, explode } as Parameter],
      }
      let address: string
      try {
        address = placeArguments(plan, { id: given }).address([])
      } catch (error) {
        if (error instanceof HubError && error.code === 'params_invalid') return
        throw error
      }
      let { pathname } = new URL(address)
      expect(address).toStartWith('http://127.0.0.1:1/v1/users/')
      expect(pathname.split('/')).toHaveLength(5)
      expect(pathname).toEndWith('/posts')
      for (let round = 0; round < 3; round++) {
        const inside = pathname.slice('/v1/users/'.length, -'/posts'.length)
        expect(inside.split(/[/\\]/).filter(segment => /^\.{1,2}(?:;|$)/.test(segment))).toEqual([])
        pathname = pathname.replace(/%[0-9a-f]{2}/gi, code => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
      }
    }),
    { numRuns: 3_000 },
  )
})
