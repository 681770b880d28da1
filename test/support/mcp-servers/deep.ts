/**
 * Stdio: a call of `deep` writes a message nested `depth` levels, by objects or by arrays (`kind`), in the place that
 * `where` names, and answers after it unless the message itself was the answer.
 */
import { handleBasics, onMessages, say, sendText, tool } from './lines.ts'

const TOOLS = [tool('deep', 'Writes a deep message', { where: { type: 'string' }, depth: { type: 'number' } })]

function nested(kind: string, depth: number): string {
  if (kind === 'arrays') return '['.repeat(depth) + ']'.repeat(depth)
  return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
}

const PLACES: Readonly<Record<string, (id: string, inner: string) => string>> = {
  alone: (_, inner) => inner,
  batch: (_, inner) => `[${inner}]`,
  notification: (_, inner) =>
    `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":${inner}}}`,
  progress: (id, inner) =>
    `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${id},"progress":1,"x":${inner}}}`,
  unknown: (_, inner) => `{"jsonrpc":"2.0","method":"notifications/whatever","params":{"x":${inner}}}`,
  request: (_, inner) => `{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"x":${inner}}}`,
  'request-id': (_, inner) => `{"jsonrpc":"2.0","id":${inner},"method":"ping"}`,
  result: (id, inner) =>
    `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"deep"}],"x":${inner}}}`,
  'odd-result': (id, inner) =>
    `{"id": ${id}, "jsonrpc":"2.0", "n":12345678901234567890, "result":{"content":[],"_meta":{"x":${inner}}}}`,
  structured: (id, inner) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"x":${inner}}}}`,
  links: (id, inner) =>
    `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"resource_link","uri":"a:b","x":${inner}}]}}`,
  error: (id, inner) => `{"jsonrpc":"2.0","id":${id},"error":{"code":1,"message":"deep","data":${inner}}}`,
}

onMessages(message => {
  if (handleBasics(message, 'deep', TOOLS)) return
  const { where, kind, depth } = message.params.arguments
  const text = PLACES[where]?.(JSON.stringify(message.id), nested(kind, depth))
  if (text === undefined) throw new Error(`Unknown place "${where}"`)
  say(text)
  if (!/result|structured|links|error/.test(where)) sendText(message.id, 'said')
})
