import type { ByteAccount } from '../domain/byte-account.ts'
import { freePart, LongText } from '../domain/json/long-text.ts'

/** Smaller responses are written at once: the system's socket buffers take them even when the client does not read. */
export const HELD_BYTES = 64 * 1024
/** Bytes per chunk; the runtime pulls the next when the socket has taken one. */
const SLICE_BYTES = 64 * 1024

/**
 * A body whose bytes are charged to an account until the socket has taken the last of them or the client disconnects.
 * Adds them without a check: the caller has made sure that they fit. The body takes ownership of the text.
 */
export function heldBody(text: LongText, account: ByteAccount): ReadableStream<Uint8Array> {
  account.add(text.byteLength)
  const parts = [...text.parts]
  let at = 0
  let released = false
  const release = (): void => {
    if (released) return
    released = true
    for (const part of parts.splice(0)) freePart(part)
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

/** The same response with its body charged to an account, if it is complete and large. Throws `quota_bytes`,
 * `overloaded`. */
export async function heldResponse(response: Response, holder: { readonly account: ByteAccount }): Promise<Response> {
  const length = Number(response.headers.get('content-length') ?? Number.NaN)
  if (!(length > HELD_BYTES) || response.body === null) return response
  const { account } = holder
  if (!account.fits(length)) throw account.refusal(length)
  const { status, statusText } = response
  const headers = new Headers(response.headers)
  // The runtime sends the parts chunked, as the client reads them.
  headers.delete('content-length')
  const text = new LongText([new Uint8Array(await response.arrayBuffer())])
  return new Response(heldBody(text, account), { status, statusText, headers })
}
