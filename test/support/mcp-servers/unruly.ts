/**
 * Stdio: ignores TERM and the end of its input when STUBBORN=1; `line` writes one line of `megabytes` MB; `late` answers after
 * `ms` even if it is cancelled; `cancelled` returns the number of cancellations; CATALOG makes its tools/list `many` (10,000
 * tools), `endless` (endless pages), `fat` (one tool of 5 MB beside a small one), `malformed` (invalid tools beside valid ones)
 * or `same` (the same page forever).
 */
import { handleBasics, type Message, onMessages, say, sendResult, sendText, tool } from './lines.ts'

const TOOLS = [
  tool('line', 'Writes a long line', { megabytes: { type: 'number' } }),
  tool('late', 'Answers too late', { ms: { type: 'number' } }),
  tool('cancelled', 'How many calls were cancelled'),
  tool('quick', 'Answers at once'),
]
let cancelled = 0
let pages = 0

function list(message: Message): void {
  if (process.env.CATALOG === 'many') {
    const many = Array.from({ length: 10_000 }, (_, index) => tool(`tool_${index}`, 'One of many'))
    return sendResult(message.id, { tools: many })
  }
  if (process.env.CATALOG === 'endless') {
    pages += 1
    return sendResult(message.id, { tools: [tool(`page_${pages}`, 'One page')], nextCursor: `${pages}` })
  }
  if (process.env.CATALOG === 'same') return sendResult(message.id, { tools: [...TOOLS, TOOLS[0]], nextCursor: 'next' })
  if (process.env.CATALOG === 'malformed') {
    const schemas = [
      undefined,
      null,
      true,
      {},
      'x',
      [],
      { type: 'string' },
      { type: 'object', properties: { a: true } },
    ]
    const odd = schemas.map((inputSchema, index) => ({ name: `odd_${index}`, description: null, inputSchema }))
    return sendResult(message.id, { tools: [...odd, null, { name: 5 }, ...TOOLS] })
  }
  const fat = tool('fat', 'x'.repeat(5_000_000))
  return sendResult(message.id, { tools: [fat, ...TOOLS] })
}

function longLine(megabytes: number): void {
  const piece = 'x'.repeat(1_000_000)
  let left = megabytes
  const push = (): void => {
    if (left <= 0) return void process.stdout.write('\n')
    left -= 1
    if (process.stdout.write(piece)) setImmediate(push)
    else process.stdout.once('drain', push)
  }
  push()
}

onMessages(message => {
  if (message.method === 'notifications/cancelled') cancelled += 1
  if (message.method === 'tools/list' && process.env.CATALOG) return list(message)
  if (handleBasics(message, 'unruly', TOOLS)) return
  const { name, arguments: args } = message.params
  if (name === 'line') return longLine(args.megabytes)
  if (name === 'late') {
    return void setTimeout(() => say(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: {} })), args.ms)
  }
  return sendText(message.id, name === 'cancelled' ? String(cancelled) : name)
})

if (process.env.STUBBORN === '1') {
  process.on('SIGTERM', () => {})
  process.stdin.removeAllListeners('end')
  setInterval(() => {}, 1_000)
}
