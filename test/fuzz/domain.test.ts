import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type FieldError, HubError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/contract/json.ts'
import { parseDuration } from '../../core/domain/duration.ts'
import { asDouble, isRawNumber, parseAsWritten, parseExact } from '../../core/domain/json/exact-json.ts'
import { parseJsonObject } from '../../core/domain/json/json-guard.ts'
import { mapStrings, pointerToken, valueAt } from '../../core/domain/json/json-pointer.ts'
import { mergePatch } from '../../core/domain/json/merge-patch.ts'
import { checkName, formatRef, isNameProblem, nameKey, parseRef, quoteName } from '../../core/domain/names.ts'
import { expandVariables, fillVariables, textFiller } from '../../core/domain/server/variables.ts'
import { parseSize } from '../../core/domain/size.ts'
import { parseTimestamp } from '../../core/domain/timestamp.ts'
import { check, hostileText, jsonValue } from '../support/fuzz.ts'
import { atMost } from '../support/pace.ts'

const whole = fc.oneof(fc.nat(), fc.maxSafeNat())
const object = jsonValue().filter(isJsonObject) as fc.Arbitrary<JsonObject>

describe('durations, sizes and times', () => {
  test('every duration that is read is a safe whole number', async () => {
    await check(fc.property(whole, ms => expect(parseDuration(`${ms}ms`)).toBe(ms)))
    await check(
      fc.property(hostileText('1', '0', '9007199254740993', 'w', 'd', 'h', 'm', 's', 'ms', '-', '.', ' '), text => {
        const ms = parseDuration(text)
        if (ms === undefined) return
        expect(Number.isSafeInteger(ms) && ms >= 0).toBe(true)
        expect(text).toMatch(/^(\d+(w|d|h|m|s|ms))+$/)
      }),
    )
  })

  test('a size is its number times its unit, or nothing', async () => {
    const units = { B: 1n, KB: 1000n, MB: 1000n ** 2n, GB: 1000n ** 3n, KiB: 1024n, MiB: 1024n ** 2n, TiB: 1024n ** 4n }
    await check(
      fc.property(fc.bigInt(0n, 1n << 60n), fc.constantFrom(...Object.entries(units)), (count, [unit, bytes]) => {
        const exact = count * bytes
        const parsed = parseSize(`${count}${unit}`)
        expect(parsed).toBe(exact <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(exact) : undefined)
      }),
    )
    await check(
      fc.property(hostileText('1', '9', 'B', 'KB', 'MiB', 'Mb', 'M', 'e', '.', ' ', '-'), text => {
        if (parseSize(text) !== undefined) expect(text).toMatch(/^\d+([kmgt]?b?|[kmgt]ib?)$/i)
      }),
    )
  })

  test('a timestamp is read as Date reads it, whatever the zone, and no other text is', async () => {
    const minutes = fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 })
    const moment = fc.date({ min: new Date('0001-01-01'), max: new Date('9998-12-31'), noInvalidDate: true })
    await check(
      fc.property(moment, minutes, (date, zone) => {
        const local = new Date(date.getTime() + zone * 60_000).toISOString().slice(0, -1)
        const [hours, rest] = [Math.floor(Math.abs(zone) / 60), Math.abs(zone) % 60]
        const text = `${local}${zone < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`
        if (/^\d{4}-/.test(text)) expect(parseTimestamp(text)).toBe(date.getTime())
      }),
    )
    const part = ['2027', '-', '02', '29', '31', 'T', '24', '23', ':', '59', '60', '.', '5', 'Z', '+', '00:00']
    await check(
      fc.property(hostileText(...part), text => {
        const ms = parseTimestamp(text)
        if (ms !== undefined) expect(new Date(ms).getTime()).toBe(Date.parse(text))
      }),
    )
  })
})

