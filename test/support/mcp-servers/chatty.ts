/** Writes 60 lines that are not messages before each of its answers, as programs do that log to their output. */
import { onMessages, say, sendResult, sendText, tool } from './lines.ts'

onMessages(({ id, method, params }) => {
  if (id === undefined) return
  for (let line = 0; line < 60; line += 1) say(`INFO line ${line} before the answer to ${method}`)
  if (method === 'initialize')
    sendResult(id, {
      protocolVersion: params.protocolVersion ?? '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'chatty', version: '1' },
    })
  else if (method === 'tools/list') sendResult(id, { tools: [tool('talk', 'Talks')] })
  else if (method === 'tools/call') sendText(id, 'said')
  else sendResult(id, {})
})
