/**
 * Loaded before the hub: measures each turn of its main thread, in milliseconds of processor time, so that neither the test's
 * own work nor other programs count. At each SIGUSR2 it writes the longest turn since the last time to standard error, as
 * `longest turn: N`.
 */
import { mainThreadMs } from './work.ts'

/** Interval of measurements in milliseconds; a shorter turn is not distinguished from the next one. */
const INTERVAL_MS = 1

let seenMs = mainThreadMs(process.pid)
let longestMs = 0

function look(): void {
  const nowMs = mainThreadMs(process.pid)
  longestMs = Math.max(longestMs, nowMs - seenMs)
  seenMs = nowMs
  setTimeout(look, INTERVAL_MS)
}

look()
process.on('SIGUSR2', () => {
  process.stderr.write(`longest turn: ${longestMs.toFixed(1)}\n`)
  longestMs = 0
})