describe('names', () => {
  const names = hostileText(
    'a',
    'ß',
    'ς',
    'K',
    'ﬁ',
    '\u0301',
    '\u3164',
    ' ',
    '.',
    '..',
    '@',
    '$',
    '~',
    '__proto__',
    '\u202e',
  )

  test('checkName() never throws, is idempotent, and what it lets through cannot be seen as something else', async () => {
    await check(
      fc.property(fc.constantFrom('server', 'group', 'user', 'alias'), names, (kind, text) => {
        const checked = checkName(kind as 'server', text)
        if (isNameProblem(checked)) return expect(checked.detail.isWellFormed()).toBe(true)
        expect(checkName(kind as 'server', checked.name)).toEqual(checked)
        expect(checked.name).not.toMatch(/[\p{C}\p{Zl}\p{Zp}~/\\<>"'&;]/u)
        expect(parseRef(formatRef(checked.name, checked.name))).toEqual({ owner: checked.name, name: checked.name })
        expect(decodeURIComponent(encodeURIComponent(checked.name))).toBe(checked.name)
      }),
    )
  })

  test('nameKey() gives one key to every spelling that differs in case or form', async () => {
    await check(
      fc.property(names, text => {
        // Names are stored in this form. Upper case of a text that is not normalized can move an accent: U+1F20 U+0345 U+0301
        // becomes two letters.
        const name = text.toWellFormed().normalize('NFC')
        const key = nameKey(name)
        expect([nameKey(key), nameKey(text)]).toEqual([key, key])
        for (const other of [name.toUpperCase(), name.toLowerCase(), name.normalize('NFD'), name.normalize('NFKC')]) {
          expect(nameKey(other)).toBe(key)
        }
      }),
    )
  })

  test('quoteName() is one line of JSON without control characters', async () => {
    await check(
      fc.property(names, text => {
        const quoted = quoteName(text)
        // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must not be there
        expect(quoted).not.toMatch(/[\u0000-\u001f]/)
        const said = (JSON.parse(quoted) as string).replaceAll(/⟨U\+[0-9A-F]{4,6}⟩/g, '?')
        expect([...said].length).toBeLessThanOrEqual(65)
      }),
    )
  })
})

describe('JSON', () => {
  test('a pointer made of keys leads to the value that the keys lead to', async () => {
    const walk = (value: JsonValue, pointer: string, seen: [string, JsonValue][]): void => {
      if (pointer !== '') seen.push([pointer, value])
      if (typeof value !== 'object' || value === null) return
      for (const key of Object.keys(value))
        walk((value as JsonObject)[key] as JsonValue, `${pointer}/${pointerToken(key)}`, seen)
    }
    await check(
      fc.property(jsonValue(), root => {
        const seen: [string, JsonValue][] = []
        walk(root as JsonValue, '', seen)
        for (const [pointer, value] of seen) expect(valueAt(root as JsonValue, pointer)).toBe(value)
        expect(mapStrings(root as JsonValue, text => text)).toEqual(root as JsonValue)
      }),
    )
    await check(
      fc.property(jsonValue(), hostileText('/', '~', '~0', '~1', '0', 'length', '__proto__'), (root, pointer) => {
        const found = valueAt(root as JsonValue, pointer)
        expect(['undefined', 'object', 'string', 'number', 'boolean']).toContain(typeof found)
        expect(found).not.toBe(Object.prototype as never)
      }),
    )
  })

  test('a merge patch follows RFC 7396: its second application changes nothing, and no prototype is touched', async () => {
    const oracle = (target: JsonValue | undefined, patch: JsonValue): JsonValue => {
      if (!isJsonObject(patch)) return patch
      const result = new Map(isJsonObject(target) ? Object.entries(target) : [])
      for (const [key, value] of Object.entries(patch)) {
        if (value === null) result.delete(key)
        else result.set(key, oracle(result.get(key), value))
      }
      return Object.fromEntries(result)
    }
    await check(
      fc.property(object, object, (target, patch) => {
        const [before, given] = [JSON.stringify(target), JSON.stringify(patch)]
        const merged = mergePatch(target, patch)
        expect(JSON.stringify(merged)).toBe(JSON.stringify(oracle(target, patch)))
        expect(mergePatch(merged, patch)).toEqual(merged)
        expect([JSON.stringify(target), JSON.stringify(patch)]).toEqual([before, given])
        expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
      }),
    )
  })

  test('parseExact() keeps every number as it was written, and agrees with JSON.parse', async () => {
    const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,30})(\.\d{1,25})?([eE][+-]?\d{1,4})?$/)
    await check(
      fc.property(fc.array(digits, { maxLength: 6 }), numbers => {
        const text = `{"a":[${numbers.join(',')}]}`
        const value = parseExact(text) as { a: JsonValue[] }
        value.a.forEach((number, index) => {
          const source = numbers[index] ?? ''
          expect(asDouble(number)).toBe(Number(source))
          if (isRawNumber(number)) expect(JSON.stringify(number)).toBe(source)
          else expect(Number(JSON.stringify(number)) === Number(source)).toBe(true)
        })
      }),
    )
    await check(
      fc.property(fc.array(digits, { maxLength: 6 }), numbers => {
        const text = `{"a":[${numbers.join(',')}]}`
        expect(JSON.stringify(parseAsWritten(text))).toBe(text)
      }),
    )
    const syntax = ['{', '}', '[', ']', ',', ':', '"a"', '1e999', '12345678901234567890', 'null', ' ', '"']
    await check(
      fc.property(hostileText(...syntax), text => {
        const outcome = (parse: (text: string) => unknown): unknown => {
          try {
            return JSON.stringify(parse(text))
              ?.replace(/-?\d[\d.eE+-]*/g, '#')
              .replace(/null/g, '#')
          } catch (error) {
            return (error as Error).name
          }
        }
        expect(outcome(parseExact)).toEqual(outcome(JSON.parse))
        expect(outcome(parseAsWritten)).toEqual(outcome(JSON.parse))
      }),
    )
  })

  test('parseJsonObject() takes what JSON.parse takes, and refuses with a code whatever else comes', async () => {
    const syntax = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"__proto__"',
      '"constructor"',
      '1',
      'null',
      '\n',
      '\\"',
      '//',
      '\u00a0',
    ]
    await check(
      fc.property(hostileText(...syntax), text => {
        try {
          expect(parseJsonObject(text)).toEqual(JSON.parse(text))
        } catch (error) {
          expect(error).toBeInstanceOf(HubError)
          expect((error as HubError).code).toMatch(/^json_(empty|invalid|not_object|duplicate_key)$|^key_forbidden$/)
          if ((error as HubError).code === 'json_invalid') expect(() => JSON.parse(text)).toThrow()
        }
      }),
    )
    await check(
      fc.property(object, value => {
        const text = JSON.stringify(value)
        const forbidden = /"(__proto__|constructor|prototype)":/.test(text)
        if (!forbidden) expect(parseJsonObject(text)).toEqual(value)
        else expect(() => parseJsonObject(text)).toThrow(HubError)
      }),
    )
  })

  test('parseJsonObject() sees a key that comes twice wherever it is, and however it is escaped', async () => {
    await check(
      fc.property(object, fc.string({ unit: 'grapheme' }), fc.boolean(), (value, key, escaped) => {
        const plain = JSON.stringify(key)
        const other = escaped ? escapedText(key) : plain
        const text = `{"around":[${JSON.stringify(value)},{${plain}:1,"x y":{},${other}:2}]}`
        expect(() => parseJsonObject(text)).toThrow(HubError)
      }),
    )
  })
})

