import type { ByteAccount } from '../domain/byte-account.ts'
import { freePart, LongText } from '../domain/json/long-text.ts'

/** Bytes up to which a response is written at once: the system's socket buffers accept them even when the client does not read. */
export const HELD_BYTES = 64 * 1024
/** Bytes per chunk; the runtime pulls the next when the socket has taken one. */
const SLICE_BYTES = 64 * 1024
/**
 * Most bytes that {@link countedBody} reads of a body before its first byte is sent. Bodies that are whole already end
 * within it; of a stream this much at most waits in memory.
 */
const AHEAD_BYTES = 16 * 1024 * 1024

type Bytes = Uint8Array<ArrayBuffer>
type Reader = ReadableStreamDefaultReader<Uint8Array>

/**
 * A response body whose bytes are charged to an account while they wait for the client. The application counts every other body
 * with {@link countedBody}; the class survives copies of the response.
 */
export class CountedBody extends ReadableStream<Uint8Array> {}

/**
 * A body whose bytes are charged to an account until the socket has taken the last of them or the client disconnects. Charges
 * them without a check: the caller must ensure that they fit. The body takes ownership of the text.
 */
export function heldBody(text: LongText, account: ByteAccount): CountedBody {
  account.add(text.byteLength)
  const parts = [...text.parts]
  const turn = turnsAfterFirst(account)
  let at = 0
  let released = false
  const release = (): void => {
    if (released) return
    released = true
    for (const part of parts.splice(0)) freePart(part)
    account.give(text.byteLength)
  }
  return new CountedBody(
    {
      async pull(controller) {
        await turn()
        if (released) return
        const [part] = parts
        if (!part) {
          release()
          controller.close()
          return
        }
        // Copied, since the runtime's pending write must outlive the part.
        controller.enqueue(new Uint8Array(part.subarray(at, at + SLICE_BYTES)))
        at += SLICE_BYTES
        if (at < part.byteLength) return
        at = 0
        parts.shift()
        freePart(part)
      },
      cancel: release,
    },
    { highWaterMark: 0 },
  )
}

/**
 * A body that is read part by part, each when the socket has taken the part before. Charges `partBytes`, the size of the
 * largest part, until the end or until the client disconnects; throws `quota_bytes` or `overloaded` before anything is
 * read. When `next` rejects, the connection ends without the end of the body.
 */
export function pulledBody(
  next: () => Promise<Bytes | undefined>,
  partBytes: number,
  account: ByteAccount,
): CountedBody {
  account.take(partBytes)
  const turn = turnsAfterFirst(account)
  let part: Bytes | undefined
  let at = 0
  let released = false
  const release = (): void => {
    if (released) return
    released = true
    if (part) freePart(part)
    part = undefined
    account.give(partBytes)
  }
  const read = async (): Promise<Bytes | undefined> => {
    await account.readingTurn()
    return released ? undefined : next()
  }
  return new CountedBody(
    {
      async pull(controller) {
        await turn()
        if (released) return
        try {
          while (!part?.byteLength) {
            part = await read()
            if (released) return
            if (part === undefined) {
              release()
              return controller.close()
            }
          }
        } catch (error) {
          release()
          throw error
        }
        controller.enqueue(new Uint8Array(part.subarray(at, at + SLICE_BYTES)))
        at += SLICE_BYTES
        if (at < part.byteLength) return
        at = 0
        freePart(part)
        part = undefined
      },
      cancel: release,
    },
    { highWaterMark: 0 },
  )
}

/**
 * Counts a body of unknown length. Reads as much as is ready, up to 16 MiB, and charges it. Resolves with the whole text if
 * the body ended, which is no longer charged then; otherwise with a stream that charges each further chunk until the
 * socket has taken it. A chunk that does not fit ends the connection. Throws `quota_bytes`, `overloaded`, and the
 * body's own error.
 */
export async function countedBody(
  body: ReadableStream<Uint8Array>,
  account: ByteAccount,
): Promise<LongText | CountedBody> {
  const reader = body.getReader()
  const parts: Bytes[] = []
  let bytes = 0
  try {
    for (;;) {
      const reading = reader.read()
      const ready = bytes < AHEAD_BYTES && (await isReady(reading))
      if (!ready) return restOf({ reader, reading, parts, bytes }, account)
      const { done, value } = await reading
      if (done) break
      account.take(value.byteLength)
      bytes += value.byteLength
      if (value.byteLength > 0) parts.push(value as Bytes)
    }
  } catch (error) {
    account.give(bytes)
    for (const part of parts) freePart(part)
    // An error while cancelling does not matter: the body is not needed.
    reader.cancel().catch(() => {})
    throw error
  }
  account.give(bytes)
  return new LongText(parts)
}

interface Begun {
  readonly reader: Reader
  /** The next chunk, which was already requested. */
  readonly reading: ReturnType<Reader['read']>
  readonly parts: Bytes[]
  /** Total bytes of the parts, already charged. */
  readonly bytes: number
}

function restOf({ reader, reading, parts, bytes }: Begun, account: ByteAccount): CountedBody {
  const turn = turnsAfterFirst(account)
  let next: typeof reading | undefined = reading
  // It is awaited by the first pull after the parts, which may never happen.
  reading.catch(() => {})
  let held = bytes
  let at = 0
  let cancelled = false
  const release = (): void => {
    account.give(held)
    held = 0
    parts.length = 0
  }
  const read = async (): Promise<Bytes | undefined> => {
    release()
    const { done, value } = await (next ?? reader.read())
    next = undefined
    if (done || cancelled) return undefined
    account.take(value.byteLength)
    held = value.byteLength
    if (value.byteLength > 0) parts.push(value as Bytes)
    return value as Bytes
  }
  return new CountedBody(
    {
      async pull(controller) {
        await turn()
        if (cancelled) return
        let part = parts[0]
        try {
          // An empty chunk is skipped: it would not cause another pull.
          while (!part?.byteLength) {
            part = await read()
            if (part === undefined) return cancelled ? undefined : controller.close()
          }
        } catch (error) {
          reader.cancel().catch(() => {})
          throw error
        }
        controller.enqueue(new Uint8Array(part.subarray(at, at + SLICE_BYTES)))
        at += SLICE_BYTES
        if (at < part.byteLength) return
        at = 0
        // Charged with the others until all chunks have been sent, or the next chunk is read.
        parts.shift()
      },
      cancel(reason) {
        cancelled = true
        release()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

/** Awaited before each chunk: the first is sent in the turn of its request, each further one in a turn of the account. */
function turnsAfterFirst(account: ByteAccount): () => Promise<void> | undefined {
  let first = true
  return () => {
    if (!first) return account.sendingTurn()
    first = false
    return undefined
  }
}

/** True when a promise settles within two turns of the event loop, as the read of a body in memory does. */
async function isReady(promise: Promise<unknown>): Promise<boolean> {
  const later = Promise.withResolvers<false>()
  const timers = setImmediate(() => setImmediate(later.resolve, false))
  try {
    return await Promise.race([promise.then(() => true), later.promise])
  } finally {
    clearImmediate(timers)
  }
}
