/** Stdio: after `forget` it answers every request but `initialize` as a server that was never initialized. */
import { handleBasics, onMessages, sendError, sendText, tool } from './lines.ts'

let known = true

onMessages(message => {
  const { id, method, params } = message
  if (method === 'initialize') known = true
  if (!known) {
    if (id !== undefined) sendError(id, -32_002, 'Server not initialized')
    return
  }
  if (handleBasics(message, 'forgetful', [tool('forget', 'Loses the session'), tool('pid', 'The process id')])) return
  if (params.name === 'forget') known = false
  sendText(id, String(process.pid))
})
