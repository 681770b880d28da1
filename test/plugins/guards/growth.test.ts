/** The work of a check grows with the length of a text, and not with its square, whatever its author puts into it. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { check } from '../../../plugins/guards/check/check.ts'
import { compile } from '../../../plugins/guards/check/compile.ts'
import { mainThreadMs } from '../../support/work.ts'

setDefaultTimeout(120_000)

const rules = [compile({ id: 'r', match: { secrets: true, personal: true, domains: ['a.example'] }, then: 'mask' })]
const KEY = 'aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2'
const SMALL = 10_000
const TIMES = 8
/** The square of a text eight times as long would be 64 times the work. */
const MOST_TIMES = 20
/** Least time of a measurement, in milliseconds. */
const LEAST_MS = 100

/** Contents of about `size` characters. */
const FORMS: Readonly<Record<string, (size: number) => unknown>> = {
  'hexadecimal digits': size => randomBytes(size / 2).toString('hex'),
  'hexadecimal digits in pairs': size =>
    randomBytes(size / 3)
      .toString('hex')
      .replace(/../g, '$& '),
  'nearly hexadecimal digits': size => `${randomBytes(12).toString('hex').slice(1)}z`.repeat(size / 24),
  'secrets in hexadecimal digits': size => `${Buffer.from(`ghp_${KEY}`).toString('hex')} `.repeat(size / 81),
  'secrets over every two texts': size =>
    Array.from({ length: size / 20 }, (_, at) => (at % 2 ? `${KEY.slice(5)} sk_live_` : `ghp_${KEY.slice(0, 5)}`)),
  'a token over texts of one character': size => [
    ...`eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.${'a'.repeat(300)}.${'b'.repeat(200)} `.repeat(size / 540),
  ],
  'rows with members': size =>
    Array.from({ length: size / 40 }, (_, at) => ({ id: `${at}`, note: 'some words of text' })),
  'quotes and commas': size => '"a","b":"'.repeat(size / 9),
  'braces and spaces': size => `a"${' '.repeat(31)},`.repeat(size / 34),
}

/** Processor time of one check, on average: the system counts in steps of 4 ms. */
function workOf(text: string): number {
  // The first checks of a form are compiled.
  for (let run = 0; run < 3; run += 1) check(text, rules)
  const before = mainThreadMs(process.pid)
  for (let runs = 1; ; runs += 1) {
    check(text, rules)
    const used = mainThreadMs(process.pid) - before
    if (used >= LEAST_MS) return used / runs
  }
}

test.each(Object.entries(FORMS))('%s', (_, make) => {
  const texts = [SMALL, SMALL * TIMES].map(size => JSON.stringify({ structuredContent: { value: make(size) } }))
  const [small = 0, large = 0] = texts.map(workOf)
  expect(large / small).toBeLessThan(MOST_TIMES)
})
