import { describe, expect, test } from 'bun:test'
import { csvCell } from '../../../core/domain/text/csv-cell.ts'
import { quotedWords } from '../../../core/domain/text/quoted-words.ts'
import { escapeHidden, hasHidden, visibleName, visibleText } from '../../../core/domain/text/visible-text.ts'

const HIDDEN: readonly (readonly [what: string, code: number])[] = [
  ...[0x00, 0x07, 0x08, 0x0b, 0x0d, 0x1b, 0x7f, 0x85, 0x9b].map(code => ['control', code] as const),
  ...[0x061c, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069].map(code => ['bidi', code] as const),
  ...[0x200b, 0x200c, 0x200d, 0x2060, 0xfeff, 0x180e].map(code => ['zero width', code] as const),
  ...[0x2028, 0x2029].map(code => ['line end', code] as const),
  ...[0xe0001, 0xe0041, 0xe007f].map(code => ['tag', code] as const),
  ...[0xfe00, 0xfe0e, 0xfe0f, 0xe0100, 0xe01ef, 0x180b].map(code => ['variation selector', code] as const),
  ...[0xad, 0x034f, 0x115f, 0x1160, 0x17b4, 0x3164, 0xffa0, 0x2800].map(code => ['filler', code] as const),
  ...[0x2061, 0x2064, 0x206a, 0xfff9, 0xfffb, 0x1d173, 0x1bca0, 0x13430].map(code => ['operator', code] as const),
  ...[0xfffe, 0xfdd0, 0x1ffff].map(code => ['noncharacter', code] as const),
  ...[0xd800, 0xdfff].map(code => ['half a character', code] as const),
]

const LEGITIMATE = [
  'get_weather',
  '天气查询工具',
  'أهلا وسهلا ١٢٣',
  'می\u200cخواهم',
  'ക്\u200dഷ',
  '👩‍💻 👨‍👩‍👧‍👦 🧑🏽‍🚀 ❤️‍🔥',
  '❤️ ✔︎ 1️⃣ #️⃣ 🏳️‍🌈',
  '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
  '🇨🇳 e\u0301 \u0600١٢',
]

describe('visibleName()', () => {
  test.each(HIDDEN)('shows %s U+%i', (_, code) => {
    const mark = `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
    const text = `a${String.fromCodePoint(code)}b`
    expect(visibleName(text)).toBe(`a${mark}b`)
    expect(visibleText(text)).toBe(`a${mark}b`)
    expect(hasHidden(text)).toBe(true)
  })

  test.each(LEGITIMATE)('leaves %s as it is', text => {
    expect(visibleName(text)).toBe(text)
    expect(hasHidden(text)).toBe(false)
  })

  test('shows what hides beside a legitimate sequence', () => {
    expect(visibleName('😀\ufe0f\ufe0f\u{e0100}')).toBe('😀\ufe0f⟨U+FE0F⟩⟨U+E0100⟩')
    expect(visibleName('🏴\u{e0041}\u{e007f}')).toBe('🏴⟨U+E0041⟩⟨U+E007F⟩')
    expect(visibleName('👩\u200d\u200d👩')).toBe('👩⟨U+200D⟩⟨U+200D⟩👩')
    expect(visibleName('x\ufe0f 1\ufe0f')).toBe('x⟨U+FE0F⟩ 1⟨U+FE0F⟩')
  })

  test('is the same when it is applied again, and shows line ends, which visibleText() keeps', () => {
    const text = `a\r\nb\n\tc\rd${HIDDEN.map(([, code]) => String.fromCodePoint(code)).join('')}`
    expect(visibleName(visibleName(text))).toBe(visibleName(text))
    expect(visibleText(visibleText(text))).toBe(visibleText(text))
    expect(visibleText('a\r\nb\n\tc\rd')).toBe('a\nb\n\tc⟨U+000D⟩d')
    expect(visibleName('a\n')).toBe('a⟨U+000A⟩')
    expect(hasHidden('a\r\n\tb', { lines: true })).toBe(false)
    expect(hasHidden('a\n')).toBe(true)
  })
})

test('escapeHidden() gives JSON that reads back as the same value', () => {
  const value = { a: `x\u202e\u{e0041}\u009b\n👩‍💻 ${'天'}` }
  const json = escapeHidden(JSON.stringify(value, null, 2))
  expect(JSON.parse(json)).toEqual(value)
  expect(hasHidden(json, { lines: true })).toBe(false)
  expect(json).toContain('\\udb40\\udc41')
})

test('quotedWords() shows where words begin and end', () => {
  expect(quotedWords(['npx', '-y', '@scope/pkg@1.2.3', '--root=/srv'])).toBe('npx -y @scope/pkg@1.2.3 --root=/srv')
  expect(quotedWords(['sh', '-c', 'rm -rf "$HOME"; echo it\'s', ''])).toBe(`sh -c 'rm -rf "$HOME"; echo it'\\''s' ''`)
  expect(quotedWords(['a\u202eb', 'nрm', 'a\nb', '~', '$x'])).toBe("'a⟨U+202E⟩b' 'nрm' 'a⟨U+000A⟩b' '~' '$x'")
})

test('csvCell() makes a text of what a spreadsheet would take for a formula', () => {
  for (const text of ['=1+1', '+1', '-1', '@sum', '\t=1', ' =1', '\n=1', '＝1', '＠sum']) {
    expect(csvCell(text).replace(/^"/, '')).toStartWith("'")
  }
  expect(csvCell('a,"b"')).toBe('"a,""b"""')
  expect([csvCell(-5), csvCell(null), csvCell(undefined), csvCell('plain')]).toEqual(['-5', '', '', 'plain'])
})
