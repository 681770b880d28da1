import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { importDocument } from '../../core/config/import/document.ts'
import { JsoncError, readJsonc } from '../../core/config/jsonc.ts'
import { mergeAt, renameKey, sameJson, setAt } from '../../core/config/jsonc-edit.ts'
import { readSettingsText, SettingsError } from '../../core/config/settings-text.ts'
import { VARIABLES } from '../../core/config/variables.ts'
import { HubError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/contract/json.ts'
import { shellWords } from '../../core/domain/program/shell-words.ts'
import { check, hostileText, jsonValue } from '../support/fuzz.ts'

const SYNTAX = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"a"',
  '"b"',
  '"',
  '\\',
  '//',
  '/*',
  '*/',
  '\n',
  '\r\n',
  '1',
  'null',
  '\ufeff',
]
const object = jsonValue().filter(isJsonObject) as fc.Arbitrary<JsonObject>

/** A JSON text in some layout, with comments and trailing commas where they are allowed. */
const jsonc = fc
  .tuple(object, fc.infiniteStream(fc.constantFrom('', ' ', '\n', '\t', ' // c, } "\n', '/* ] */', '\r\n')))
  .map(([value, blanks]) => {
    const blank = (): string => blanks.next().value ?? ''
    const write = (part: JsonValue): string => {
      const list = (items: string[]): string => items.map(item => `${blank()}${item}${blank()}`).join(',')
      const comma = (items: readonly unknown[]): string => (items.length > 0 && blank() === '\n' ? ',' : '')
      if (Array.isArray(part)) return `[${list(part.map(write))}${comma(part)}${blank()}]`
      if (!isJsonObject(part)) return JSON.stringify(part)
      const entries = Object.entries(part)
      return `{${list(entries.map(([key, item]) => `${JSON.stringify(key)}${blank()}:${blank()}${write(item)}`))}${comma(entries)}${blank()}}`
    }
    return { value, text: `${blank()}${write(value)}${blank()}` }
  })

describe('JSON with comments', () => {
  test('readJsonc() gives the value whatever the layout, and else JsoncError with a place inside the text', async () => {
    await check(fc.property(jsonc, ({ value, text }) => expect(readJsonc(text).value).toEqual(value)))
    await check(
      fc.property(hostileText(...SYNTAX), text => {
        try {
          readJsonc(text)
        } catch (error) {
          expect(error).toBeInstanceOf(JsoncError)
          const { line, column } = error as JsoncError
          expect(line).toBeWithin(1, text.split('\n').length + 1)
          expect(column).toBeGreaterThanOrEqual(1)
        }
      }),
    )
  })

  test('an edit changes the value at its path alone, and keeps every comment', async () => {
    const comments = (text: string): number => text.match(/\/\/ c, \} "|\/\* \] \*\//g)?.length ?? 0
    const at = (value: JsonObject, key: string, wanted: JsonValue | undefined): JsonObject => {
      const copy = new Map(Object.entries(value))
      if (wanted === undefined) copy.delete(key)
      else copy.set(key, wanted)
      return Object.fromEntries(copy)
    }
    await check(
      fc.property(jsonc, fc.nat(), fc.option(jsonValue()), ({ value, text }, choice, wanted) => {
        const keys = [...Object.keys(value), 'new key']
        const key = keys[choice % keys.length] ?? ''
        const edited = setAt(text, [key], (wanted ?? undefined) as JsonValue | undefined)
        expect(readJsonc(edited).value).toEqual(at(value, key, (wanted ?? undefined) as JsonValue | undefined))
        if (!Object.hasOwn(value, key)) expect(comments(edited)).toBe(comments(text))
      }),
    )
    await check(
      fc.property(jsonc, object, ({ value, text }, wanted) => {
        const edited = mergeAt(text, [], value, wanted)
        const read = readJsonc(edited).value
        expect(sameJson(read, wanted)).toBe(true)
        expect(mergeAt(edited, [], read, wanted)).toBe(edited)
      }),
    )
    await check(
      fc.property(jsonc, fc.nat(), ({ value, text }, choice) => {
        const keys = Object.keys(value)
        const key = keys[choice % Math.max(1, keys.length)]
        if (key === undefined) return
        const renamed = renameKey(text, [key], 'another key')
        const expected = Object.entries(value).map(([name, item]) => [name === key ? 'another key' : name, item])
        expect(readJsonc(renamed).value).toEqual(Object.fromEntries(expected))
      }),
    )
  })
})

