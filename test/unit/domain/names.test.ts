import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  checkName,
  formatRef,
  isNameProblem,
  type NameKind,
  nameKey,
  parseRef,
  quoteName,
} from '../../../core/domain/names.ts'

const code = (name: unknown, kind: NameKind = 'server') => {
  const result = checkName(kind, name)
  return isNameProblem(result) ? result.code : 'ok'
}

describe('checkName()', () => {
  test.each(['time', 'My Server', 'a_b-c.d', '时间', 'Zürich', 'देवनागरी', '1'])('takes %s', name => {
    expect(code(name)).toBe('ok')
  })

  test.each([
    '',
    ' a',
    'a ',
    'a/b',
    'a~b',
    'a:b',
    '.',
    '..',
    '__proto__',
    '__PROTO__',
    'a\n',
    'a\0',
    'a\u200bb',
    'ㅤ',
    'x'.repeat(65),
    '😀',
    '\u0301a',
    'a\u202eb',
    'a<b',
  ])('refuses %j', name => {
    expect(code(name)).toBe('name_invalid')
  })

  test('calls @ and $ at the front reserved, and a number no string', () => {
    expect([code('@ada'), code('$ne'), code({ $ne: 1 }), code(5)]).toEqual([
      'name_reserved',
      'name_reserved',
      'type',
      'type',
    ])
  })

  test('takes no spaces in the name of a user', () => {
    expect([code('ada l', 'user'), code('ada.l', 'user')]).toEqual(['name_invalid', 'ok'])
  })

  test.each(['server', 'group', 'user', 'alias'] as const)('takes decimal digits alone in the name of a %s', kind => {
    expect(['a①', 'a²', 'aⅧ', 'a½'].map(name => code(name, kind))).toEqual(Array(4).fill('name_invalid'))
    expect(['a1', 'a٣'].map(name => code(name, kind))).toEqual(['ok', 'ok'])
  })

  test('counts characters after NFC', () => {
    expect(code('e\u0301'.repeat(64))).toBe('ok')
    expect(checkName('server', 'e\u0301')).toMatchObject({ name: 'é' })
  })

  test('never takes what would break a reference, a path or a settings key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 70 }), text => {
        const result = checkName('server', text)
        if (isNameProblem(result)) return
        expect(result.name).not.toMatch(/[/~:@$\\\p{C}]/u)
        expect(result.name.trim()).toBe(result.name)
        expect(parseRef(formatRef('ada', result.name))).toEqual({ owner: 'ada', name: result.name })
      }),
      { numRuns: 2000 },
    )
  })
})

describe('nameKey()', () => {
  test('is the same for spellings of one name', () => {
    const spellings = [
      ['STRASSE', 'straße'],
      ['ΣΊΣΥΦΟΣ', 'σίσυφος'],
      ['ｔｉｍｅ', 'time'],
      ['e\u0301', 'É'],
      ['ﬁle', 'FILE'],
    ]
    for (const [left, right] of spellings) expect(nameKey(left ?? '')).toBe(nameKey(right ?? ''))
  })

  test('changes no more when it is made of itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), text => {
        expect(nameKey(nameKey(text))).toBe(nameKey(text))
      }),
      { numRuns: 2000 },
    )
  })
})

test('quoteName() cuts after 64 characters and shows what is hidden', () => {
  expect(quoteName(`a\n${'x'.repeat(100)}`)).toBe(`"a⟨U+000A⟩${'x'.repeat(62)}…"`)
})

test('nameKey() folds the beginning of a text alone, which may grow 18 times by it', () => {
  const key = nameKey('ﷺ'.repeat(10_000))
  expect(key.length).toBeLessThan(4_096 * 18 + 10_000)
  expect(key.endsWith('ﷺ'.repeat(10_000 - 4_096))).toBe(true)
})
