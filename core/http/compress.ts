import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const zipped = promisify(gzip)
/** For fewer bytes the saving is not worth the gzip header and the work. */
const WORTH_BYTES = 1_024
/** More would occupy a thread that compresses for everybody for some hundred milliseconds. */
const MOST_BYTES = 4 * 1024 * 1024
const COMPRESSIBLE =
  /^(?:application\/(?:[\w.-]+\+)?json|text\/(?!event-stream)[\w.-]+|application\/javascript|image\/svg\+xml)\b/i

/** Content coding for a body of known length: `none` if it cannot be compressed, else the one that the request accepts. */
export function codingOf(request: Request, headers: Headers, byteLength: number): 'none' | 'identity' | 'gzip' {
  if (byteLength < WORTH_BYTES || byteLength > MOST_BYTES || headers.has('content-encoding')) return 'none'
  if (!COMPRESSIBLE.test(headers.get('content-type') ?? '')) return 'none'
  return acceptsGzip(request.headers.get('accept-encoding')) ? 'gzip' : 'identity'
}

/** The bytes compressed with gzip, on a thread of its own: a CompressionStream holds the main thread for 12 ms a MiB. */
export function compressed(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  return zipped(bytes)
}

/** True when gzip (or `*`) is listed with a weight above 0. */
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