describe('the settings file', () => {
  const base = { folder: '/srv/hub', runtime: '/usr/bin/bun', program: '/srv/hub/main.ts' }
  const words = [
    ...SYNTAX,
    '"mcpServers"',
    '"users"',
    '"groups"',
    '"servers"',
    '"systemConfig"',
    '"plugins"',
    '"version"',
    '2',
    '::',
  ]

  test('any bytes are read, or refused with a code and without a stack of the parser', async () => {
    const text = hostileText(...words).map(part => Buffer.from(part))
    await check(
      fc.property(
        fc.oneof(
          text,
          fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes)),
        ),
        bytes => {
          try {
            readSettingsText(bytes, '/srv/hub/mcp_settings.json', base)
          } catch (error) {
            expect(error).toBeInstanceOf(SettingsError)
          }
        },
      ),
    )
  })

  test('any value in any section is taken as far as it goes', async () => {
    const section = fc.constantFrom(
      'mcpServers',
      'users',
      'groups',
      'servers',
      'systemConfig',
      'plugins',
      'inputs',
      'version',
      'x',
    )
    const entry = fc.record(
      {
        command: jsonValue(2),
        args: jsonValue(2),
        url: jsonValue(1),
        name: jsonValue(1),
        env: jsonValue(2),
        cwd: jsonValue(1),
        type: jsonValue(1),
        members: jsonValue(2),
        username: jsonValue(1),
      },
      { requiredKeys: [] },
    )
    const content = fc.oneof(
      jsonValue(),
      fc.array(entry, { maxLength: 3 }),
      fc.dictionary(fc.string(), entry, { maxKeys: 3 }),
    )
    await check(
      fc.property(fc.array(fc.tuple(section, content), { maxLength: 4 }), sections => {
        const text = JSON.stringify(Object.fromEntries(sections))
        try {
          const { document } = readSettingsText(Buffer.from(text), '/srv/hub/mcp_settings.json', base)
          expect(document).toEqual(JSON.parse(text))
        } catch (error) {
          expect(error).toBeInstanceOf(SettingsError)
        }
      }),
    )
  })
})

describe('command lines and documents to import', () => {
  const quote = (word: string): string => (/^[\w./=@:+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

  test('a command line made of quoted words is read back as these words and variables', async () => {
    const word = hostileText('a', ' ', "'", '"', '\\', '$', '`', '|', '\n', '=', 'é').filter(
      text => !text.includes('\0'),
    )
    const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/)
    const variables = fc.array(fc.tuple(fc.oneof(name, fc.constant('__proto__')), word), { maxLength: 3 })
    await check(
      fc.property(variables, fc.array(word, { maxLength: 5 }), (pairs, args) => {
        const set = pairs.map(([key, value]) => `${key}=${value === '' ? "''" : quote(value)}`)
        const read = shellWords([...set, 'run', ...args.map(arg => (arg === '' ? "''" : quote(arg)))].join(' '))
        expect(read).toEqual({ ok: true, variables: Object.fromEntries(pairs), words: ['run', ...args] })
      }),
    )
  })

  test('any other text is words without a shell, or a reason', async () => {
    await check(
      fc.property(
        hostileText('npx', ' ', '-y', '$', '(', '`', '|', '&', ';', '>', '\\', '"', "'", '\n', 'A=b', '$ '),
        line => {
          const read = shellWords(line)
          if (!read.ok) return expect(read.problem).not.toBe('')
          expect(read.words.length).toBeGreaterThan(0)
        },
      ),
    )
  })

  test('importDocument() names entries, or refuses with validation_failed', async () => {
    const pieces = [
      ...SYNTAX,
      '"mcpServers"',
      '"command"',
      '"url"',
      'https://a.example/mcp',
      'npx -y x',
      '$ ',
      '"openapi"',
      '"args"',
      "'",
    ]
    await check(
      fc.property(
        fc.oneof(
          hostileText(...pieces),
          jsonc.map(part => part.text),
        ),
        text => {
          try {
            for (const { name, body } of importDocument(text).entries) {
              expect(name).toBeString()
              expect(Object.getPrototypeOf(body)).toBe(Object.prototype)
            }
          } catch (error) {
            expect(error).toBeInstanceOf(HubError)
            expect((error as HubError).code).toBe('validation_failed')
          }
        },
      ),
    )
  })
})

describe('the environment', () => {
  const pieces = [
    '1',
    '0',
    'true',
    ',',
    ':',
    '/',
    '//',
    '.',
    '..',
    '[',
    ']',
    '::1',
    '10.0.0.0',
    '/8',
    '%',
    'http://',
    'a',
    '@',
    '?',
    '#',
    'MB',
    '*',
    ' ',
  ]

  test('every variable takes any text: a value, or what is wanted; a text that was brought to its form stays', async () => {
    await check(
      fc.property(fc.constantFrom(...VARIABLES), hostileText(...pieces), ({ parse }, text) => {
        const parsed = parse(text)
        if (!parsed.ok) return expect(parsed.legal).not.toBe('')
        // The base path `/` is kept as the empty text, which is unset in the environment.
        if (typeof parsed.value !== 'string' || parsed.value === '') return
        expect(parse(parsed.value)).toEqual(parsed)
      }),
    )
  })
})
