import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const zipped = promisify(gzip)
/** For fewer bytes the saving is not worth the gzip header and the work. */
const WORTH_BYTES = 1_024
const COMPRESSIBLE =
  /^(?:application\/(?:[\w.-]+\+)?json|text\/(?!event-stream)[\w.-]+|application\/javascript|image\/svg\+xml)\b/i

/**
 * Compresses a body of known length with gzip, if the request accepts it and the type is compressible. Streams are not
 * compressed, since a compressor would delay their chunks.
 */
export async function compressed(request: Request, response: Response): Promise<Response> {
  const { headers } = response
  const length = Number(headers.get('content-length') ?? Number.NaN)
  if (!(length >= WORTH_BYTES) || response.body === null || headers.has('content-encoding')) return response
  if (!COMPRESSIBLE.test(headers.get('content-type') ?? '')) return response
  const varied = new Headers(headers)
  varied.append('vary', 'Accept-Encoding')
  const status = { status: response.status, statusText: response.statusText }
  if (!acceptsGzip(request.headers.get('accept-encoding'))) {
    return new Response(response.body, { ...status, headers: varied })
  }
  // On a thread of its own: a CompressionStream was seen to hold the main thread for 12 ms per MiB.
  const packed = await zipped(new Uint8Array(await response.arrayBuffer()))
  varied.set('content-encoding', 'gzip')
  varied.set('content-length', String(packed.byteLength))
  return new Response(packed, { ...status, headers: varied })
}

/** Whether gzip (or `*`) is listed with a weight above 0. */
export function acceptsGzip(header: string | null): boolean {
  if (header === null) return false
  let wildcard = false
  for (const part of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map(piece => piece.trim())
    const weight = parameters.find(parameter => parameter.startsWith('q='))
    const wanted = weight === undefined || Number(weight.slice(2)) > 0
    if (coding === 'gzip' || coding === 'x-gzip') return wanted
    if (coding === '*') wildcard = wanted
  }
  return wildcard
}

/** A response with a body of known length, so that {@link compressed} may compress it. */
export function wholeBody(text: string, contentType: string, init: ResponseInit = {}): Response {
  const bytes = new TextEncoder().encode(text)
  const headers = new Headers(init.headers)
  headers.set('content-type', contentType)
  headers.set('content-length', String(bytes.byteLength))
  return new Response(bytes, { ...init, headers })
}
