/** Stdio: after `forget` it answers every request but `initialize` as a server that was never initialized. */
import { handleBasics, onMessages, sendError, sendText, tool } from './lines.ts'

const TOOLS = [
  tool('forget', 'Loses the session'),
  tool('pid', 'The process id'),
  tool('held', 'The process id, once the address has answered'),
]
let known = true

onMessages(message => {
  const { id, method, params } = message
  if (method === 'initialize') known = true
  if (!known) {
    if (id !== undefined) sendError(id, -32_002, 'Server not initialized')
    return
  }
  if (handleBasics(message, 'forgetful', TOOLS)) return
  if (params.name === 'forget') known = false
  const answer = (): void => sendText(id, String(process.pid))
  if (params.name === 'held') void fetch(params.arguments.url).then(answer)
  else answer()
})
