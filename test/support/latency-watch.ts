import { join } from 'node:path'

/** What is asked again and again. */
export interface LatencyWatchStart {
  readonly url: string
  readonly everyMs: number
  /** Go out with every request. Default none. */
  readonly headers?: Readonly<Record<string, string>>
  /** A tool that is called by POST; absent: the URL is read by GET. */
  readonly call?: { readonly tool: string; readonly args: object }
  /** Requests that are sent in turn instead. `{n}` in a body becomes another number each time. */
  readonly requests?: readonly { readonly method: string; readonly path: string; readonly body: string }[]
}

export type LatencyWatchMessage = LatencyWatchStart | 'stop'

/**
 * A watch from another process: what a test does itself must not count as the hub's slowness, and the memory that it takes for
 * hundreds of megabytes to send holds up all of its threads.
 */
export interface LatencyWatch {
  /** Asks no more, and gives the latencies in milliseconds, in no order; 60,000 for a request that failed or was lost. */
  stop(): Promise<readonly number[]>
}

/** Asks over kept connections, as many as are needed at the same time. Resolves when the first request goes out. */
export async function watchLatency(start: LatencyWatchStart): Promise<LatencyWatch> {
  const started = Promise.withResolvers<void>()
  const latencies = Promise.withResolvers<readonly number[]>()
  // Unhandled where the process ends before it is stopped.
  latencies.promise.catch(() => undefined)
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'latency-watch-process.ts')], {
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc(message: 'started' | readonly number[]) {
      if (message === 'started') started.resolve()
      else latencies.resolve(message)
    },
    onExit(_, code) {
      const error = new Error(`The watch ended with ${code}`)
      started.reject(error)
      latencies.reject(error)
    },
  })
  child.send(start satisfies LatencyWatchMessage)
  await started.promise
  return {
    async stop() {
      child.send('stop' satisfies LatencyWatchMessage)
      const seen = await latencies.promise
      child.disconnect()
      await child.exited
      return seen
    },
  }
}
