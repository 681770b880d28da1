import { LIMITS } from '../../config/limits.ts'
import { within } from '../../connections/within.ts'
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
/** Up to this length an announced body is read as a whole. */
const AT_ONCE_BYTES = 4 * 1024
/** From this length on too: joining many parts of many bodies holds the thread for hundreds of milliseconds. */
const LARGE_BYTES = 256 * 1024
/** Slowest arrival of a large body, in bytes for each millisecond, beside the longest pause. */
const LEAST_RATE = 64

/** Options for reading the body of one message. */
export interface ReadBodyOptions {
  readonly request: Request
  readonly account: ByteAccount
  /** Called before a body whose parts are awaited one by one, which may take longer than a connection may be idle. */
  readonly keepOpen: () => void
  /** Longest pause in milliseconds. Default `LIMITS.bodySilenceMs`. */
  readonly silenceMs?: number
}

/**
 * Reads the body as text. While it arrives, the account is charged its announced length, or else what has arrived. An
 * announced body of at most 4 KiB must be there within `silenceMs`, one of 256 KiB and more within that and a second for each
 * 64 KB; of any other, each part within `silenceMs` after the one
 * before. Throws body_too_large at 4 MiB, announced or not, json_encoding for what is not UTF-8, request_timeout,
 * quota_bytes, overloaded.
 */
export function readBody(options: ReadBodyOptions): Promise<string> {
  const { request, account } = options
  const announced = request.headers.get('content-length')
  const length = Number(announced ?? 0)
  if (length > LIMITS.mcpBodyBytes) throw tooLarge()
  account.take(length)
  const text = isReadAtOnce(announced, length) ? readAtOnce(options, length) : readParts(options, length)
  return text.finally(() => account.give(length))
}

function isReadAtOnce(announced: string | null, length: number): boolean {
  return announced !== null && (length <= AT_ONCE_BYTES || length >= LARGE_BYTES)
}

/** Short bodies come with their head: a stream of their parts would cost several times as much. */
async function readAtOnce(
  { request, silenceMs = LIMITS.bodySilenceMs }: ReadBodyOptions,
  length: number,
): Promise<string> {
  const reading = request.text()
  const longestMs = length < LARGE_BYTES ? silenceMs : silenceMs + length / LEAST_RATE
  const text = await within(reading, longestMs).catch((cause: unknown) => throwUnread(cause))
  if (text === undefined) {
    // It fails when the connection ends.
    reading.catch(() => {})
    throw tooSlow(silenceMs)
  }
  // Invalid bytes are decoded as U+FFFD, three bytes long like a genuine U+FFFD: only then do the lengths differ.
  if (text.includes('\uFFFD') && Buffer.byteLength(text) !== length) throw notUtf8()
  return text
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

async function readParts(options: ReadBodyOptions, announced: number): Promise<string> {
  const { request, account, keepOpen, silenceMs = LIMITS.bodySilenceMs } = options
  if (!request.body) return ''
  keepOpen()
  const reader = request.body.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for (;;) {
      const part = await within(reader.read(), silenceMs)
      if (!part) throw tooSlow(silenceMs)
      if (part.done) break
      const { byteLength } = part.value
      if (bytes + byteLength > LIMITS.mcpBodyBytes) throw tooLarge()
      if (announced === 0) account.take(byteLength)
      bytes += byteLength
      chunks.push(part.value)
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch (error) {
    // The rest is not needed, and an error while cancelling it does not matter.
    reader.cancel().catch(() => {})
    if (error instanceof TypeError) throw new HubError('json_encoding', notUtf8().message, { cause: error })
    return throwUnread(error)
  } finally {
    if (announced === 0) account.give(bytes)
  }
}

/** A client that disconnects before it has sent the whole body is no failure of the hub. */
function throwUnread(cause: unknown): never {
  if (cause instanceof HubError) throw cause
  throw new HubError('request_invalid', 'Cannot read the request: its body ended early', { cause })
}

function tooSlow(silenceMs: number): HubError {
  return new HubError('request_timeout', `Nothing of the body came for ${Math.round(silenceMs / 1000)} s`)
}

function notUtf8(): HubError {
  return new HubError('json_encoding', 'Cannot read the request: its body is not UTF-8')
}

function tooLarge(): HubError {
  return new HubError('body_too_large', `Cannot read the request: its body is larger than ${LIMITS.mcpBodyBytes} bytes`)
}
