/**
 * Stdio: `echo` returns its text, `whoami` the environment's WHO and the process id, `env` one variable. Calls of `echo` are
 * answered by cutting the text out of the line, so that the benchmark measures the parts before the server.
 */
import { handleBasics, type Message, onMessages, say, sendError, sendText, tool } from './lines.ts'

const TEXT = { text: { type: 'string' } }
const TOOLS = [
  tool('echo', 'Gives the text back', TEXT),
  tool('whoami', 'Says which of several servers this is'),
  tool('env', 'Gives one environment variable', { name: { type: 'string' } }),
]

onMessages((message: Message) => {
  if (message.method === 'tools/call' && message.params.name === 'echo') {
    const text = JSON.stringify(message.params.arguments?.text ?? '')
    say(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"content":[{"type":"text","text":${text}}]}}`)
    return
  }
  if (handleBasics(message, `echo${process.env.WHO ? `-${process.env.WHO}` : ''}`, TOOLS)) return
  if (message.params?.name === 'whoami') {
    sendText(message.id, JSON.stringify({ who: process.env.WHO ?? '', pid: process.pid }))
  } else if (message.params?.name === 'env') sendText(message.id, process.env[message.params.arguments.name] ?? '')
  else sendError(message.id, -32602, `Unknown tool: ${message.params?.name}`)
})
