import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { HubError } from '../contract/errors.ts'
import { GrowingBytes } from '../domain/growing-bytes.ts'
import { RESULT_BYTES } from '../domain/result-bytes.ts'
import { MAX_HEAD_BYTES, malformed } from './head.ts'

/** Longest body that is read as a whole, in decoded bytes, unless the request sets another limit. */
export const DEFAULT_BODY_BYTES = RESULT_BYTES.usual
/** The highest limit that a request may set, in decoded bytes. */
export const LARGEST_BODY_BYTES = RESULT_BYTES.most
/** Decoded bytes per encoded byte beyond which a body counts as a bomb. */
const LINE_FEED = 10
const MAX_EXPANSION = 100
/** Below this size the ratio is ignored: short texts of one repeated character compress better than that. */
const EXPANSION_FLOOR_BYTES = 100 * 1024
/** Smaller chunks are joined. */
const SHORT_BYTES = 1024

/** Removes the framing of a chunked body. Strict for the same reason as the head parser. */
export class ChunkedReader {
  #state: 'size' | 'data' | 'data-end' | 'trailer' | 'done' = 'size'
  #left = 0
  #line = ''
  #trailerBytes = 0

  get done(): boolean {
    return this.#state === 'done'
  }

  /**
   * Passes the pieces of the body to `piece`, and joins short ones: a chunk of one byte would cost as much as a long one.
   * Returns the number of bytes that belonged to the body. Throws `upstream_protocol`.
   */
  push(bytes: Buffer, piece: (bytes: Buffer) => void): number {
    const together = new Together(bytes.length, piece)
    try {
      return this.#push(bytes, together)
    } finally {
      together.end()
    }
  }