/** A JSON string of escapes alone. */
function escapedText(text: string): string {
  return `"${text
    .split('')
    .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')}"`
}

function reference(name: string): string {
  return `\${${name}}`
}

describe('variables', () => {
  const name = fc.constantFrom('A', 'B', 'C', 'D', 'toString', '__proto__')
  const texts = hostileText(
    ...['A', 'B', 'C', 'toString', 'unknown'].map(reference),
    `$${reference('A')}`,
    '$',
    '{',
    '}',
  )

  test('filling in ends, stays within its bound, and says what is unknown or circular', async () => {
    const variables = fc.array(fc.tuple(name, texts), { maxLength: 6 }).map(pairs => Object.fromEntries(pairs))
    await check(
      fc.property(variables, texts, (given, text) => {
        const { values, errors } = expandVariables(given)
        expect(Object.keys(values)).toEqual(Object.keys(given))
        for (const error of errors) expect(['variable_unknown', 'variable_cycle', 'length']).toContain(error.code)
        const problems: FieldError[] = []
        const filled = textFiller(values, problems)(text, '#/env/A')
        expect(filled.length).toBeLessThanOrEqual(256 * 1024)
        const unknown = [...text.matchAll(/\$?\$\{([^{}]*)\}/g)].filter(
          ([whole, inner = '']) => !whole.startsWith('$$') && !Object.hasOwn(given, inner),
        )
        expect(problems.length).toBe(unknown.length)
      }),
    )
  })

  test('variables that double themselves are refused within their bound', () => {
    const doubling = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [
        `V${index}`,
        index === 39 ? 'x'.repeat(100) : reference(`V${index + 1}`).repeat(4),
      ]),
    )
    const start = performance.now()
    expect(() => fillVariables({ env: { A: reference('V0') } }, doubling)).toThrow(HubError)
    expect(performance.now() - start).toBeLessThan(atMost(2_000))
  })
})
