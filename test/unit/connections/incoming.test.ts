import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { memberText, readMessages, readPlainResult } from '../../../core/connections/worker/links/incoming.ts'

test('readPlainResult() finds the result of any JSON value in both shapes', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(1e9), (value, id) => {
      const text = JSON.stringify(value)
      const wanted = { kind: 'result' as const, id, text, value: JSON.parse(text) }
      expect(readPlainResult(`{"jsonrpc":"2.0","id":${id},"result":${text}}`)).toEqual(wanted)
      expect(readPlainResult(`{"result":${text},"jsonrpc":"2.0","id":${id}}`)).toEqual(wanted)
    }),
  )
})

test('readPlainResult() takes nothing in which a second key could hide', () => {
  for (const text of [
    '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}',
    '{"jsonrpc":"2.0","id":1,"result":{},"id":2}',
    '{"result":{},"id":2,"jsonrpc":"2.0","id":1}',
    '{"jsonrpc":"2.0","id":"1","result":{}}',
    '{"jsonrpc":"2.0","id":,"result":{}}',
    '{"jsonrpc":"2.0","id":1,"result":}',
    '{"result":{"a":1}',
    '',
  ]) {
    expect(readPlainResult(text)).toBeUndefined()
  }
})

test('memberText() returns a member as written, whatever stands around it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.string(), (wanted, other, key) => {
      fc.pre(key !== 'result')
      const text = JSON.stringify({ [key]: other, result: wanted, jsonrpc: '2.0' }, null, 2)
      expect(JSON.parse(memberText(text, 'result'))).toEqual(JSON.parse(JSON.stringify(wanted)))
    }),
  )
  expect(memberText('{"a":[1,{"result":2}],"result" : 12345678901234567890 ,"b":"\\"result\\":3"}', 'result')).toBe(
    '12345678901234567890',
  )
})

test('readMessages() tells results, errors, requests, notifications and faults apart', () => {
  const kinds = (text: string): string[] => readMessages(text).map(message => message.kind)
  expect(kinds('{"id":1,"jsonrpc":"2.0","result":{}}')).toEqual(['result'])
  expect(kinds('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}')).toEqual(['error'])
  expect(kinds('{"jsonrpc":"2.0","id":"x","method":"ping"}')).toEqual(['request'])
  expect(kinds('{"jsonrpc":"2.0","method":"notifications/x"}')).toEqual(['notification'])
  expect(kinds('[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"result":{}}]')).toEqual([
    'notification',
    'result',
  ])
  for (const bad of ['hello', '5', '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}']) {
    expect(kinds(bad)).toEqual(['bad'])
  }
  expect(readMessages('{"jsonrpc":"2.0","id":4,"result":{"a":}}')[0]).toMatchObject({ kind: 'bad', id: 4 })
})

test('readMessages() reads answers in the forms that other clients read: ids as texts, and null for what does not apply', () => {
  const [result] = readMessages('{"jsonrpc":"2.0","id":"7","result":{"a":1},"error":null}')
  expect(result).toMatchObject({ kind: 'result', id: 7, text: '{"a":1}' })
  const [error] = readMessages('{"jsonrpc":"2.0","id":"8","result":null,"error":{"code":-1,"message":"no"}}')
  expect(error).toMatchObject({ kind: 'error', id: 8, text: '{"code":-1,"message":"no"}' })
  expect(readMessages('{"jsonrpc":"2.0","id":"7","method":"ping"}')[0]).toMatchObject({ kind: 'request', id: '7' })
  for (const id of ['"7.0"', '"07"', '" 7"', '""', '"x"', '"9007199254740993"'])
    expect(readMessages(`{"jsonrpc":"2.0","id":${id},"result":{}}`)[0]).toMatchObject({ id: JSON.parse(id) })
})

test.each([
  ['"broken"', { code: -32603, message: 'broken' }],
  ['{"message":"oops"}', { code: -32603, message: 'oops' }],
  ['{"code":"-32001","message":"oops","data":{"n":1}}', { code: -32001, message: 'oops', data: { n: 1 } }],
  ['{"code":"EFAIL","message":"oops"}', { code: -32603, message: 'oops' }],
  ['{"code":-1.5,"message":"oops"}', { code: -32603, message: 'oops' }],
  ['{"code":4,"message":["a"]}', { code: 4, message: '["a"]' }],
  ['{"code":4,"message":null}', { code: 4, message: '{"code":4,"message":null}' }],
  ['{}', { code: -32603, message: '{}' }],
])('readMessages() keeps what an error in another form says: %s', (error, mended) => {
  const [message] = readMessages(`{"jsonrpc":"2.0","id":4,"error":${error}}`)
  expect(message).toMatchObject({ kind: 'error', id: 4, isRepaired: true })
  expect(JSON.parse((message as { text: string }).text)).toEqual(mended)
})

test('readMessages() says what is wrong with an error that says nothing', () => {
  for (const error of ['""', 'false', '5', '["a"]']) {
    const [message] = readMessages(`{"jsonrpc":"2.0","id":4,"error":${error}}`)
    expect(message).toMatchObject({ kind: 'bad', id: 4, detail: expect.stringContaining(error) })
  }
})

test('readMessages() takes a line of a log for no answer, whatever numbers it has', () => {
  for (const line of ['{"id":3,"level":30,"msg":"ready"}', 'INFO {"id": 3} ready', '{"level":30,"id":3'])
    expect(readMessages(line)).toEqual([{ kind: 'bad', detail: expect.any(String), stray: line }])
  expect(readMessages('{"id":3,"result":{}}')[0]).toMatchObject({ kind: 'result', id: 3, isUnversioned: true })
  expect(readMessages('{"id":3,"level":30,"error":"full"}')[0]).toMatchObject({ kind: 'bad', id: 3 })
})

test.each<[string, string, string[]]>([
  ['in the colours of a terminal', '\u001b[32m{"jsonrpc":"2.0","id":3,"result":{}}\u001b[0m', ['bad', 'result', 'bad']],
  ['before other text', '{"jsonrpc":"2.0","id":3,"result":{"a":"}"}} done.', ['result', 'bad']],
  ['before a zero byte', '{"result":{},"id":3,"jsonrpc":"2.0"}\0', ['result', 'bad']],
  ['in another order behind text', 'LOG: {"id":3,"jsonrpc":"2.0","result":{}}', ['bad', 'result']],
  [
    'before another message',
    '{"jsonrpc":"2.0","id":3,"result":{}}{"jsonrpc":"2.0","method":"n"}',
    ['result', 'notification'],
  ],
  [
    'as an error between text',
    '> {"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"m"}} <',
    ['bad', 'error', 'bad'],
  ],
  ['as a request that a log line repeats', 'got {"jsonrpc":"2.0","id":3,"method":"ping"} from x', ['bad']],
  ['without its version', 'sent {"id":3,"result":{}} to x', ['bad']],
  ['behind one without an end', 'got {"id":3, then {"jsonrpc":"2.0","id":3,"result":{}}', ['bad', 'result']],
  ['without an end', 'sent {"jsonrpc":"2.0","id":3,"result":{', ['bad']],
])('readMessages() reads a message %s', (_where, text, kinds) => {
  expect<string[]>(readMessages(text).map(({ kind }) => kind)).toEqual(kinds)
})

test('a result that spans lines is passed on without raw line ends and with its numbers as written', () => {
  const [message] = readMessages('{"jsonrpc":"2.0","id":1,"result":{\n"n":12345678901234567890,\r\n"s":"a\\nb"}}')
  expect(message).toMatchObject({ kind: 'result', text: '{ "n":12345678901234567890, "s":"a\\nb"}' })
})
