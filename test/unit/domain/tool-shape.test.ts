import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../../core/contract/json.ts'
import { groupBodyOf, parseGroupBody } from '../../../core/domain/group-body.ts'
import { serverBodyOf } from '../../../core/domain/server/body.ts'
import { bothNames, joinRules, overrideOf, shapeArguments, shapeSchema } from '../../../core/domain/tools/tool-shape.ts'
import { parseServerBody } from './parse-server-body.ts'

const schema = {
  type: 'object',
  properties: { a: { type: 'string' }, b: { type: 'number', description: 'was' }, c: {}, d: true },
  required: ['a', 'b', 'c', 'd'],
  additionalProperties: false,
}

describe('shapeSchema()', () => {
  test('leaves out what is pinned or hidden, and says defaults and descriptions', () => {
    const rules = { a: { pin: 'x' }, b: { default: 7, description: 'is' }, c: { hidden: true }, gone: { pin: 1 } }
    expect(shapeSchema(schema, rules)).toEqual({
      type: 'object',
      properties: { b: { type: 'number', description: 'is', default: 7 }, d: true },
      required: ['d'],
      additionalProperties: false,
    })
    expect(schema.required).toHaveLength(4)
  })

  test('drops an empty list of required arguments, and makes an object of a schema that is none', () => {
    expect(shapeSchema({ type: 'object', required: ['a'] }, { a: { pin: 1 } })).toEqual({ type: 'object' })
    expect(shapeSchema(undefined, { a: { pin: 1 } })).toEqual({ type: 'object' })
    expect(shapeSchema(true, { a: { pin: 1 } })).toEqual({ type: 'object' })
  })

  test('reaches what the alternatives and parts of a schema say about an argument', () => {
    const part = (name: string) => ({ properties: { [name]: { type: 'string' }, x: {} }, required: [name, 'x'] })
    const whole = {
      type: 'object',
      allOf: [part('a'), true],
      oneOf: [part('b'), { anyOf: [part('c')] }],
      dependentRequired: { a: ['x'], x: ['a', 'y'], y: ['b'] },
    }
    const shaped = shapeSchema(whole, { a: { pin: 1 }, b: { hidden: true }, c: { default: 'z' } })
    expect(shaped).toEqual({
      type: 'object',
      allOf: [{ properties: { x: {} }, required: ['x'] }, true],
      oneOf: [
        { properties: { x: {} }, required: ['x'] },
        { anyOf: [{ properties: { c: { type: 'string', default: 'z' }, x: {} }, required: ['x'] }] },
      ],
      dependentRequired: { x: ['y'] },
    })
  })

  test('takes names such as __proto__ and constructor for what they are', () => {
    const odd = JSON.parse('{"properties":{"__proto__":{"type":"string"},"constructor":{}}}') as JsonObject
    const rules = JSON.parse('{"__proto__":{"pin":1}}')
    expect(Object.keys(shapeSchema(odd, rules).properties as JsonObject)).toEqual(['constructor'])
    expect(JSON.stringify(shapeArguments({}, rules))).toBe('{"__proto__":1}')
  })
})

describe('shapeArguments()', () => {
  test('pinned values win, hidden ones are dropped, defaults fill what is missing and nothing else', () => {
    const rules = { a: { pin: 'x' }, b: { default: 7 }, c: { hidden: true }, e: { hidden: true, default: [1] } }
    expect(shapeArguments({ a: 'mine', b: 1, c: 'mine', d: 2, e: 'mine' }, rules)).toEqual({
      a: 'x',
      b: 1,
      d: 2,
      e: [1],
    })
    expect(shapeArguments(undefined, rules)).toEqual({ a: 'x', b: 7, e: [1] })
    expect(shapeArguments({ b: null }, rules)).toEqual({ a: 'x', b: null, e: [1] })
  })

  test('a pinned null, false, 0 or empty text is a value', () => {
    for (const pin of [null, false, 0, '']) expect(shapeArguments({ a: 1 }, { a: { pin } })).toEqual({ a: pin })
  })
})

