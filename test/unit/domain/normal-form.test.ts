import { expect, test } from 'bun:test'
import { checkName, nameKey } from '../../../core/domain/names.ts'
import { normalForm } from '../../../core/transport-kit/normal-form.ts'
import { parseUrl } from '../../../core/transport-kit/parse-url.ts'

/** Marks of two classes, which a normalization has to sort. */
const marks = (count: number) => `a${'\u0301\u0316'.repeat(count / 2)}`
/** Processor time in milliseconds. */
function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

test('normalForm() gives what normalize() gives, for texts that people write', () => {
  for (const text of ['Zoë', 'Zoe\u0308', 'ﬁ①Ⅻ', '한글', 'ﾊﾞｰﾄﾞ', 'q\u0307\u0323', '', 'नमस्ते', marks(28)])
    for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD'] as const)
      expect(normalForm(text, form)).toBe(text.normalize(form))
})

test('normalForm() is linear in the number of combining marks, and the same when it is applied again', () => {
  for (const form of ['NFC', 'NFKD'] as const) {
    const shown = normalForm(marks(600), form)
    expect(normalForm(shown, form)).toBe(shown)
  }
  // normalize() takes 256 times as long for 160,000 marks as for 10,000.
  const few = cpuMs(() => marks(10_000).normalize('NFC'))
  expect(cpuMs(() => normalForm(marks(160_000), 'NFC'))).toBeLessThan(few)
})

test('a name of a megabyte of combining marks is refused at once', () => {
  const few = cpuMs(() => marks(10_000).normalize('NFC'))
  expect(cpuMs(() => expect(checkName('group', marks(400_000))).toMatchObject({ code: 'name_invalid' }))).toBeLessThan(
    few,
  )
  expect(cpuMs(() => nameKey(marks(400_000)))).toBeLessThan(few)
})

test('an address of a megabyte of combining marks is none, at once', () => {
  const few = cpuMs(() => marks(10_000).normalize('NFC'))
  expect(cpuMs(() => expect(parseUrl(`http://${marks(400_000)}/`)).toBeNull())).toBeLessThan(few)
  expect(parseUrl('https://example.com/a')?.host).toBe('example.com')
})
