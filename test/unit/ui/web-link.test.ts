import { expect, test } from 'bun:test'
import { foreignText, webLink } from '../../../ui/text/web-link.ts'

test.each([
  ...['https://%', 'https://[', 'https://', 'https:x', 'http:a.example', 'https://a.example:99999', 'https://xn--'],
  ...[
    'javascript:alert(1)',
    'JavaScript:alert(1)//https://',
    'data:text/html,x',
    'file:///etc/passwd',
    '//a.example',
    '',
  ],
  ...['https://a.example@evil.example', 'https://a:b@evil.example', ' https://a.example', 'https://a.example/\u202Ex'],
  ...['https://a\u200B.example', 'https://a.example/\u{E0041}', 'https://a.example/\n', 'https://a.example/\uD800'],
])('webLink() makes no link of %j', text => {
  expect(webLink(text)).toBeUndefined()
})

test('webLink() makes no link of more than 2,048 characters', () => {
  expect(webLink(`https://a.example/${'x'.repeat(3_000)}`)).toBeUndefined()
})

test.each([[undefined], [null], [1], [{}], [['https://a.example']]])('webLink() makes no link of %p', value => {
  expect(webLink(value)).toBeUndefined()
})

test('webLink() writes what is a link in ASCII', () => {
  expect(webLink('HTTPS://A.example/ä?q=1#x')?.href).toBe('https://a.example/%C3%A4?q=1#x')
  expect(webLink('https://аpple.example')?.host).toBe('xn--pple-43d.example')
})

test('foreignText() shows what is invisible, and cuts what is long', () => {
  expect(foreignText('a\u202Eb\u0000\u{E0041}\uD800')).toBe('a⟨U+202E⟩b⟨U+0000⟩⟨U+E0041⟩⟨U+D800⟩')
  expect(foreignText('two\nlines')).toBe('two\nlines')
  expect(foreignText({ a: 1 })).toBe('{"a":1}')
  expect(foreignText('x'.repeat(5_000))).toHaveLength(4_001)
})