test('joinRules() lets a group add rules, and never loosen what the server’s owner pinned or hid', () => {
  const server = { a: { pin: 1 }, b: { hidden: true, default: 2 }, c: { default: 3, description: 'was' } }
  const member = { a: { pin: 9 }, b: { pin: 9 }, c: { description: 'is' }, d: { pin: 4 } }
  expect(joinRules(server, member)).toEqual({
    a: { pin: 1 },
    b: { hidden: true, default: 2 },
    c: { default: 3, description: 'is' },
    d: { pin: 4 },
  })
  expect(joinRules(undefined, undefined)).toBeUndefined()
})

test('bothNames() is what both let through', () => {
  expect(bothNames('all', undefined)).toBe('all')
  expect(bothNames(undefined, ['a'])).toEqual(['a'])
  expect(bothNames(['a'], 'all')).toEqual(['a'])
  expect(bothNames(['a', 'b'], ['b', 'c'])).toEqual(['b'])
})

test('overrideOf() takes no inherited member for an override', () => {
  expect(overrideOf({}, 'constructor')).toBeUndefined()
})

describe('the fields of a body', () => {
  const tools = {
    run: { name: 'go', arguments: { a: { pin: { deep: [null] } }, b: { default: 0, description: 'd' } } },
  }

  test('of a server come back as they were given', () => {
    const body = {
      name: 's',
      command: 'x',
      tools,
      toolsDefault: 'off',
      definitionPolicy: 'pin',
      prompts: ['p'],
      resources: [],
    }
    const { settings } = parseServerBody(body as JsonObject)
    expect(settings).toMatchObject({
      tools,
      toolsDefault: 'off',
      definitionPolicy: 'pin',
      prompts: ['p'],
      resources: [],
    })
    expect(parseServerBody(serverBodyOf(settings)).settings).toEqual(settings)
    const plain = parseServerBody({ name: 's', command: 'x', prompts: 'all', toolsDefault: 'on' }).settings
    expect(plain).not.toHaveProperty('prompts')
    expect(plain).not.toHaveProperty('definitionPolicy')
    expect(plain).not.toHaveProperty('toolsDefault')
  })

  test('of a group come back as they were given', () => {
    const member = { server: 's', tools: [{ name: 'run', as: 'go', arguments: { a: { pin: 1 } } }] }
    const { members } = parseGroupBody({ name: 'g', members: [member] } as JsonObject)
    expect(members[0]?.tools).toEqual(member.tools)
    const record = { name: 'g', visibility: 'private', naming: 'auto', members: [{ ...members[0], serverRef: 'a~s' }] }
    expect(groupBodyOf(record as never).members).toMatchObject([{ server: 'a~s', tools: member.tools }])
  })

  test.each([
    [{ run: { arguments: { a: { pin: 1, default: 2 } } } }, '#/tools/run/arguments/a/default', 'ambiguous'],
    [{ run: { arguments: { a: { pinned: 1 } } } }, '#/tools/run/arguments/a/pinned', 'unknown_field'],
    [{ run: { arguments: { a: { hidden: 'yes' } } } }, '#/tools/run/arguments/a/hidden', 'type'],
    [{ run: { arguments: { a: 1 } } }, '#/tools/run/arguments/a', 'type'],
    [{ run: { arguments: [] } }, '#/tools/run/arguments', 'type'],
    [{ run: { arguments: { a: { pin: 'x'.repeat(70_000) } } } }, '#/tools/run/arguments/a/pin', 'length'],
  ])('a wrong rule is refused: %#', (bad, pointer, code) => {
    const read = () => parseServerBody({ name: 's', command: 'x', tools: bad } as unknown as JsonObject)
    expect(read).toThrow(expect.objectContaining({ errors: [expect.objectContaining({ pointer, code })] }))
  })
})
