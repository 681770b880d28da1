/** Stdio: `noise` writes numbered lines to stderr, `count` of them, `perSecond` a second, and answers at once. */
import { handleBasics, onMessages, sendText, tool } from './lines.ts'

const TOOLS = [
  tool('noise', 'Writes lines to stderr', {
    prefix: { type: 'string' },
    count: { type: 'number' },
    perSecond: { type: 'number' },
  }),
]
const TICK_MS = 50

onMessages(message => {
  if (handleBasics(message, 'noisy', TOOLS)) return
  const { prefix = 'line', count = 1, perSecond = 100 } = message.params.arguments ?? {}
  sendText(message.id, `${count} lines follow`)
  let next = 0
  const timer = setInterval(() => {
    const end = Math.min(count, next + Math.max(1, Math.round((perSecond * TICK_MS) / 1000)))
    for (; next < end; next += 1) process.stderr.write(`${prefix} ${next}\n`)
    if (next >= count) clearInterval(timer)
  }, TICK_MS)
})
