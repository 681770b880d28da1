import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { callFrame } from '../../core/connections/connection/request-text.ts'
import { memberText, readMessages, readPlainResult, refuseDeep } from '../../core/connections/worker/links/incoming.ts'
import { members } from '../../core/connections/worker/members.ts'
import { HubError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/contract/json.ts'
import { checkStandardHeaders, decodeHeader, openEnvelope } from '../../core/mcp/rpc/envelope.ts'
import { progressToken } from '../../core/mcp/rpc/progress-token.ts'
import { errorMessage, idText, parseBody, readMessage, resultMessage, rpcError } from '../../core/mcp/rpc/rpc.ts'
import { check, hostileText, jsonValue } from '../support/fuzz.ts'

const SYNTAX = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"jsonrpc":"2.0"',
  '"id":1',
  '"id":"1"',
  '"result":',
  '"error":',
  '{"code":1,"message":"m"}',
  '"method":"m"',
  '"params":{}',
  'null',
  '1',
  '"',
  '\\',
  ' ',
  '\n',
  '{"jsonrpc":"2.0","id":',
  ',"result":',
  '{"result":',
  ',"jsonrpc":"2.0","id":',
]
const texts = hostileText(...SYNTAX)
const object = jsonValue().filter(isJsonObject) as fc.Arbitrary<JsonObject>
const member = fc.constantFrom('jsonrpc', 'id', 'method', 'params', 'result', 'error')
const version = fc.constantFrom('2.0', '1.0', 2, undefined)
/** Objects made of the members that messages have, in any mixture and order. */
const almostMessage = fc
  .tuple(version, fc.array(fc.tuple(member, jsonValue(2)), { maxLength: 5 }))
  .map(([jsonrpc, pairs]) =>
    JSON.stringify(Object.fromEntries([...(jsonrpc === undefined ? [] : [['jsonrpc', jsonrpc]]), ...pairs])),
  )

function parsed(text: string): { readonly value: JsonValue } | undefined {
  try {
    return { value: JSON.parse(text) as JsonValue }
  } catch {
    return undefined
  }
}

type Call = Parameters<typeof callFrame>[2]

function sentText(id: number, era: 'legacy' | 'modern', call: Call): string {
  const frame = callFrame(id, era, call, { hubVersion: '1', logs: true })
  return 'text' in frame ? frame.text : ''
}

