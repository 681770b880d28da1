/** Tries random access keys at a steady rate from one address, over kept connections: `try-keys.ts <url> <per second> <seconds>`. */
import { randomBytes } from 'node:crypto'
import { KeptConnection } from '../support/kept-connection.ts'

const [url = '', rate = '1', duration = '1'] = process.argv.slice(2)
const perSecond = Number(rate)
const seconds = Number(duration)
const CONNECTIONS = 16
const answers: Record<string, number> = {}
const startedMs = performance.now()
let sent = 0

async function run(): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const connection = await KeptConnection.open(new URL('/mcp/x', url), headers)
  while (performance.now() - startedMs < seconds * 1_000) {
    // No faster than the rate, all connections together.
    if (sent > ((performance.now() - startedMs) / 1_000) * perSecond) {
      await Bun.sleep(1)
      continue
    }
    sent += 1
    const key = `pb_${randomBytes(32).toString('base64url')}`
    const { status } = await connection.post('{}', { authorization: `Bearer ${key}` })
    answers[status] = (answers[status] ?? 0) + 1
  }
  connection.close()
}

await Promise.all(Array.from({ length: CONNECTIONS }, run))
const elapsedSeconds = (performance.now() - startedMs) / 1_000
process.stdout.write(JSON.stringify({ answers, perSecond: Math.round(sent / elapsedSeconds) }))
