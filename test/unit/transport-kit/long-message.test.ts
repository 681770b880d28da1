import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { LongMessage } from '../../../core/transport-kit/definition.ts'
import { LongMessageReader } from '../../../core/transport-kit/long-message.ts'

function read(text: string, size = text.length): LongMessage {
  const reader = new LongMessageReader()
  for (let at = 0; at < text.length; at += size) reader.push(text.slice(at, at + size))
  return reader.end()
}

const NOTHING: LongMessage = { answers: [], requests: [], hasMethod: false }

test.each<[string, Partial<LongMessage>]>([
  ['{"jsonrpc":"2.0","id":7,"result":{"id":8,"method":"x"}}', { answers: [7] }],
  ['{"result":{"a":[{"id":8}]},"id":7,"jsonrpc":"2.0"}', { answers: [7] }],
  ['{ "jsonrpc" : "2.0" , "error" : {"code":1} , "id" : "7" }', { answers: [7] }],
  ['{"result":"a\\"},\\"id\\":8,\\\\","id":7}', { answers: [7] }],
  ['{"id":7,"result":{"cut', { answers: [7] }],
  ['{"jsonrpc":"2.0","method":"notifications/message","params":{"id":3}}', { hasMethod: true }],
  ['{"id":"a-1","method":"sampling/createMessage","params":{}}', { hasMethod: true, requests: ['"a-1"'] }],
  ['{"id":3,"method":"ping"}', { hasMethod: true, requests: ['3'] }],
  ['[{"id":1,"result":1},{"id":2,"error":{}},{"method":"x"}]', { answers: [1, 2], hasMethod: true }],
  ['{"id":1.5,"result":{}}', {}],
  ['{"id":"x","result":{}}', {}],
  ['{"id":7}', {}],
  ['a line of a log with "id":7, "result": yes', {}],
  ['[[{"id":7,"result":1}]]', {}],
  ['', {}],
])('LongMessageReader finds whose %s is, however it is cut', (text, found) => {
  for (let size = 1; size <= text.length; size += 1) expect(read(text, size)).toEqual({ ...NOTHING, ...found })
  expect(read(text)).toEqual({ ...NOTHING, ...found })
})

test('LongMessageReader finds the id of every answer that JSON can be', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(), fc.boolean(), fc.integer({ min: 1, max: 9 }), (result, id, last, size) => {
      const members = [['jsonrpc', '2.0'] as const, ['result', result] as const]
      const text = JSON.stringify(Object.fromEntries(last ? [...members, ['id', id]] : [['id', id], ...members]))
      expect(read(text, size)).toEqual({ ...NOTHING, answers: [id] })
    }),
  )
})