describe('messages of an upstream', () => {
  test('readPlainResult() takes only what JSON.parse reads the same way', async () => {
    await check(
      fc.property(fc.oneof(texts, almostMessage), text => {
        const plain = readPlainResult(text)
        if (plain === undefined) return
        const whole = parsed(text)?.value
        expect(whole).toEqual({ jsonrpc: '2.0', id: plain.id, result: plain.value })
        expect(Object.keys(whole as JsonObject)).toHaveLength(3)
        expect(JSON.parse(plain.text)).toEqual(plain.value)
        expect(plain.text).not.toMatch(/[\r\n]/)
      }),
    )
  })

  test('readMessages() never throws, and its verdict follows from what JSON.parse sees', async () => {
    await check(
      fc.property(
        fc.oneof(
          texts,
          almostMessage,
          fc.array(almostMessage, { maxLength: 3 }).map(all => `[${all.join(',')}]`),
        ),
        text => {
          const value = parsed(text)
          const read = readMessages(text)
          if (!value) {
            // Messages may stand between other texts.
            const objects = text.split('{').length - 1
            const messages = read.filter(({ kind }) => kind !== 'bad').length
            expect(messages).toBeLessThanOrEqual(objects)
            if (messages === 0) expect(read).toHaveLength(1)
            return expect(read.length).toBeLessThanOrEqual(2 * messages + 1)
          }
          const all = Array.isArray(value.value) ? value.value : [value.value]
          expect(read).toHaveLength(all.length)
          read.forEach((message, index) => {
            const source = all[index] as JsonObject
            if (message.kind === 'bad') return
            const isUnversioned = 'isUnversioned' in message && message.isUnversioned === true
            expect(isUnversioned ? undefined : source.jsonrpc).toBe(isUnversioned ? undefined : '2.0')
            if (message.kind === 'result') expect(JSON.parse(message.text)).toEqual(source.result)
            if (message.kind === 'error') {
              const error = JSON.parse(message.text)
              if (message.isRepaired) expect(Number.isSafeInteger(error.code) && typeof error.message).toBe('string')
              else expect(error).toEqual(source.error)
            }
            if ('method' in message) expect(message.method).toBe(source.method as string)
            if ('id' in message) expect(message.id as JsonValue).toEqual(source.id as JsonValue)
          })
        },
      ),
    )
  })

  test('nesting of any depth and kind is an answer, never an overflow', () => {
    for (const depth of [64, 1_000, 20_000, 500_000]) {
      const [open, close] = ['['.repeat(depth), ']'.repeat(depth)]
      const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
      for (const inner of [`${open}${close}`, objects]) {
        for (const text of [
          inner,
          `[${inner}]`,
          `[{"jsonrpc":"2.0","id":1,"result":${inner}}]`,
          `{"jsonrpc":"2.0","id":1,"result":${inner}}`,
          `{"jsonrpc":"2.0", "id":1, "result":${inner}}`,
          `{"jsonrpc":"2.0","id":12345678901234567890,"result":${inner}}`,
          `{"jsonrpc":"2.0","method":"m","params":${inner}}`,
        ]) {
          const read = refuseDeep(text)
          if (depth > 256) expect(read?.kind).toBe('bad')
          else expect(readMessages(text)).toHaveLength(1)
        }
      }
    }
  })

  test('members() and memberText() cut out what JSON.parse finds', async () => {
    await check(
      fc.property(object, fc.nat(2), (value, space) => {
        const text = JSON.stringify(value, null, space)
        const found = members(text)
        expect(found.map(({ key }) => key)).toEqual(Object.keys(JSON.parse(text) as JsonObject))
        for (const { key } of found)
          expect(JSON.parse(memberText(text, key))).toEqual(JSON.parse(JSON.stringify(value[key])))
      }),
    )
  })
})

