import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { check } from '../../../plugins/guards/check/check.ts'
import { compile, type Match } from '../../../plugins/guards/check/compile.ts'
import { checked, FORMS, jwt, random } from './planted.ts'

const ALL: Match = { secrets: true, personal: true }

function masked(value: unknown, match: Match = ALL): unknown {
  const { changed } = check(JSON.stringify(value), [compile({ id: 'rule', match, then: 'mask' })])
  return changed === undefined ? value : JSON.parse(changed)
}

/** The wrappings in which a secret may stand, each as the result of a tool. */
const WRAPPINGS: Readonly<Record<string, (secret: string) => unknown>> = {
  'plain text': secret => ({ content: [{ type: 'text', text: `the key is ${secret}, keep it` }] }),
  'structured content': secret => ({ content: [], structuredContent: { user: { keys: [secret] } } }),
  'JSON in text': secret => ({ content: [{ type: 'text', text: JSON.stringify({ env: { KEY: `\n${secret}` } }) }] }),
  'JSON in JSON in text': secret => ({
    content: [{ type: 'text', text: JSON.stringify(JSON.stringify({ key: `a\n${secret}` })) }],
  }),
  'percent encoding': secret => ({
    content: [
      {
        type: 'text',
        text: `https://x.example/?k=${[...secret].map(c => `%${c.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')}&a=1`,
      },
    ],
  }),
  'escapes with \\u': secret => ({
    content: [
      { type: 'text', text: [...secret].map(c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('') },
    ],
  }),
  'base 64': secret => ({ content: [{ type: 'text', text: Buffer.from(`password: ${secret}`).toString('base64') }] }),
  'a blob': secret => ({
    content: [
      { type: 'resource', resource: { uri: 'file:///a', blob: Buffer.from(`# keys\n${secret}\n`).toString('base64') } },
    ],
  }),
  'a name of a member': secret => ({ content: [], structuredContent: { [secret]: true } }),
  'two text blocks': secret => ({
    content: [
      { type: 'text', text: `one ${secret.slice(0, 14)}` },
      { type: 'text', text: `${secret.slice(14)} two` },
    ],
  }),
  'characters that are not seen': secret => ({
    content: [{ type: 'text', text: `${secret.slice(0, 9)}\u200b${secret.slice(9)}` }],
  }),
  'an unknown member': secret => ({ content: [], type: secret, [secret]: 1 }),
}

const text = (value: string) => ({ content: [{ type: 'text', text: value }] })
const bare = (value: string) => value.replace(/[\n\r]/g, '')
const encoded = (value: unknown, charset: BufferEncoding) =>
  Buffer.from((value as ReturnType<typeof text>).content[0]?.text ?? '', 'base64').toString(charset)
const blocksOf = (value: unknown) =>
  [...JSON.stringify(value).matchAll(/"text":"((?:[^"\\]|\\.)*)"/g)].map(([, part]) => JSON.parse(`"${part}"`)).join('')
const hex = (value: string) => Buffer.from(value).toString('hex')
/** The texts of the longest runs of hexadecimal digits. */
const hexIn = (value: string) =>
  [...value.matchAll(/(?:[\da-f]{2}){12,}/gi)].map(([run]) => Buffer.from(run, 'hex').toString()).join('')
const CHINESE = '这是一个很长的说明，里面有密钥：'.repeat(9)

/** Wrappings that readers undo in ways of their own: the wrapping, and the reader. */
const WAYS: Readonly<Record<string, readonly [(secret: string) => unknown, (value: unknown) => string]>> = {
  'lines of a terminal': [
    secret => text(`the key ${secret.slice(0, 30)}\r\n    ${secret.slice(30)} is it`),
    value => blocksOf(value).replace(/\r?\n */g, ''),
  ],
  'lines that end in a backslash': [
    secret => text(`--token ${secret.slice(0, 30)}\\\n${secret.slice(30)}`),
    value => blocksOf(value).replace(/\\\n/g, ''),
  ],
  'colours of a terminal': [
    secret => text(`${secret.slice(0, 12)}\u001b[1;31m${secret.slice(12)}\u001b[0m`),
    value => Bun.stripANSI(blocksOf(value)),
  ],
  'escapes of Markdown': [
    secret => text(`**${secret.replace(/[_-]/g, '\\$&')}**`),
    value => blocksOf(value).replace(/\\([_-])/g, '$1'),
  ],
  'escapes of Python': [
    secret => text([...secret].map(c => `\\U000000${c.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')),
    value => blocksOf(value).replace(/\\U([0-9a-f]{8})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
  ],
  'octal escapes': [
    secret => text([...secret].map(c => `\\${c.charCodeAt(0).toString(8).padStart(3, '0')}`).join('')),
    value => blocksOf(value).replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
  ],
  'variation selectors': [secret => text([...secret].join('\ufe0f')), value => blocksOf(value).replace(/\ufe0f/g, '')],
  'tag characters': [
    secret => text([...secret].join('\u{e0041}')),
    value => blocksOf(value).replace(/\u{e0041}/gu, ''),
  ],
  'bidi marks': [secret => text([...secret].join('\u2068')), value => blocksOf(value).replace(/\u2068/g, '')],
  'letters of mathematics': [
    secret => text(secret.replace(/[a-z]/g, letter => String.fromCodePoint(0x1_d4_1a + letter.charCodeAt(0) - 97))),
    value => blocksOf(value).normalize('NFKC'),
  ],
  'base 64 in lines': [
    secret =>
      text(
        Buffer.from(`${'before '.repeat(7)}${secret} behind`)
          .toString('base64')
          .replace(/.{64}/g, '$&\r\n'),
      ),
    value => encoded(value, 'utf8'),
  ],
  'base 64 of Chinese': [
    secret => text(Buffer.from(`${CHINESE}${secret}`).toString('base64')),
    value => encoded(value, 'utf8'),
  ],
  'base 64 of UTF-16': [
    secret => text(Buffer.from(`secret: ${secret}`, 'utf16le').toString('base64')),
    value => encoded(value, 'utf16le'),
  ],
  hexadecimal: [secret => text(`dump: ${hex(`password: ${secret}`)} end`), value => hexIn(blocksOf(value))],
  'hexadecimal at an odd digit': [secret => text(`abc${hex(secret)}f`), value => hexIn(blocksOf(value).slice(3))],
  'hexadecimal behind other bytes': [
    secret => text(`0xdeadbeef00${hex(secret).toUpperCase()}00ff`),
    value => hexIn(blocksOf(value).slice(12)),
  ],
  'hexadecimal in pairs': [
    secret => text(`key ${hex(secret).replace(/..(?=.)/g, '$&:')}`),
    value => hexIn(blocksOf(value).replaceAll(':', '')),
  ],
  'hexadecimal of C': [
    secret =>
      text(
        `{${hex(secret)
          .replace(/..(?=.)/g, '$&, ')
          .replace(/[\da-f]{2}/g, '0x$&')}}`,
      ),
    value => hexIn(blocksOf(value).replace(/0x|, /g, '')),
  ],
  'hexadecimal in lines': [
    secret => text(hex(`${'before '.repeat(9)}${secret}`).replace(/.{60}/g, '$&\n')),
    value => hexIn(blocksOf(value).replaceAll('\n', '')),
  ],
  'hexadecimal in groups and lines': [
    secret => text(hex(secret).replace(/.{4}/g, '$& ').replace(/.{40}/g, '$&\n')),
    value => hexIn(blocksOf(value).replace(/\s/g, '')),
  ],
  'hexadecimal of UTF-16': [
    secret => text(`x'${Buffer.from(`key ${secret}`, 'utf16le').toString('hex')}'`),
    value => Buffer.from(/[\da-f]{24,}/.exec(blocksOf(value))?.[0] ?? '', 'hex').toString('utf16le'),
  ],
  'hexadecimal of Chinese': [secret => text(hex(`${CHINESE}${secret}`)), value => hexIn(blocksOf(value))],
  'hexadecimal in base 64': [
    secret => text(Buffer.from(`hex: ${hex(secret)}`).toString('base64')),
    value => hexIn(encoded(value, 'utf8')),
  ],
  'base 64 in hexadecimal': [
    secret => text(hex(Buffer.from(`key: ${secret}`).toString('base64'))),
    value => Buffer.from(hexIn(blocksOf(value)), 'base64').toString(),
  ],
  'the text of two messages': [
    secret => ({
      messages: [secret.slice(0, 14), secret.slice(14)].map(part => ({
        ...{ role: 'user', content: { type: 'text', text: part } },
      })),
    }),
    blocksOf,
  ],
  'two embedded resources': [
    secret => ({
      content: [secret.slice(0, 14), secret.slice(14)].map(part => ({
        ...{ type: 'resource', resource: { uri: 'file:///a', text: part } },
      })),
    }),
    blocksOf,
  ],
}

/** Secrets whose parts are values of their own: the value, and its reader. */
const SPLITS: Readonly<Record<string, (parts: readonly string[]) => unknown>> = {
  'texts of a list': parts => ({ structuredContent: { list: parts } }),
  'members of an object': parts => ({
    structuredContent: { user: Object.fromEntries(parts.map((part, at) => [`part${at}`, part])) },
  }),
  'members between numbers': ([one, two, three]) => ({ structuredContent: { one, count: 1, two, is: true, three } }),
  'members around names of MCP': ([one, two, three]) => ({
    content: [{ type: 'resource_link', uri: one, mimeType: 'text/plain', title: two, name: 'file', text: three }],
  }),
  'objects of a list': parts => ({ structuredContent: { rows: parts.map((value, at) => ({ id: `${at}`, value })) } }),
  'a list within arguments': parts => ({ name: 'tool', arguments: { argv: parts } }),
  'a list within _meta': parts => ({ content: [], _meta: { 'x.example/parts': parts } }),
  'data of an error': parts => ({ code: -32_000, message: 'no', data: { detail: parts } }),
  'embedded resources and texts': ([one, two, three]) => ({
    content: [
      { type: 'text', text: one },
      { type: 'resource', resource: { uri: 'file:///a', text: two } },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'text', text: three },
    ],
  }),
  'a list of JSON in text': parts => text(JSON.stringify({ list: parts }, null, 2)),
  'members of JSON in text': parts =>
    text(JSON.stringify(Object.fromEntries(parts.map((part, at) => [`p${at}`, part])))),
  'objects of JSON in text': parts => text(`rows: ${JSON.stringify(parts.map(value => ({ value })))}`),
  'JSON in JSON in text': parts => text(JSON.stringify({ body: JSON.stringify(parts) })),
  'strings of a program': parts => text(`const key = ${parts.map(part => `'${part}'`).join(' +\n  ')}`),
}

/** Everything in a value that a reader could make of it. */
function readable(value: unknown): string {
  const text = JSON.stringify(value)
  const runs = [...text.matchAll(/[A-Za-z0-9+/_=-]{24,}/g)].map(([run]) => Buffer.from(run, 'base64').toString())
  const plain = text.replace(/\\\\/g, '\\').replace(/\\\\/g, '\\')
  const numbers = plain.replace(/\\*u([0-9a-f]{4})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  const percent = text.replace(/%([0-9a-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return [text, ...runs, numbers, percent].join('\n').replace(/[\u200b]|\\+n|\n|"\},\{"type":"text","text":"/g, '')
}

describe('secrets', () => {
  for (const [wrapping, wrap] of Object.entries(WRAPPINGS))
    test(`none of 50 in ${wrapping} passes`, () => {
      let passed = 0
      for (let round = 0; round < 5; round += 1)
        for (const [, make] of FORMS) {
          const secret = make()
          const flat = secret.replace(/\n/g, '')
          expect(readable(wrap(secret))).toContain(flat)
          const after = readable(masked(wrap(secret)))
          if (after.includes(flat) || after.includes(flat.slice(8, -8))) passed += 1
        }
      expect(passed).toBe(0)
    })

  test.each(Object.entries(WAYS))('none of 50 in %s passes', (_, [wrap, read]) => {
    const passed: string[] = []
    for (let round = 0; round < 5; round += 1)
      for (const [kind, make] of FORMS) {
        const secret = make()
        const part = bare(secret).slice(6, -6)
        expect(bare(read(wrap(secret)))).toContain(part)
        if (bare(read(masked(wrap(secret)))).includes(part)) passed.push(kind)
      }
    expect(passed).toEqual([])
  })

  test.each(Object.entries(SPLITS))('none of 45 that are split over %s passes', (_, split) => {
    const passed: string[] = []
    for (let round = 0; round < 5; round += 1)
      for (const [kind, make] of FORMS) {
        // Marks of PEM have spaces, between which programs break no text.
        if (kind === 'private_key') continue
        const secret = make()
        const parts = [secret.slice(0, 7), secret.slice(7, 14), secret.slice(14)]
        const after = JSON.stringify(masked(split(parts)))
        if (parts.some(part => part.length > 5 && after.includes(part))) passed.push(kind)
      }
    expect(passed).toEqual([])
  })

  test('a private key as a list of lines, and one in base 64 over two members', () => {
    const pem = FORMS.find(([kind]) => kind === 'private_key')?.[1]() ?? ''
    expect(masked({ structuredContent: { lines: pem.split('\n') } })).toEqual({
      structuredContent: { lines: pem.split('\n').map(() => '[masked:private_key]') },
    })
    const encodedSecret = Buffer.from(`the key is ghp_${checked()}`).toString('base64')
    const halves = { structuredContent: { one: encodedSecret.slice(0, 30), two: encodedSecret.slice(30) } }
    expect(JSON.stringify(masked(halves))).not.toContain(encodedSecret.slice(34, 60))
  })

  test('text beside a complete secret is kept', () => {
    const secret = `sk_live_${random(24)}`
    for (const [before, after] of [
      [
        ['a', secret, 'report'],
        ['a', '[masked:stripe_key]', 'report'],
      ],
      [
        { token: secret, name: 'report' },
        { token: '[masked:stripe_key]', name: 'report' },
      ],
      [
        [{ id: secret }, { id: 'next' }],
        [{ id: '[masked:stripe_key]' }, { id: 'next' }],
      ],
      [
        ['https://shop.example', ':8080', 'ada@shop.example'],
        ['https://shop.example', ':8080', 'ada@shop.example'],
      ],
    ])
      expect(masked({ structuredContent: { value: before } }, { secrets: true })).toEqual({
        structuredContent: { value: after },
      })
  })

  test('what was in base 64 is so again, with the same lines, and can be read', () => {
    const secret = `ghp_${random(36)}`
    const lines = Buffer.from(`${'before '.repeat(9)}${secret} ${'behind '.repeat(9)}`)
      .toString('base64')
      .replace(/.{76}/g, '$&\n')
    const after = blocksOf(masked(text(lines)))
    expect(
      after
        .split('\n')
        .slice(0, -1)
        .every(({ length }) => length === 76),
    ).toBe(true)
    expect(Buffer.from(after, 'base64').toString()).toBe(
      `${'before '.repeat(9)}[masked:github_token] ${'behind '.repeat(9)}`,
    )
  })

  test('what was hexadecimal is so again, with its case and its separators', () => {
    const secret = `ghp_${checked()}`
    const pairs = (value: string) => hex(value).replace(/..(?=.)/g, '$&:')
    for (const [before, after] of [
      [`a ${hex(`my ${secret}!`)} b`, `a ${hex('my [masked:github_token]!')} b`],
      [`0x${hex(secret).toUpperCase()}`, `0x${hex('[masked:github_token]').toUpperCase()}`],
      [pairs(`my ${secret}!`), pairs('my [masked:github_token]!')],
      [pairs('to a@b.example'), pairs('to [masked:email]')],
    ])
      expect(masked(text(before ?? ''))).toEqual(text(after ?? ''))
  })

  test('ids and hashes in hexadecimal stay as they are', () => {
    const values = Array.from({ length: 2_000 }, (_, at) => {
      const digits = randomBytes([16, 20, 32, 64][at % 4] ?? 16).toString('hex')
      return at % 3 === 0 ? digits.toUpperCase() : at % 3 === 1 ? digits.replace(/..(?=.)/g, '$&:') : digits
    })
    const all = { content: values.map(value => ({ type: 'text', text: value })), structuredContent: { values } }
    expect(masked(all, { ...ALL, pattern: ['secret'], domains: ['good.example'] })).toEqual(all)
  })

  test('each is named by its kind', () => {
    for (const [kind, make] of FORMS) {
      const { content } = masked({ content: [{ type: 'text', text: `a ${make()} b` }] }) as {
        content: [{ text: string }]
      }
      expect(content[0].text).toBe(`a [masked:${kind}] b`)
    }
    expect(masked({ text: jwt() })).toEqual({ text: '[masked:jwt]' })
  })

  test('a repetitive text with the form of a token is one only with its checksum', () => {
    const example = `ghp_${'x'.repeat(36)}`
    expect(masked({ text: example })).toEqual({ text: example })
    expect(masked({ text: 'ghp_0000000000000000000000000000002W4k5U' })).toEqual({
      text: 'ghp_0000000000000000000000000000002W4k5U',
    })
  })
})

/** Texts of servers, in every place that MCP has for them. */
const PLACES: Readonly<Record<string, (secret: string) => unknown>> = {
  'a link to a resource': s => ({
    content: [{ type: 'resource_link', uri: `x://${s}`, name: s, title: s, description: s }],
  }),
  icons: s => ({
    content: [{ type: 'resource_link', uri: 'x', name: 'x', icons: [{ src: `https://a.example/${s}` }] }],
  }),
  'an embedded resource': s => ({ content: [{ type: 'resource', resource: { uri: s, text: s, mimeType: s } }] }),
  'audio that is text': s => ({
    content: [{ type: 'audio', data: Buffer.from(s).toString('base64'), mimeType: 'x/y' }],
  }),
  'contents of a resource': s => ({ contents: [{ uri: s, blob: Buffer.from(s).toString('base64') }] }),
  'messages of a prompt': s => ({ description: s, messages: [{ role: 'user', content: { type: 'text', text: s } }] }),
  completions: s => ({ completion: { values: [s, s.slice(0, 9), s.slice(9)] } }),
  'an error': s => ({ code: -32_000, message: s, data: { [s]: [s] } }),
  progress: s => ({ progressToken: s, progress: 1, message: s }),
  'a log message': s => ({ level: 'error', logger: s, data: { [s]: s } }),
  'a question': s => ({
    message: s,
    requestedSchema: { type: 'object', properties: { [s]: { title: s, enum: [s], default: s } } },
  }),
  sampling: s => ({
    systemPrompt: s,
    messages: [{ role: 'user', content: [{ type: 'text', text: s }] }],
    stopSequences: [s],
  }),
  'a task': s => ({ taskId: s, statusMessage: s, result: { content: [{ type: 'text', text: s }] } }),
  annotations: s => ({ content: [{ type: 'text', text: 'x', annotations: { audience: [s] }, _meta: { [s]: s } }] }),
}

test.each(Object.entries(PLACES))('a secret in %s is masked', (_, place) => {
  const secret = `ghp_${checked()}`
  const shown = JSON.stringify(masked(place(secret)))
  expect(JSON.stringify(place(secret))).not.toBe(shown)
  for (const encoding of ['utf8', 'base64'] as const)
    expect(shown).not.toContain(Buffer.from(secret.slice(9, 36)).toString(encoding))
})

test('personal data is found by its check digits, also as numbers, whose type stays', () => {
  const text = (value: string) => (masked({ text: value }) as { text: string }).text
  expect(text('write to ada.lovelace+x@mail.example.org now')).toBe('write to [masked:email] now')
  expect(text('call +44 20 7946 0958 or (212) 555-0123 or 13812345678')).toBe(
    'call [masked:phone] or [masked:phone] or [masked:phone]',
  )
  expect(text('card 4111 1111 1111 1111, not 4111 1111 1111 1112')).toBe('card [masked:card], not 4111 1111 1111 1112')
  expect(text('IBAN DE89 3704 0044 0532 0130 00.')).toBe('IBAN [masked:iban].')
  expect(text('AD186743AFB388E2B541429763A44FD3')).toBe('AD186743AFB388E2B541429763A44FD3')
  expect(text('DE89 3704 0044 0532 0130 01')).toBe('DE89 3704 0044 0532 0130 01')
  expect(text('DE89-37040044-05320130-00')).toBe('DE89-37040044-05320130-00')
  expect(text('iban de89 3704 0044 0532 0130 00, DE89-3704-0044-0532-0130-00.')).toBe(
    'iban [masked:iban], [masked:iban].',
  )
  expect(text('４１１１１１１１１１１１１１１１ 4111-1111-1111-1111 11010519491231002x')).toBe(
    '[masked:card] [masked:card] [masked:chinese_id]',
  )
  expect(text('id 11010519491231002X and 110105194912310021')).toBe('id [masked:chinese_id] and 110105194912310021')
  const numbers =
    '{"structuredContent":{"card":4111111111111111,"as":[4111111111111111.0,-4.111111111111111e15],"id":110101199003074514,"n":1.50,"big":12345678901234567890}}'
  const { changed = '' } = check(numbers, [compile({ id: 'r', match: { personal: true }, then: 'mask' })])
  expect(changed).toBe('{"structuredContent":{"card":0,"as":[0,0],"id":0,"n":1.50,"big":12345678901234567890}}')
})

test('patterns are literals with wildcards, within one line', () => {
  const text = (value: string, ...pattern: string[]) => (masked({ text: value }, { pattern }) as { text: string }).text
  expect(text('Project ORION starts', 'project orion')).toBe('[masked:rule] starts')
  expect(text('case-1234 and case-12', 'case-####')).toBe('[masked:rule] and case-12')
  expect(text('from alpha to omega\nalpha\nomega', 'alpha*omega')).toBe('from [masked:rule]\nalpha\nomega')
  expect(text('a.b axb', 'a.b')).toBe('[masked:rule] axb')
  expect(text('5 * 3', '5 \\* 3')).toBe('[masked:rule]')
})

test('addresses of hosts that are not on the list are found in all their spellings', () => {
  const passes = (value: string) => {
    const { findings } = check(JSON.stringify({ arguments: { url: value } }), [
      compile({ id: 'r', match: { domains: ['good.example', '*.good.example', 'münchen.example'] }, then: 'refuse' }),
    ])
    return Object.keys(findings).length === 0
  }
  for (const good of [
    ...[
      'https://good.example/a',
      'see https://a.b.good.example:8443/x?y.',
      'HTTPS://GOOD.EXAMPLE',
      'no address: here',
      'C:\\dir\\file',
    ],
    ...['https://xn--mnchen-3ya.example/', 'https://good.example./', 'good.example\nother words'],
    ...[
      'https://good.example/a\nhttps://good.example/b',
      'note: a/b',
      'f("// a comment.")',
      '("//div/a")',
      'https://%s/',
    ],
    ...['<a href="//good.example/">', 'http://good.example.:80/', 'https://u@good.example'],
  ])
    expect([good, passes(good)]).toEqual([good, true])
  for (const bad of [
    ...[
      'https://evil.example',
      'https://good.example@evil.example/',
      'https://good.example.evil.example',
      'https:evil.example/a',
    ],
    ...[
      'https:\\\\evil.example',
      'https:/evil.example',
      '//evil.example/x',
      '\\\\evil.example/x',
      'ftp://evil.example/',
    ],
    ...[
      'postgres://u:p@evil.example/db',
      'https://good.example\t.evil.example/',
      'https:\n//evil.example',
      'http://127.1/',
    ],
    ...[
      'https://good.example/?u=https%3A%2F%2Fevil.example',
      'https://evil。example/',
      'wss://evil.example',
      'https://notgood.example',
    ],
    ...['https://xn--evil-abc.example/', 'http://[fe80::1%25eth0]/', 'http://[::1]:80/', 'http://2130706433/'],
    ...['<img src="//evil.example/x">', '![x](//evil.example/a)', 'url(//evil.example)', 'hTTps://EVIL.example.:443'],
    ...[Buffer.from('{"u":"https://evil.example/a"}').toString('base64')],
  ])
    expect([bad, passes(bad)]).toEqual([bad, false])
})

test('samples have nothing of what was found', () => {
  const secret = `ghp_${random(36)}`
  const { findings } = check(JSON.stringify({ structuredContent: { [secret]: [secret], token: secret } }), [
    compile({ id: 'r', match: { secrets: true }, then: 'observe' }),
  ])
  expect(findings[0]?.count).toBe(3)
  expect(JSON.stringify(findings)).not.toContain(secret.slice(4, 12))
  expect(findings[0]?.samples.at(-1)).toEqual({ path: '/structuredContent/token', kind: 'github_token', length: 40 })
})
