import { expect, test } from 'bun:test'
import { fitsGlob } from '../../../core/domain/text/glob.ts'

test.each([
  ['send_*', 'send_mail', true],
  ['*', '', true],
  ['*_mail', 'send_mail', true],
  ['s*d*m*l', 'send_mail', true],
  ['send', 'send_mail', false],
  ['SEND_*', 'send_mail', false],
  ['a*b', 'a', false],
  ['a*a', 'a', false],
])('fitsGlob(%s, %s)', (pattern, text, expected) => {
  expect(fitsGlob(pattern, text)).toBe(expected)
})

test('a hostile pattern takes time in proportion to both lengths', () => {
  const began = performance.now()
  for (let time = 0; time < 100; time += 1) fitsGlob(`${'a*'.repeat(64)}b`, 'a'.repeat(10_000))
  expect(performance.now() - began).toBeLessThan(5_000)
})