describe('messages of a client', () => {
  test('parseBody() and readMessage() take or refuse with a code, and an id comes back as it was written', async () => {
    await check(
      fc.property(fc.oneof(texts, almostMessage), text => {
        try {
          const message = readMessage(parseBody(text))
          const value = parsed(text)?.value as JsonObject
          if (message.kind === 'bad') return expect(message.message).not.toBe('')
          expect(value.jsonrpc).toBe('2.0')
          if (message.kind === 'notification') return
          const answer = resultMessage(message.id, '{}')
          expect(JSON.parse(answer)).toEqual({ jsonrpc: '2.0', id: value.id, result: {} })
        } catch (error) {
          expect(error).toBeInstanceOf(HubError)
          expect(['json_empty', 'json_invalid', 'json_too_deep', 'json_duplicate_key', 'key_forbidden']).toContain(
            (error as HubError).code,
          )
        }
      }),
    )
  })

  test('ids of any size and form: two are the same text only when they are the same', async () => {
    const id = fc.oneof(hostileText('1', '"', '\\'), fc.integer(), fc.maxSafeInteger())
    await check(
      fc.property(id, id, (one, other) => {
        expect(idText(one) === idText(other)).toBe(one === other)
        expect(JSON.parse(errorMessage(idText(one), rpcError(new HubError('internal', 'x'), 'r'))).id).toEqual(
          JSON.parse(JSON.stringify(one)),
        )
      }),
    )
  })

  test('openEnvelope() and the header checks take or refuse with a code, and keep what others put into _meta', async () => {
    const key = fc.constantFrom(
      'io.modelcontextprotocol/protocolVersion',
      'io.modelcontextprotocol/clientCapabilities',
      'io.modelcontextprotocol/logLevel',
      'io.modelcontextprotocol/x',
      'progressToken',
      'traceparent',
      '__proto__',
    )
    const value = fc.oneof(fc.constant('2026-07-28'), fc.constant({}), jsonValue(2))
    const meta = fc.array(fc.tuple(key, value), { maxLength: 5 }).map(pairs => Object.fromEntries(pairs) as JsonObject)
    const header = fc.oneof(
      fc.constantFrom('2026-07-28', 'tools/call', 'echo', '=?base64?w6k=?=', '=?base64??='),
      fc.stringMatching(/^[\x20-\x7e]{0,12}$/),
    )
    await check(
      fc.property(
        fc.oneof(meta, jsonValue(2)),
        jsonValue(1),
        header,
        header,
        (_meta, name, versionHeader, nameHeader) => {
          const params = { _meta: _meta as JsonValue, name: name as JsonValue, rest: 1 }
          const headers = new Headers({
            'mcp-protocol-version': versionHeader,
            'mcp-method': 'tools/call',
            'mcp-name': nameHeader,
          })
          try {
            checkStandardHeaders('tools/call', params, headers)
            if (typeof name === 'string') expect(decodeHeader(headers.get('mcp-name') ?? '', 'x')).toBe(name)
            const opened = openEnvelope({ kind: 'request', id: '1', method: 'tools/call', params }, headers)
            expect(opened.params?.rest).toBe(1)
            for (const kept of Object.keys((opened.params?._meta ?? {}) as JsonObject)) {
              expect(kept === 'progressToken' || kept.startsWith('io.modelcontextprotocol/')).toBe(false)
            }
          } catch (error) {
            expect(error).toBeInstanceOf(HubError)
            expect(['header_mismatch', 'version_unsupported', 'envelope_invalid']).toContain((error as HubError).code)
          }
        },
      ),
    )
  })

  test('a header in its base64 form gives back any text', async () => {
    await check(
      fc.property(hostileText('é', '\n', '=?'), text => {
        const name = text.toWellFormed()
        expect(decodeHeader(`=?base64?${Buffer.from(name).toString('base64')}?=`, 'Mcp-Name')).toBe(name)
      }),
    )
    await check(
      fc.property(hostileText('=?base64?', '?=', 'w6k=', '/w==', 'A', '='), text => {
        try {
          decodeHeader(text, 'Mcp-Name')
        } catch (error) {
          expect((error as HubError).code).toBe('header_mismatch')
        }
      }),
    )
  })
})

describe('requests to an upstream', () => {
  test('the text is one line of JSON with the params of the caller, the id, and the id as progress token', async () => {
    const request = fc.record(
      { method: fc.string(), params: object, progress: fc.constant(() => {}) },
      { requiredKeys: ['method'] },
    )
    await check(
      fc.property(fc.nat(), request, (id, given) => {
        const text = sentText(id, 'legacy', { request: given as Call['request'], input: undefined })
        expect(text).not.toMatch(/[\r\n]/)
        const value = JSON.parse(text)
        expect([value.jsonrpc, value.id, value.method]).toEqual(['2.0', id, given.method])
        expect(progressToken(value.params?._meta)).toEqual(given.progress ? id : progressToken(given.params?._meta))
        const { _meta: _, ...others } = given.params ?? {}
        const { _meta: __, ...sent } = value.params ?? {}
        expect(sent).toEqual(JSON.parse(JSON.stringify(others)))
      }),
    )
    await check(
      fc.property(fc.nat(), object, (id, params) => {
        const call = { request: { method: 'tools/call', params }, input: undefined } as unknown as Call
        const value = JSON.parse(sentText(id, 'modern', call))
        expect(value.params._meta['io.modelcontextprotocol/protocolVersion']).toBe('2026-07-28')
        expect(Object.hasOwn(value.params, 'requestState')).toBe(false)
      }),
    )
  })
})
