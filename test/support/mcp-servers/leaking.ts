/**
 * Stdio: a server that outputs its secrets in every possible place: the values of its variables that end in _KEY and its
 * arguments that begin with `canary`, in several encodings. Tools: `leak` answers with them, `fail` with an error that has them,
 * `garble` writes them as a line that is not JSON, `die` ends with them as its last output, `shout` sends a log message.
 */
import { writeSync } from 'node:fs'
import { type Message, onMessages, say, sendError, sendResult, sendText, tool } from './lines.ts'

const secrets = [
  ...Object.entries(process.env).flatMap(([name, value]) => (name.endsWith('_KEY') && value ? [value] : [])),
  ...process.argv.slice(2).filter(argument => argument.includes('canary')),
]
const encoded = secrets.flatMap(secret => [
  secret,
  btoa(secret),
  Buffer.from(`:${secret}`).toString('base64url'),
  encodeURIComponent(secret),
  JSON.stringify(secret),
  Buffer.from(secret).toString('hex'),
])
const all = encoded.join(' , ')

function cry(): void {
  // In pieces, as pipes deliver them.
  for (const text of encoded) {
    writeSync(2, text.slice(0, 11))
    writeSync(2, `${text.slice(11)}\n`)
  }
}
cry()

const described = (name: string) => ({
  ...tool(name, `${name} with ${all}`, { text: { type: 'string', default: all, description: all } }),
  title: all,
  _meta: { note: all },
})
const TOOLS = ['leak', 'fail', 'garble', 'die', 'shout'].map(described)

function call({ id, params }: Message): void {
  switch (params.name) {
    case 'leak':
      return sendText(id, all)
    case 'fail':
      return sendError(id, -32000, all)
    case 'garble':
      return say(`${secrets[0]} ${all}`)
    case 'die':
      cry()
      process.exit(3)
      break
    default:
      say(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: all } }))
      sendText(id, 'said')
  }
}

onMessages(message => {
  const { id, method } = message
  if (method === 'initialize') {
    const serverInfo = { name: 'leaking', version: '1.0.0', title: all }
    const capabilities = { tools: {}, logging: {}, prompts: {}, resources: {} }
    sendResult(id, { protocolVersion: message.params.protocolVersion, capabilities, serverInfo, instructions: all })
  } else if (method === 'tools/list') sendResult(id, { tools: TOOLS })
  else if (method === 'prompts/list') sendResult(id, { prompts: [{ name: 'p', description: all }] })
  else if (method === 'resources/list') sendResult(id, { resources: [{ uri: 'a:b', name: 'r', description: all }] })
  else if (method === 'resources/templates/list') sendResult(id, { resourceTemplates: [] })
  else if (method === 'tools/call') call(message)
  else if (id !== undefined) sendResult(id, {})
})
