/** Loaded into the hub before its own code: at SIGUSR2 it collects garbage and writes what is left in the main thread. */
import { heapStats } from 'bun:jsc'

process.on('SIGUSR2', () => {
  Bun.gc(true)
  const { heapSize, extraMemorySize, protectedObjectTypeCounts } = heapStats()
  const seen = { heapBytes: heapSize + extraMemorySize, timers: protectedObjectTypeCounts.Timeout ?? 0 }
  process.stdout.write(`PROBE ${JSON.stringify(seen)}\n`)
})
