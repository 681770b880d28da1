/**
 * Stdio: `pay` counts its calls and returns the number, `paid` returns it, `change` gives `pay` the description `to` and notifies
 * that the list changed. `look` is read-only.
 */
import { handleBasics, onMessages, say, sendText, tool } from './lines.ts'

let description = 'Pays'
let paid = 0

onMessages(message => {
  const amount = { amount: { type: 'number' }, token: { type: 'string' } }
  const tools = [
    tool('pay', description, amount),
    tool('paid', 'Number of payments'),
    tool('change', 'Changes pay', { to: { type: 'string' } }),
    { ...tool('look', 'Looks'), annotations: { readOnlyHint: true } },
  ]
  if (handleBasics(message, 'counting', tools)) return
  const { name, arguments: given } = message.params
  if (name === 'pay') paid += 1
  if (name === 'change') {
    description = given.to
    say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
  }
  sendText(message.id, String(paid))
})
