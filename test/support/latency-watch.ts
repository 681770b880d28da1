import { join } from 'node:path'

/** The request that is repeated. */
export interface LatencyWatchStart {
  readonly url: string
  readonly everyMs: number
  /** Headers of every request. Default: none. */
  readonly headers?: Readonly<Record<string, string>>
  /** A tool that is called by POST; absent: the URL is read by GET. */
  readonly call?: { readonly tool: string; readonly args: object }
  /** Requests that are sent in turn instead. `{n}` in a body is replaced by another number each time. */
  readonly requests?: readonly { readonly method: string; readonly path: string; readonly body: string }[]
}

export type LatencyWatchMessage = LatencyWatchStart | 'stop'

/**
 * A watch from another process: the test's own work must not count as slowness of the hub, and allocating hundreds of megabytes
 * delays all threads of a process.
 */
export interface LatencyWatch {
  /**
   * Sends no further request, and resolves with the latencies in milliseconds, unordered; 60,000 for a request that failed or
   * was lost.
   */
  stop(): Promise<readonly number[]>
}

/** Sends requests over kept connections, as many as are needed at the same time. Resolves when the first request is sent. */
export async function watchLatency(start: LatencyWatchStart): Promise<LatencyWatch> {
  const started = Promise.withResolvers<void>()
  const latencies = Promise.withResolvers<readonly number[]>()
  // Otherwise unhandled if the process ends before it is stopped.
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
