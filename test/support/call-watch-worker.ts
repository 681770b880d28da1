/**
 * Calls a tool every 10 ms from a thread of its own, over kept connections, so that what a test does in its main thread does not
 * count as the hub's slowness. Starts with what to send; `stop` ends it, and the latencies in milliseconds are posted back.
 */
import { KeptConnection } from './kept-connection.ts'

declare const self: Worker

/** What is called again and again. */
export interface CallWatchStart {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly tool: string
  readonly args: object
}

export type CallWatchMessage = CallWatchStart | 'stop'

const INTERVAL_MS = 10
/** What a call counts that is refused or lost. */
const LOST_MS = 60_000

const latencies: number[] = []
const pending = new Set<Promise<void>>()
const idle: KeptConnection[] = []
let calls = 0
let stopped = false

self.onmessage = ({ data }: MessageEvent<CallWatchMessage>): void => {
  if (data === 'stop') stopped = true
  else void watch(data)
}

async function watch(start: CallWatchStart): Promise<void> {
  while (!stopped) {
    const call = latencyOf(start).then(ms => {
      latencies.push(ms)
      pending.delete(call)
    })
    pending.add(call)
    await Bun.sleep(INTERVAL_MS)
  }
  await Promise.all(pending)
  for (const connection of idle) connection.close()
  self.postMessage(latencies)
}

async function latencyOf({ url, headers, tool, args }: CallWatchStart): Promise<number> {
  const sinceMs = performance.now()
  try {
    const connection = idle.pop() ?? (await KeptConnection.open(new URL(url), headers))
    calls += 1
    const params = { name: tool, arguments: args }
    const { status, text } = await connection.post(
      JSON.stringify({ jsonrpc: '2.0', id: calls, method: 'tools/call', params }),
    )
    if (status !== 200 || text.includes('"error"')) return LOST_MS
    idle.push(connection)
    return performance.now() - sinceMs
  } catch {
    return LOST_MS
  }
}
