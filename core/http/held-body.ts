import type { ByteAccount } from '../domain/byte-account.ts'

/** Below this many bytes an answer goes to the socket at once: the system's own buffers take it, read or not. */
export const HELD_BYTES = 64 * 1024
/** What the runtime gets at a time; it asks for more when the socket has taken it. */
const SLICE_BYTES = 64 * 1024

/**
 * A body whose bytes are held by an account until the socket has taken the last of them, or the client went away. Adds them
 * without asking: the caller has made sure that they fit.
 */
export function heldBody(bytes: Uint8Array, account: ByteAccount): ReadableStream<Uint8Array> {
  const size = bytes.byteLength
  account.add(size)
  let rest: Uint8Array | undefined = bytes
  const release = (): void => {
    if (!rest) return
    rest = undefined
    account.give(size)
  }
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (rest && rest.byteLength > 0) {
          controller.enqueue(rest.subarray(0, SLICE_BYTES))
          rest = rest.subarray(SLICE_BYTES)
          return
        }
        release()
        controller.close()
      },
      cancel: release,
    },
    { highWaterMark: 0 },
  )
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
  const bytes = new Uint8Array(await response.arrayBuffer())
  return new Response(heldBody(bytes, account), { status, statusText, headers })
}
