/**
 * Loaded into the hub before its own code, and into each of its worker threads: at SIGUSR2 garbage is collected in all of
 * them, and what is left is written as one line. Without that, a thread may sit on the garbage of a flood for minutes.
 */
import { heapStats } from 'bun:jsc'
import { threadId } from 'node:worker_threads'

type Said = { readonly kind: 'ask' } | { readonly kind: 'answer'; readonly thread: number; readonly heapBytes: number }

const ASK: Said = { kind: 'ask' }
const threads = new BroadcastChannel('probe')

function look(): { readonly heapBytes: number; readonly timers: number } {
  Bun.gc(true)
  const { heapSize, extraMemorySize, protectedObjectTypeCounts } = heapStats()
  return { heapBytes: heapSize + extraMemorySize, timers: protectedObjectTypeCounts.Timeout ?? 0 }
}

function watchThreads(): void {
  const live = new Set<Worker>()
  const answers = new Map<number, number>()
  let main: ReturnType<typeof look> | undefined
  const tell = (): void => {
    if (!main || answers.size < live.size) return
    const workerHeapBytes = [...answers.values()].reduce((sum, bytes) => sum + bytes, 0)
    process.stdout.write(`PROBE ${JSON.stringify({ ...main, workerHeapBytes })}\n`)
    main = undefined
  }
  globalThis.Worker = class extends Worker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, { ...options, preload: [import.meta.path] })
      live.add(this)
      this.addEventListener('close', () => {
        live.delete(this)
        tell()
      })
    }
  }
  threads.onmessage = ({ data }: { data: Said }) => {
    // A new thread asks too, since it has not received the question.
    if (data.kind === 'ask') return main && threads.postMessage(ASK)
    answers.set(data.thread, data.heapBytes)
    tell()
  }
  process.on('SIGUSR2', () => {
    answers.clear()
    main = look()
    threads.postMessage(ASK)
    tell()
  })
}

if (Bun.isMainThread) {
  watchThreads()
} else {
  threads.onmessage = ({ data }: { data: Said }) => {
    const answer: Said = { kind: 'answer', thread: threadId, heapBytes: look().heapBytes }
    if (data.kind === 'ask') threads.postMessage(answer)
  }
  threads.postMessage(ASK)
}
