/** What is asked again and again. */
export interface LatencyWatchStart {
  readonly url: string
  readonly everyMs: number
  /** Go out with every request. Default none. */
  readonly headers?: Readonly<Record<string, string>>
  /** A tool that is called by POST; absent: the URL is read by GET. */
  readonly call?: { readonly tool: string; readonly args: object }
}

export type LatencyWatchMessage = LatencyWatchStart | 'stop'

/** A watch from another thread, so that what a test does in its main thread does not count as the hub's slowness. */
export interface LatencyWatch {
  /** Asks no more, and gives the latencies in milliseconds, in no order; 60,000 for a request that failed or was lost. */
  stop(): Promise<readonly number[]>
}

/** Asks over kept connections, as many as are needed at the same time. */
export function watchLatency(start: LatencyWatchStart): LatencyWatch {
  const worker = new Worker(new URL('./latency-watch-worker.ts', import.meta.url).href)
  const latencies = new Promise<number[]>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<number[]>) => resolve(data)
    worker.onerror = event => reject(new Error(event.message))
  })
  worker.postMessage(start satisfies LatencyWatchMessage)
  return {
    async stop() {
      worker.postMessage('stop' satisfies LatencyWatchMessage)
      const seen = await latencies
      worker.terminate()
      return seen
    },
  }
}
