import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { ByteAccount } from '../../domain/byte-account.ts'
import { scanShape } from '../../domain/json/json-shape.ts'

/** Up to this many characters the values in a body are not counted. */
const UNCOUNTED = 8 * 1024
/** Bytes that an object or array takes in memory besides its text, and that each further member takes. */
const CONTAINER_BYTES = 32
const MEMBER_BYTES = 8
/** Most bytes that one body is charged, so that the largest ones pass while nothing else is in flight. */
const MAX_WEIGHT = 48 * 1024 * 1024

/**
 * Reads the body as text. While it arrives, the account is charged its announced length, or else what has arrived.
 * Throws body_too_large at 4 MiB, announced or not, json_encoding for what is not UTF-8, quota_bytes, overloaded.
 */
export function readBody(request: Request, account: ByteAccount): Promise<string> {
  const announced = request.headers.get('content-length')
  if (announced === null) return readParts(request, account)
  const length = Number(announced)
  if (length > LIMITS.mcpBodyBytes) throw tooLarge()
  account.take(length)
  return request.text().then(
    text => {
      account.give(length)
      // Invalid bytes are decoded as U+FFFD, three bytes long like a genuine U+FFFD: only then do the lengths differ.
      if (text.includes('\uFFFD') && Buffer.byteLength(text) !== length) throw notUtf8()
      return text
    },
    cause => {
      account.give(length)
      throwUnread(cause)
    },
  )
}

/**
 * Bytes charged for a body while its calls are in flight: its text, and the memory of the parsed values, since
 * `[[],[],…]` takes ten times its length.
 */
export function bodyWeight(text: string): number {
  const { length } = text
  if (length <= UNCOUNTED) return length
  const { commas, containers } = scanShape(text)
  return Math.min(length + commas * MEMBER_BYTES + containers * CONTAINER_BYTES, MAX_WEIGHT)
}

async function readParts(request: Request, account: ByteAccount): Promise<string> {
  if (!request.body) return ''
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of request.body) {
      if (bytes + chunk.byteLength > LIMITS.mcpBodyBytes) throw tooLarge()
      account.take(chunk.byteLength)
      bytes += chunk.byteLength
      chunks.push(chunk)
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch (error) {
    if (error instanceof TypeError) throw new HubError('json_encoding', notUtf8().message, { cause: error })
    throwUnread(error)
  } finally {
    account.give(bytes)
  }
}

/** A client that disconnects before it has sent the whole body is no failure of the hub. */
function throwUnread(cause: unknown): never {
  if (cause instanceof HubError) throw cause
  throw new HubError('request_invalid', 'Cannot read the request: its body ended early', { cause })
}

function notUtf8(): HubError {
  return new HubError('json_encoding', 'Cannot read the request: its body is not UTF-8')
}

function tooLarge(): HubError {
  return new HubError('body_too_large', `Cannot read the request: its body is larger than ${LIMITS.mcpBodyBytes} bytes`)
}
