import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Hub, startHub, stdioFixture } from '../../support/hub.ts'
import { openHistory } from '../../support/log-database.ts'
import { batchOf } from '../../support/record-batch.ts'
import { makeTemp } from '../../support/temp.ts'

/** Servers that write log lines on request; the hub takes 100 a second from each. */
export const NOISY = ['noisy-1', 'noisy-2', 'noisy-3', 'noisy-4']

const BATCH = 1_000
/** Between two records, in milliseconds: a million of them fills eleven hours. */
const STEP_MS = 40
const RETENTION_MS = 30 * 86_400_000
const KINDS = ['github', 'files', 'weather', 'intranet', 'memory', 'Search', 'billing', 'docs']
const WORDS = ['connection', 'upstream', 'answered', 'request', 'timeout', 'cache', 'session', 'worker', 'catalogue']

/**
 * Starts a hub with this many stopped servers, those of {@link NOISY}, and this many stored log records, the newest of them
 * now.
 */
export async function startLargeHub(servers: number, records: number): Promise<Hub> {
  const folder = await makeTemp('large-hub')
  await storeRecords(join(folder, 'data/history'), records)
  const mcpServers: Record<string, object> = Object.fromEntries(NOISY.map(name => [name, stdioFixture('noisy')]))
  for (let n = 0; n < servers; n += 1) {
    const kind = KINDS[n % KINDS.length] ?? ''
    mcpServers[`${kind}-${(n * 7_919) % servers}`] = {
      ...{ command: 'node', args: ['server.js', `--port=${n}`], env: { TOKEN: `token-${n}` }, enabled: false },
      description: `Server number ${n} for ${kind}`,
    }
  }
  return startHub({ folder, settings: { mcpServers }, timeoutMs: 60_000 })
}

async function storeRecords(folder: string, count: number): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const history = openHistory(
    { folder, retentionMs: RETENTION_MS, maxBytes: 8e9, table: 'log_record', indexes: [] },
    { debug() {}, info() {}, warn() {}, error() {} },
  )
  const startMs = Date.now() - count * STEP_MS
  for (let first = 0; first < count; first += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, count - first) }, (_, n) => first + n)
    const written = history.write(batchOf(numbers.map(n => record(n, startMs + n * STEP_MS))))
    // The thread rests after each batch unless somebody waits.
    history.hurry()
    await written
  }
  await history.close()
}

function record(n: number, atMs: number): string {
  const word = (step: number): string => WORDS[(n * step) % WORDS.length] ?? ''
  return `${JSON.stringify({
    level: n % 100 === 0 ? 'ERROR' : n % 20 === 0 ? 'WARN' : 'INFO',
    timestamp: new Date(atMs).toISOString(),
    ...{ component: 'mcp', server: `server-${n % 40}`, serverId: `s-${n % 40}`, tool: `tool_${n % 300}` },
    ...{ status: n % 100 === 0 ? 'upstream_timeout' : 'success', duration: n % 4_096 },
    requestId: `req_${(n * 2_654_435_761).toString(16)}`,
    message: `${word(1)} ${word(5)} ${word(7)} of call ${n.toString(36)} took ${n % 4_096} ms`,
  })}\n`
}
