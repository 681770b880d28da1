/** The thread of `watchLatency`: starts with what to ask; `stop` ends it, and the latencies in milliseconds are posted back. */
import { KeptConnection, type WholeAnswer } from './kept-connection.ts'
import type { LatencyWatchMessage, LatencyWatchStart } from './latency-watch.ts'

declare const self: Worker

/** What a request counts that is refused, lost or not answered. */
const LOST_MS = 60_000

const latencies: number[] = []
const pending = new Set<Promise<void>>()
/**
 * Connections that wait for nothing. Not `fetch`: one thread of the runtime sends for all fetches of a process, so that the
 * answers would wait behind the megabytes that the test itself sends.
 */
const idle: KeptConnection[] = []
let calls = 0
let stopped = false

self.onmessage = ({ data }: MessageEvent<LatencyWatchMessage>): void => {
  if (data === 'stop') stopped = true
  else void watch(data)
}

async function watch(start: LatencyWatchStart): Promise<void> {
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
  self.postMessage(latencies)
}

async function latencyOf(start: LatencyWatchStart): Promise<number> {
  const sinceMs = performance.now()
  try {
    const connection = idle.pop() ?? (await KeptConnection.open(new URL(start.url), start.headers ?? {}))
    const answer = await Promise.race([ask(connection, start), late()])
    if (answer?.status !== 200 || answer.text.includes('"error"')) return LOST_MS
    idle.push(connection)
    return performance.now() - sinceMs
  } catch {
    return LOST_MS
  }
}

function ask(connection: KeptConnection, { call }: LatencyWatchStart): Promise<WholeAnswer> {
  if (!call) return connection.get()
  calls += 1
  const params = { name: call.tool, arguments: call.args }
  return connection.post(JSON.stringify({ jsonrpc: '2.0', id: calls, method: 'tools/call', params }))
}

function late(): Promise<undefined> {
  return new Promise(resolve => setTimeout(resolve, LOST_MS, undefined))
}
