/**
 * Stdio: prints text that is not an MCP message to standard output. BANNER: lines before anything else, by BANNER_FORM `text` or
 * `json`. Tools: `print` writes `count` lines before its answer; `glue` writes text without a line end right before its answer;
 * `paint` writes its answer in a colour, with text behind it; `rest` prints from then on ten lines every 50 ms; `pid` is quiet.
 */
import { handleBasics, onMessages, sendText, tool } from './lines.ts'

const FORMS: Readonly<Record<string, (n: number) => string>> = {
  text: n => `Loading module ${n}, "id": ${n}`,
  json: n => JSON.stringify({ level: 'info', id: n, msg: `module ${n}` }),
  mixed: n =>
    [`[${n}] loaded`, '', String(n), 'null', `{"module": ${n}`, `["module",${n}]`, '\u001b[32mready\u001b[0m'][n % 7]!,
}
const line = FORMS[process.env.BANNER_FORM ?? 'text']!
const print = (count: number): void => {
  for (let n = 0; n < count; n += 1) process.stdout.write(`${line(n)}\n`)
}

print(Number(process.env.BANNER ?? 0))

const TOOLS = ['print', 'glue', 'paint', 'rest', 'pid'].map(name => tool(name, name, { count: { type: 'number' } }))

onMessages(message => {
  if (handleBasics(message, 'printing', TOOLS)) return
  const { name, arguments: { count = 150 } = {} } = message.params
  if (name === 'print') print(count)
  if (name === 'glue') process.stdout.write('Working... done ')
  if (name === 'rest') setInterval(print, 50, 10)
  if (name === 'paint') {
    const result = { content: [{ type: 'text', text: String(process.pid) }] }
    const answer = JSON.stringify({ id: message.id, jsonrpc: '2.0', result })
    return void process.stdout.write(`\u001b[32mINFO ${answer}\u001b[0m done\n`)
  }
  sendText(message.id, String(process.pid))
})