  #push(bytes: Buffer, together: Together): number {
    let at = 0
    while (at < bytes.length && this.#state !== 'done') {
      at = this.#state === 'data' ? this.#pushData(bytes, at, together) : this.#pushLine(bytes, at)
    }
    return at
  }

  /** Takes the data of a chunk from `at`; returns its end. */
  #pushData(bytes: Buffer, at: number, together: Together): number {
    const end = Math.min(at + this.#left, bytes.length)
    this.#left -= end - at
    // The state is set first: the handler of the piece may end the whole exchange.
    if (this.#left === 0) this.#state = 'data-end'
    together.add(bytes.subarray(at, end))
    return end
  }

  /** Takes a line between chunks from `at`; returns its end. */
  #pushLine(bytes: Buffer, at: number): number {
    const newline = bytes.indexOf(LINE_FEED, at)
    const end = newline < 0 ? bytes.length : newline + 1
    this.#line += bytes.toString('latin1', at, end)
    if (this.#line.length > 1024 && this.#state !== 'trailer') throw malformed('a chunk has an endless head')
    if (this.#line.length > MAX_HEAD_BYTES) throw malformed('its trailer is too long')
    if (newline >= 0) this.#endOfLine()
    return end
  }

  #endOfLine(): void {
    const line = this.#line
    this.#line = ''
    if (!line.endsWith('\r\n')) throw malformed('a line of its chunked body ends without CR LF')
    if (this.#state === 'data-end') {
      if (line !== '\r\n') throw malformed('a chunk is longer than announced')
      this.#state = 'size'
    } else if (this.#state === 'size') {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it must refuse
      const size = /^([0-9a-fA-F]{1,8})(?:[ \t]*;[^\x00-\x08\x0a-\x1f\x7f]*)?\r\n$/.exec(line)
      if (!size) throw malformed('the size of a chunk is no number')
      this.#left = Number.parseInt(size[1] ?? '', 16)
      this.#state = this.#left === 0 ? 'trailer' : 'data'
    } else {
      this.#trailerBytes += line.length
      if (this.#trailerBytes > MAX_HEAD_BYTES) throw malformed('its trailer is too long')
      if (line === '\r\n') this.#state = 'done'
    }
  }
}

/** Joins short pieces of one read; a single piece is passed on unchanged. */
class Together {
  readonly #mostBytes: number
  readonly #piece: (bytes: Buffer) => void
  #one: Buffer | undefined
  #joined: GrowingBytes | undefined

  constructor(mostBytes: number, piece: (bytes: Buffer) => void) {
    this.#mostBytes = mostBytes
    this.#piece = piece
  }

  add(bytes: Buffer): void {
    if (bytes.length >= SHORT_BYTES) {
      this.end()
      this.#piece(bytes)
    } else if (this.#joined) this.#joined.append(bytes)
    else if (this.#one) {
      this.#joined = new GrowingBytes(this.#mostBytes)
      this.#joined.append(this.#one)
      this.#joined.append(bytes)
    } else this.#one = bytes
  }

  end(): void {
    const bytes = this.#joined?.bytes() ?? this.#one
    this.#one = undefined
    this.#joined = undefined
    if (bytes) this.#piece(bytes)
  }
}

/** Receives decoded bytes. Either `end` or `fail` is called, once. */
export interface BodySink {
  bytes(bytes: Buffer): void
  end(): void
  fail(error: HubError): void
}

/** Decodes a content coding into a sink, and stops at a decompression bomb. */
export interface BodyDecoder {
  push(bytes: Buffer): void
  end(): void
  /** Delivers nothing from now on. */
  cancel(): void
}

/**
 * A decoder for this `Content-Encoding`; undefined if there is nothing to decode. Throws `upstream_protocol` for an unknown
 * coding or several layers.
 */
export function decoderFor(encoding: string | undefined, sink: BodySink): BodyDecoder | undefined {
  const coding = encoding?.toLowerCase() ?? 'identity'
  if (coding === 'identity' || coding === '') return undefined
  if (coding === 'gzip' || coding === 'x-gzip') return zlibDecoder(() => createGunzip(), sink)
  if (coding === 'br') return zlibDecoder(() => createBrotliDecompress(), sink)
  // "deflate" means zlib (RFC 9110), but some servers send the raw form: the first byte shows which.
  if (coding === 'deflate') {
    return zlibDecoder(first => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw()), sink)
  }
  throw malformed('its content coding is not gzip, deflate or br')
}

type Inflater = ReturnType<typeof createInflate | typeof createGunzip | typeof createBrotliDecompress>

function zlibDecoder(create: (firstByte: number) => Inflater, sink: BodySink): BodyDecoder {
  let inflater: Inflater | undefined
  let encodedBytes = 0
  let decodedBytes = 0
  let over = false

  const finish = (error?: HubError) => {
    if (over) return
    over = true
    if (error) {
      inflater?.destroy()
      sink.fail(error)
    } else sink.end()
  }
  const start = (firstByte: number): Inflater => {
    const made = create(firstByte)
    made.on('data', (bytes: Buffer) => {
      if (over) return
      decodedBytes += bytes.length
      if (decodedBytes > Math.max(EXPANSION_FLOOR_BYTES, encodedBytes * MAX_EXPANSION)) {
        return finish(malformed(`its compressed body expands more than ${MAX_EXPANSION} times`))
      }
      sink.bytes(bytes)
    })
    made.on('error', () => finish(malformed('its compressed body is damaged')))
    made.on('end', () => finish())
    return made
  }

  return {
    push(bytes) {
      if (over || bytes.length === 0) return
      encodedBytes += bytes.length
      inflater ??= start(bytes[0] ?? 0)
      inflater.write(bytes)
    },
    end() {
      if (inflater) inflater.end()
      else finish()
    },
    cancel() {
      over = true
      inflater?.destroy()
    },
  }
}

/** Decodes pieces of UTF-8 without cutting a character; invalid bytes become U+FFFD. */
export class Utf8Reader {
  #decoder: TextDecoder | undefined

  push(bytes: Buffer): string {
    const endsWhole = (bytes[bytes.length - 1] ?? 0) < 0x80
    if (endsWhole && !this.#decoder) return bytes.toString()
    this.#decoder ??= new TextDecoder('utf-8', { ignoreBOM: true })
    const text = this.#decoder.decode(bytes, { stream: true })
    if (endsWhole) this.#decoder = undefined
    return text
  }

  /** The replacement for an incomplete character at the end. */
  end(): string {
    return this.#decoder?.decode() ?? ''
  }
}

/** The error `result_too_large`, with `data.maxBytes`. */
export function bodyTooLarge(maxBytes: number): HubError {
  const message = `The server's answer is longer than ${maxBytes} bytes, the most that it may have`
  return new HubError('result_too_large', message, { data: { maxBytes } })
}
