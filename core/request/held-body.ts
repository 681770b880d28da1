import type { ByteAccount } from '../domain/byte-account.ts'
import { LongText } from '../domain/json/long-text.ts'

/** Below this many bytes an answer goes to the socket at once: the system's own buffers take it, read or not. */
export const HELD_BYTES = 64 * 1024
/** What the runtime gets at a time; it asks for more when the socket has taken it. */
const SLICE_BYTES = 64 * 1024

/**
 * A body whose bytes are held by an account until the socket has taken the last of them, or the client went away. Adds them
 * without asking: the caller has made sure that they fit. The text belongs to the body alone from now on.
 */
export function heldBody(text: LongText, account: ByteAccount): ReadableStream<Uint8Array> {
  account.add(text.byteLength)
  const parts = [...text.parts]
  let at = 0
  let released = false
  const release = (): void => {
    if (released) return
    released = true
    for (const part of parts.splice(0)) freeMemory(part)
    account.give(text.byteLength)
  }
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const [part] = parts
        if (!part) {
          release()
          controller.close()
          return
        }
        // A copy, since what the runtime has not written yet must outlive the part.
        controller.enqueue(new Uint8Array(part.subarray(at, at + SLICE_BYTES)))
        at += SLICE_BYTES
        if (at < part.byteLength) return
        at = 0
        parts.shift()
        freeMemory(part)
      },
      cancel: release,
    },
    { highWaterMark: 0 },
  )
}

/** At once, while the collector would find it hundreds of megabytes later. Short ones share their memory with others. */
function freeMemory({ buffer, byteLength }: Uint8Array<ArrayBuffer>): void {
  if (byteLength > SLICE_BYTES) buffer.transfer(0)
}

/** The same answer with its body held, where it is whole and large. Throws `quota_bytes`, `overloaded`. */
export async function heldResponse(response: Response, holder: { readonly account: ByteAccount }): Promise<Response> {
  const length = Number(response.headers.get('content-length') ?? Number.NaN)
  if (!(length > HELD_BYTES) || response.body === null) return response
  const { account } = holder
  if (!account.fits(length)) throw account.refusal(length)
  const { status, statusText } = response
  const headers = new Headers(response.headers)
  // The parts come as the client takes them, so the runtime sends them chunked.
  headers.delete('content-length')
  const text = new LongText([new Uint8Array(await response.arrayBuffer())])
  return new Response(heldBody(text, account), { status, statusText, headers })
}
