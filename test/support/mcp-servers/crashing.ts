/**
 * Stdio: ends at the point that MODE selects: `start` (default) at once, `initialize` at the first message, `call` in the middle
 * of each call of `crash`, or after CALLS calls. Writes the reason to stderr, and ends with CODE (default 3).
 */
import { handleBasics, onMessages, sendText, tool } from './lines.ts'

const mode = process.env.MODE ?? 'start'
const lastCall = Number(process.env.CALLS ?? Number.POSITIVE_INFINITY)
const code = Number(process.env.CODE ?? 3)

function crash(why: string): never {
  process.stderr.write(`crashing: ${why}\n`)
  process.exit(code)
}

if (mode === 'start') crash('at start, as it was told')

let calls = 0
onMessages(message => {
  if (mode === 'initialize') crash('at initialize, as it was told')
  if (handleBasics(message, 'crashing', [tool('crash', 'Ends the process'), tool('pid', 'The process id')])) return
  calls += 1
  if (message.params.name === 'crash' || calls > lastCall) crash('in a call, as it was told')
  sendText(message.id, String(process.pid))
})
