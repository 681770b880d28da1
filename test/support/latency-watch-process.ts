/**
 * The process of `watchLatency`: starts with the requests to send; `stop` ends it, and the latencies in milliseconds are sent
 * back.
 */
import { KeptConnection, type WholeAnswer } from './kept-connection.ts'
import type { LatencyWatchMessage, LatencyWatchStart } from './latency-watch.ts'

/** Latency of a request that is refused, lost or not answered. */
const LOST_MS = 60_000

const latencies: number[] = []
const pending = new Set<Promise<void>>()
/** Connections that wait for nothing. */
const idle: KeptConnection[] = []
let calls = 0
let stopped = false

process.on('message', (message: LatencyWatchMessage): void => {
  if (message === 'stop') stopped = true
  else void watch(message)
})
// The test has the latencies, or has ended.
process.on('disconnect', () => process.exit())

async function watch(start: LatencyWatchStart): Promise<void> {
  process.send?.('started')
  while (!stopped) {
    const request = latencyOf(start).then(ms => {
      latencies.push(ms)
      pending.delete(request)
    })
    pending.add(request)
    await Bun.sleep(start.everyMs)
  }
  await Promise.all(pending)
  for (const connection of idle) connection.close()
  process.send?.(latencies)
}

async function latencyOf(start: LatencyWatchStart): Promise<number> {
  const sinceMs = performance.now()
  try {
    const connection = idleConnection() ?? (await KeptConnection.open(new URL(start.url), start.headers ?? {}))
    const answer = await Promise.race([ask(connection, start), late()])
    if (answer?.status !== 200 || (start.call && answer.text.includes('"error"'))) return LOST_MS
    idle.push(connection)
    return performance.now() - sinceMs
  } catch {
    return LOST_MS
  }
}

/** Undefined when the hub has closed all of them, as it does with those that are idle for long. */
function idleConnection(): KeptConnection | undefined {
  for (;;) {
    const connection = idle.pop()
    if (connection?.isLost !== true) return connection
  }
}

function ask(connection: KeptConnection, { call, requests }: LatencyWatchStart): Promise<WholeAnswer> {
  calls += 1
  const request = requests?.[calls % requests.length]
  if (request) {
    const { method, path, body } = request
    return connection.request(method, path, body.replaceAll('{n}', String(calls)), {
      'content-type': 'application/json',
    })
  }
  if (!call) return connection.get()
  const params = { name: call.tool, arguments: call.args }
  return connection.post(JSON.stringify({ jsonrpc: '2.0', id: calls, method: 'tools/call', params }))
}

function late(): Promise<undefined> {
  return new Promise(resolve => setTimeout(resolve, LOST_MS, undefined))
}
