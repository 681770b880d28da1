/**
 * Stdio: answers tools/call (`hold`), prompts/get, resources/read and completion/complete when the file RELEASE exists, and
 * reports the wait by log messages until then and by the file `RELEASE.begun`. `long` answers at once, with a long text.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { handleBasics, type Message, onMessages, say, sendResult, sendText, tool } from './lines.ts'

const RELEASE = process.env.RELEASE ?? ''
const SECRET = 'what-was-held'
const capabilities = { tools: {}, prompts: {}, resources: {}, completions: {}, logging: {} }
const LISTS: Readonly<Record<string, object>> = {
  'tools/list': { tools: [tool('hold', 'Answers later'), tool('long', 'Answers with a long text')] },
  'prompts/list': { prompts: [{ name: 'held', arguments: [{ name: 'a' }] }] },
  'resources/list': { resources: [{ uri: 'held://one', name: 'one' }] },
  'resources/templates/list': { resourceTemplates: [] },
}
const ANSWERS: Readonly<Record<string, object>> = {
  'tools/call': { content: [{ type: 'text', text: SECRET }] },
  'prompts/get': { messages: [{ role: 'user', content: { type: 'text', text: SECRET } }] },
  'resources/read': { contents: [{ uri: 'held://one', text: SECRET }] },
  'completion/complete': { completion: { values: [SECRET] } },
}

function hold(id: Message['id'], answer: object): void {
  writeFileSync(`${RELEASE}.begun`, '')
  const looking = setInterval(() => {
    say(
      JSON.stringify({
        jsonrpc: '2.0',
        method: 'notifications/message',
        params: { level: 'info', data: 'still held' },
      }),
    )
    if (!existsSync(RELEASE)) return
    clearInterval(looking)
    sendResult(id, answer)
  }, 20)
}

function handle(message: Message): void {
  const { id, method = '', params } = message
  const answer = ANSWERS[method]
  const list = LISTS[method]
  if (method === 'initialize')
    sendResult(id, {
      protocolVersion: params?.protocolVersion ?? '2025-11-25',
      capabilities,
      serverInfo: { name: 'holding', version: '1.0.0' },
    })
  else if (list) sendResult(id, list)
  else if (method === 'tools/call' && params.name === 'long') sendText(id, `${'x'.repeat(2_000)}${SECRET}`)
  else if (answer) hold(id, answer)
  else if (method === 'logging/setLevel') sendResult(id, {})
  else handleBasics(message, 'holding', [])
}

onMessages(handle)
