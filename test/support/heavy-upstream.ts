import type { HeavyUpstreamMessage } from './heavy-upstream-worker.ts'

/** An MCP server over HTTP with answers of a requested size, in a thread of its own. */
export interface HeavyUpstream {
  readonly url: string
  /** Answers the calls of `wait`. */
  release(): void
  stop(): void
}

/** Starts it. */
export async function heavyUpstream(): Promise<HeavyUpstream> {
  const worker = new Worker(new URL('./heavy-upstream-worker.ts', import.meta.url).href)
  const port = await new Promise<number>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<number>) => resolve(data)
    worker.onerror = event => reject(new Error(event.message))
  })
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    release: () => worker.postMessage('release' satisfies HeavyUpstreamMessage),
    stop: () => worker.terminate(),
  }
}
