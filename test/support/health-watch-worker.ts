/**
 * Asks `/health` every 20 ms from a thread of its own, so that what a test does in its main thread does not count as the
 * hub's slowness. Starts with the hub's address; `stop` ends it, and the latencies in milliseconds are posted back.
 */
import type { HealthWatchMessage } from './health-watch.ts'

declare const self: Worker

/** Time between two requests. */
const INTERVAL_MS = 20
/** What a request counts that is answered with an error or not at all. */
const LOST_MS = 60_000

const latencies: number[] = []
const pending = new Set<Promise<void>>()
let stopped = false

self.onmessage = ({ data }: MessageEvent<HealthWatchMessage>): void => {
  if (data === 'stop') stopped = true
  else void watch(data.url)
}

async function watch(url: string): Promise<void> {
  while (!stopped) {
    const request = latencyOf(url).then(ms => {
      latencies.push(ms)
      pending.delete(request)
    })
    pending.add(request)
    await Bun.sleep(INTERVAL_MS)
  }
  await Promise.all(pending)
  self.postMessage(latencies)
}

async function latencyOf(url: string): Promise<number> {
  const sinceMs = performance.now()
  try {
    const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(LOST_MS) })
    await answer.arrayBuffer()
    return answer.status < 500 ? performance.now() - sinceMs : LOST_MS
  } catch {
    return LOST_MS
  }
}
