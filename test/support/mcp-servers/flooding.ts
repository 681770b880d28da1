/**
 * Stdio: misbehaves in one of several ways when `flood` is called, or right after initialize when MODE is set. MODE or the
 * argument `mode`: `notices` (endless log messages), `stderr`, `garbage` (lines that are not JSON), `mixed` (2,000 lines that
 * are not JSON in 2 s, a valid notification after each), `huge` (one line of 11 MiB), `partial` (half a line, then permanent
 * silence), `answers` (answers with unknown ids).
 */
import { handleBasics, onMessages, sendText, tool } from './lines.ts'

const TOOLS = [tool('flood', 'Starts to flood', { mode: { type: 'string' } }), tool('quick', 'Answers at once')]
const PIECE = 64 * 1024

function notice(): string {
  const params = { level: 'info', data: 'x'.repeat(1_000) }
  return `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })}\n`
}

const endless: Record<string, () => { readonly to: NodeJS.WriteStream; readonly line: string }> = {
  notices: () => ({ to: process.stdout, line: notice() }),
  stderr: () => ({ to: process.stderr, line: `${'noise '.repeat(200)}\n` }),
  garbage: () => ({ to: process.stdout, line: 'this is no JSON at all\n' }),
  answers: () => ({ to: process.stdout, line: '{"jsonrpc":"2.0","id":987654321,"result":{}}\n' }),
}

function flood(mode: string): void {
  if (mode === 'huge') {
    process.stdout.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"`)
    process.stdout.write(`${'x'.repeat(11 * 1024 * 1024)}"}}\n`)
    return
  }
  if (mode === 'partial') {
    process.stdout.write('{"jsonrpc":"2.0","id":')
    silent = true
    return
  }
  if (mode === 'mixed') {
    mix(20)
    return
  }
  const source = endless[mode]
  if (!source) throw new Error(`Unknown mode "${mode}"`)
  const { to, line } = source()
  const piece = line.repeat(Math.ceil(PIECE / line.length))
  const push = (): void => {
    if (to.write(piece)) setImmediate(push)
    else to.once('drain', push)
  }
  push()
}

/** Log lines on the wrong stream, such as a program prints between its messages. */
function mix(left: number): void {
  process.stdout.write('Connected to the database\n{"jsonrpc":"2.0","method":"notifications/x"}\n'.repeat(100))
  if (left > 1) setTimeout(mix, 100, left - 1)
}

let silent = false

onMessages(message => {
  if (silent) return
  if (message.method === 'notifications/initialized' && process.env.MODE) flood(process.env.MODE)
  if (handleBasics(message, 'flooding', TOOLS)) return
  if (message.params.name === 'flood') flood(message.params.arguments.mode)
  if (!silent) sendText(message.id, message.params.name)
})
