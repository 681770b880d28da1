/**
 * Stdio: `deploy` returns its arguments; `change` gives it the description `to` and notifies that the list changed. DESCRIPTION
 * is the first description.
 */
import { handleBasics, onMessages, say, sendText, tool } from './lines.ts'

let description = process.env.DESCRIPTION ?? 'Deploys'

onMessages(message => {
  const place = { target: { type: 'string' }, dry: { type: 'boolean' } }
  const tools = [tool('deploy', description, place), tool('change', 'Changes deploy', { to: { type: 'string' } })]
  if (handleBasics(message, 'changing', tools)) return
  const { name, arguments: given } = message.params
  if (name === 'change') {
    description = given.to
    say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
  }
  sendText(message.id, JSON.stringify(given ?? {}))
})
