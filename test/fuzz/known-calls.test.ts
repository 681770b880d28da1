import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../core/contract/json.ts'
import { checkStandardHeaders, openEnvelope } from '../../core/mcp/rpc/envelope.ts'
import { isModern } from '../../core/mcp/rpc/era.ts'
import { type KnownCall, KnownCalls } from '../../core/mcp/rpc/known-calls.ts'
import { parseBody, type RequestMessage, readMessage } from '../../core/mcp/rpc/rpc.ts'
import { check, jsonValue } from '../support/fuzz.ts'

const META = 'io.modelcontextprotocol/'
const ENVELOPE = {
  [`${META}protocolVersion`]: '2026-07-28',
  [`${META}clientInfo`]: { name: 'fuzz', version: '1' },
  [`${META}clientCapabilities`]: { roots: {} },
}
const META_TEXT = `"_meta":${JSON.stringify(ENVELOPE)}`
const HEADERS = new Headers({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' })

interface Opened extends KnownCall {
  readonly message: RequestMessage
}

/** What a body is where nothing is known. Throws what is wrong with it. */
function opened(body: string, headers: Headers): Opened {
  const value = parseBody(body)
  if (!isModern(value, headers)) throw new Error('not modern')
  const message = readMessage(value)
  if (message.kind !== 'request') throw new Error(`a ${message.kind}`)
  const envelope = openEnvelope(message, headers)
  checkStandardHeaders(message.method, message.params, headers)
  if (message.method !== 'tools/call') throw new Error('no call')
  return { id: message.id, envelope, message }
}

function expected(body: string, headers = HEADERS): KnownCall | undefined {
  try {
    const { id, envelope } = opened(body, headers)
    return { id, envelope }
  } catch {
    return undefined
  }
}

function learned(body: string, headers = HEADERS): KnownCalls {
  const calls = new KnownCalls()
  const { message, envelope } = opened(body, headers)
  calls.learn(body, message, envelope, headers)
  return calls
}

/** How a client writes its calls: the order of the members, and what else it says. */
const layout = fc
  .record({
    root: fc.shuffledSubarray(['jsonrpc', 'id', 'method', 'params'], { minLength: 4 }),
    params: fc.shuffledSubarray(['name', 'arguments', '_meta'], { minLength: 3 }),
    logLevel: fc.constantFrom(undefined, 'info'),
  })
  .map(({ root, params, logLevel }) => (id: number, args: JsonValue): string => {
    const _meta = logLevel === undefined ? ENVELOPE : { ...ENVELOPE, [`${META}logLevel`]: logLevel }
    const all: Record<string, JsonValue> = { name: 'echo', arguments: args, _meta }
    const inner = Object.fromEntries(params.map(key => [key, all[key] as JsonValue]))
    const outer: JsonObject = { jsonrpc: '2.0', id, method: 'tools/call', params: inner }
    return JSON.stringify(Object.fromEntries(root.map(key => [key, outer[key]])))
  })
const id = fc.oneof(fc.nat(), fc.constantFrom(0, 7, 999_999_999_999_999, 10 ** 15))
const args = fc.oneof(
  fc.constantFrom({ text: 'x'.repeat(64) }, {}, { id: 7 }, { text: '"id":7' }, { _meta: ENVELOPE }),
  jsonValue() as fc.Arbitrary<JsonValue>,
)
const PIECES = [
  '"',
  '\\"',
  ',',
  '}',
  '{',
  '"id":7',
  '"arguments":{}',
  ',"name":"other"',
  '0',
  '-',
  '1e3',
  ' ',
  '\n',
  '\\u0041',
]

describe('calls that say nothing new', () => {
  test('a call like the one before but for id and arguments is known, and is what it is without that', async () => {
    let known = 0
    await check(
      fc.property(layout, id, args, id, args, (write, firstId, firstArgs, nextId, nextArgs) => {
        // The mark of arguments that are written elsewhere as well cannot be placed.
        const first = write(firstId, firstArgs)
        if (expected(first) === undefined) return
        const body = write(nextId, nextArgs)
        const call = learned(first).open(body, HEADERS)
        if (call === undefined) return
        known += 1
        expect(call).toEqual(expected(body) as KnownCall)
      }),
    )
    expect(known).toBeGreaterThan(300)
  })

  test('whatever is done to a text, a call is known as what it is, or not at all', async () => {
    const edit = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      cut: fc.nat(12),
      put: fc.constantFrom('', ...PIECES),
    })
    await check(
      fc.property(
        layout,
        id,
        args,
        fc.array(edit, { minLength: 1, maxLength: 3 }),
        (write, nextId, nextArgs, edits) => {
          const calls = learned(write(7, { text: 'first' }))
          let body = write(nextId, nextArgs)
          for (const { at, cut, put } of edits) {
            const place = Math.floor(at * body.length)
            body = body.slice(0, place) + put + body.slice(place + cut)
          }
          const call = calls.open(body, HEADERS)
          if (call) expect(expected(body)).toEqual(call)
        },
      ),
    )
  })

  describe.each([
    [
      'id first',
      (n: string, given: string) =>
        `{"jsonrpc":"2.0","id":${n},"method":"tools/call","params":{"name":"echo","arguments":${given},${META_TEXT}}}`,
    ],
    [
      'id last',
      (n: string, given: string) =>
        `{"method":"tools/call","params":{"name":"echo","arguments":${given},${META_TEXT}},"jsonrpc":"2.0","id":${n}}`,
    ],
    [
      'envelope first',
      (n: string, given: string) =>
        `{"method":"tools/call","params":{${META_TEXT},"name":"echo","arguments":${given}},"jsonrpc":"2.0","id":${n}}`,
    ],
  ])('a client that writes %s', (_, write) => {
    const calls = learned(write('1', '{"text":"one"}'))

    test('is known from its second call on', () => {
      const body = write('22', '{"text":"two"}')
      expect(calls.open(body, HEADERS)).toEqual(expected(body) as KnownCall)
    })

    test.each(['007', '00', '-1', '1.0', '1e3', '"1"', '1234567890123456', '', ' 7'])(
      'is not known by the id %p',
      number => {
        expect(calls.open(write(number, '{}'), HEADERS)).toBeUndefined()
      },
    )

    test.each([
      ['"method"', '"methud"'],
      ['"arguments"', '"argumints"'],
      ['"name":"echo"', '"name":"ecco"'],
      ['"2.0"', '"2.1"'],
      ['"id"', '"di"'],
      ['"roots":{}', '"roots":[]'],
    ])('is not known where %p became %p', (was, became) => {
      expect(calls.open(write('2', '{}').replace(was, became), HEADERS)).toBeUndefined()
    })
  })

  test('a number elsewhere that is the same as the id is not taken for it', () => {
    const clientInfo = { name: 'fuzz', version: '1', id: 1 }
    const meta = JSON.stringify({ ...ENVELOPE, [`${META}clientInfo`]: clientInfo })
    const write = (n: number) =>
      `{"method":"tools/call","params":{"_meta":${meta},"name":"echo","arguments":{"id":1}},"jsonrpc":"2.0","id":${n}}`
    const calls = learned(write(1))
    expect(calls.open(write(1).replace('"id":1', '"id":2'), HEADERS)).toBeUndefined()
    expect([undefined, '2']).toContain(calls.open(write(2), HEADERS)?.id)
  })

  test('arguments are refused or kept exact as those of a first call are', () => {
    const write = (given: string) =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${given},"_meta":${JSON.stringify(ENVELOPE)}}}`
    const calls = learned(write('{}'))
    const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
    for (const given of ['{"a":1,"\\u0061":1}', nested(63), nested(64), '{"a":1', '01', '{} {}', ''])
      expect([given, calls.open(write(given), HEADERS)]).toEqual([given, undefined])
    expect(expected(write(nested(62)))).toBeDefined()
    expect(expected(write(nested(63)))).toBeUndefined()
    for (const given of ['{"n":12345678901234567890.5}', '{"__proto__":1,"constructor":{"prototype":2}}']) {
      const exact = calls.open(write(given), HEADERS)
      expect(JSON.stringify(exact?.envelope.params?.arguments)).toBe(given)
    }
  })

  test('a call with other headers than the one before is left to others', () => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'echo', arguments: {}, _meta: ENVELOPE },
    })
    const calls = learned(body)
    expect(calls.open(body, HEADERS)).toBeDefined()
    for (const [name, value] of [
      ['mcp-protocol-version', '2025-11-25'],
      ['mcp-method', 'tools/list'],
      ['mcp-name', 'other'],
    ] as const) {
      const headers = new Headers(HEADERS)
      headers.set(name, value)
      expect([name, calls.open(body, headers)]).toEqual([name, undefined])
      headers.delete(name)
      expect([name, calls.open(body, headers)]).toEqual([name, undefined])
    }
  })

  test('a name that a header holds in another form is never known by its own', () => {
    const write = (name: string) =>
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {}, _meta: ENVELOPE } })
    for (const name of ['gr\u00fc\u00dfe', '=?base64?eA==?=']) {
      const coded = new Headers(HEADERS)
      coded.set('mcp-name', `=?base64?${Buffer.from(name).toString('base64')}?=`)
      const calls = learned(write(name), coded)
      const plain = new Headers(HEADERS)
      plain.set('mcp-name', name)
      expect(expected(write(name), plain)).toBeUndefined()
      expect(calls.open(write(name), plain)).toBeUndefined()
    }
  })

  test('at most eight tools are known at a time, the ones called first making room', () => {
    const calls = new KnownCalls()
    const of = (index: number) => {
      const name = `tool-${index}`
      const headers = new Headers(HEADERS)
      headers.set('mcp-name', name)
      const params = { name, arguments: {}, _meta: ENVELOPE }
      return { headers, body: JSON.stringify({ jsonrpc: '2.0', id: index, method: 'tools/call', params }) }
    }
    const isKnown = (index: number) => calls.open(of(index).body, of(index).headers) !== undefined
    for (let index = 0; index < 20; index += 1) {
      const { body, headers } = of(index)
      const { message, envelope } = opened(body, headers)
      calls.learn(body, message, envelope, headers)
      expect(isKnown(index)).toBe(true)
    }
    expect(Array.from({ length: 20 }, (_, index) => isKnown(index)).lastIndexOf(false)).toBe(11)
  })

  test('less and less is learned of a client whose calls are never the same', () => {
    const calls = new KnownCalls()
    let known = 0
    for (let round = 0; round < 2_000; round += 1) {
      const clientInfo = { name: `client ${round}`, version: '1' }
      const params = { name: 'echo', arguments: {}, _meta: { ...ENVELOPE, [`${META}clientInfo`]: clientInfo } }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      const { message, envelope } = opened(body, HEADERS)
      calls.learn(body, message, envelope, HEADERS)
      // Not a call of the client, which writes no body twice: only this says whether it was learned.
      if (round % 100 === 99 && calls.open(body, HEADERS)) known += 1
    }
    expect(known).toBeLessThan(3)
  })
})
