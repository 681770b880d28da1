import { closeSync, constants, openSync, writeSync } from 'node:fs'

/** Longest wait for a reader of a full pipe, in milliseconds. */
const LONGEST_MS = 3_000
const PAUSE_MS = 10

/**
 * Writes a text to an open descriptor before it returns, so that it arrives even when the process ends right after. Waits up to
 * 3 s for the reader of a full pipe. Never throws.
 */
export function writeNow(descriptor: number, text: string): void {
  const own = openNonBlocking(descriptor)
  const endMs = performance.now() + LONGEST_MS
  const bytes = Buffer.from(text)
  for (let written = 0; written < bytes.length && performance.now() < endMs; ) {
    try {
      written += writeSync(own ?? descriptor, bytes, written)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') break
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)
    }
  }
  if (own !== undefined) closeSync(own)
}

/** Opens the same pipe again without blocking, since a blocking pipe would hold the process while it has no reader. */
function openNonBlocking(descriptor: number): number | undefined {
  try {
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK)
  } catch {
    // A socket, or no descriptor is left, or not Linux.
    return undefined
  }
}
