/**
 * Asks `/health` every 20 ms from a thread of its own, so that what a test does in its main thread does not count as the
 * hub's slowness. Starts with the hub's address; `stop` ends it, and the latencies in milliseconds are posted back.
 */
import type { Socket } from 'bun'
import type { HealthWatchMessage } from './health-watch.ts'

declare const self: Worker

/** Time between two requests. */
const INTERVAL_MS = 20
/** What a request counts that is answered with an error or not at all. */
const LOST_MS = 60_000

/** The request that waits on a connection is told the status, or 0 when the connection is gone. */
interface Waiting {
  answered?: ((status: number) => void) | undefined
}

const latencies: number[] = []
const pending = new Set<Promise<void>>()
/**
 * Kept-alive connections that wait for nothing. Not `fetch`: one thread of the runtime sends for all fetches of a process, so
 * that the answers would wait behind the megabytes that the test itself sends.
 */
const idle: Socket<Waiting>[] = []
let stopped = false

self.onmessage = ({ data }: MessageEvent<HealthWatchMessage>): void => {
  if (data === 'stop') stopped = true
  else void watch(new URL(data.url))
}

async function watch(url: URL): Promise<void> {
  while (!stopped) {
    const request = latencyOf(url).then(ms => {
      latencies.push(ms)
      pending.delete(request)
    })
    pending.add(request)
    await Bun.sleep(INTERVAL_MS)
  }
  await Promise.all(pending)
  for (const socket of idle) socket.end()
  self.postMessage(latencies)
}

async function latencyOf(url: URL): Promise<number> {
  const sinceMs = performance.now()
  try {
    const socket = idle.pop() ?? (await connected(url))
    const status = await new Promise<number>(resolve => {
      setTimeout(resolve, LOST_MS, 0).unref()
      socket.data.answered = resolve
      socket.write(`GET ${url.pathname.replace(/\/$/, '')}/health HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`)
    })
    if (status === 0 || status >= 500) return LOST_MS
    idle.push(socket)
    return performance.now() - sinceMs
  } catch {
    return LOST_MS
  }
}

function connected(url: URL): Promise<Socket<Waiting>> {
  return Bun.connect<Waiting>({
    hostname: url.hostname,
    port: Number(url.port),
    data: {},
    socket: {
      data: answered,
      close: lost,
      error: lost,
    },
  })
}

/** `/health` fits into one part of an answer; what else may come behind it belongs to no request. */
function answered({ data }: Socket<Waiting>, chunk: Buffer): void {
  const { answered: tell } = data
  data.answered = undefined
  tell?.(Number(chunk.toString('latin1', 9, 12)))
}

function lost(socket: Socket<Waiting>): void {
  const at = idle.indexOf(socket)
  if (at >= 0) idle.splice(at, 1)
  socket.data.answered?.(0)
}
