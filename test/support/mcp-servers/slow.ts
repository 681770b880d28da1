/**
 * Stdio: `wait` answers after `ms`, and sends progress each 20 ms if requested; `cancelled` lists the ids of cancelled requests.
 * INIT_MS delays initialize, LIST_MS delays tools/list. SAY is written to stderr first, without a line end.
 */
import { handleBasics, type Message, onMessages, say, sendText, tool } from './lines.ts'

const TOOLS = [
  tool('wait', 'Answers after a while', { ms: { type: 'number' } }),
  tool('cancelled', 'Which calls were cancelled'),
  tool('quick', 'Answers at once'),
]
const cancelled: unknown[] = []
const running = new Map<unknown, () => void>()

function wait(message: Message): void {
  const { ms } = message.params.arguments as { ms: number }
  const token = message.params._meta?.progressToken
  let spent = 0
  const ticking = setInterval(() => {
    spent += 20
    if (token === undefined) return
    const params = { progressToken: token, progress: spent, total: ms }
    say(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params }))
  }, 20)
  const ending = setTimeout(() => {
    stop()
    sendText(message.id, `waited ${ms}`)
  }, ms)
  const stop = (): void => {
    clearInterval(ticking)
    clearTimeout(ending)
    running.delete(message.id)
  }
  running.set(message.id, stop)
}

function handle(message: Message): void {
  if (message.method === 'notifications/cancelled') {
    cancelled.push(message.params.requestId)
    running.get(message.params.requestId)?.()
  } else if (message.method === 'tools/call' && message.params.name === 'wait') wait(message)
  else if (message.method === 'tools/call' && message.params.name === 'quick') sendText(message.id, 'quick')
  else if (message.method === 'tools/call') sendText(message.id, JSON.stringify(cancelled.length))
  else handleBasics(message, 'slow', TOOLS)
}

if (process.env.SAY) process.stderr.write(process.env.SAY)
onMessages(message => {
  const delay = { initialize: process.env.INIT_MS, 'tools/list': process.env.LIST_MS }[message.method ?? '']
  if (delay === undefined) handle(message)
  else setTimeout(() => handle(message), Number(delay))
})
