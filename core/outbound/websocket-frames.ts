import { Buffer } from 'node:buffer'
import { randomFillSync } from 'node:crypto'
import { HubError } from '../contract/errors.ts'
import { GrowingBytes } from '../domain/growing-bytes.ts'
import type { LongMessage } from '../transport-kit/definition.ts'
import { LongMessageReader } from '../transport-kit/long-message.ts'

const CONTINUATION = 0x0
const TEXT = 0x1
const CLOSE = 0x8
const PING = 0x9
const PONG = 0xa
const MOST_CONTROL_BYTES = 125

/** Handlers for the content of a server's frames. */
export interface FrameHandlers {
  /** Longest message in bytes; read for each one. */
  readonly maxBytes: number
  /**
   * Called at the head of each frame, before its payload of `bytes` is read; an error thrown here ends the reading. `whole`: the
   * frame is a message, not a piece of one or a control frame.
   */
  begins?(bytes: number, whole: boolean): void
  text(message: string): void
  /**
   * Called for a message that was skipped because it was too long. Without this function, `push` throws `result_too_large` as
   * soon as one becomes too long.
   */
  tooLong?(message: LongMessage): void
  ping(payload: Buffer): void
  /** The answer to a ping. */
  pong(): void
  close(code: number | undefined): void
}

/** Reads the frames of a server (RFC 6455, without extensions), in pieces cut anywhere. */
export class FrameReader {
  readonly #handlers: FrameHandlers
  readonly #utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  #pending: Buffer = Buffer.alloc(0)
  #opcode = 0
  #final = false
  /** Bytes of the frame's payload that are still missing; undefined: a header is expected. */
  #left: number | undefined
  #control: Buffer[] = []
  #message: GrowingBytes | undefined
  /** Set while a message is skipped. */
  #skipped: LongMessageReader | undefined

  constructor(handlers: FrameHandlers) {
    this.#handlers = handlers
  }

  /** Throws `upstream_protocol` for an invalid frame, `result_too_large`, and errors of `begins`. */
  push(chunk: Buffer): void {
    let bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    this.#pending = Buffer.alloc(0)
    for (;;) {
      if (this.#left === undefined) {
        const used = this.#readHeader(bytes)
        if (used === 0) {
          this.#pending = bytes
          return
        }
        bytes = bytes.subarray(used)
      }
      const left = this.#left ?? 0
      this.#take(bytes.subarray(0, left))
      this.#left = left - Math.min(left, bytes.length)
      bytes = bytes.subarray(Math.min(left, bytes.length))
      if (this.#left > 0) return
      this.#left = undefined
      this.#frameEnds()
    }
  }

  /** Returns the length of the header; 0 when it is not complete. */
  #readHeader(bytes: Buffer): number {
    if (bytes.length < 2) return 0
    const [first = 0, second = 0] = bytes
    const short = second & 0x7f
    const length = short === 126 ? 4 : short === 127 ? 10 : 2
    if ((first & 0x70) !== 0) throw broken('a frame uses an extension that was not agreed')
    if ((second & 0x80) !== 0) throw broken('a frame of the server is masked')
    if (bytes.length < length) return 0
    this.#opcode = first & 0x0f
    this.#final = (first & 0x80) !== 0
    const left = length === 2 ? short : length === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
    this.#left = left
    if (this.#opcode < CLOSE) this.#messageGoesOn()
    else this.#checkControl(left)
    this.#handlers.begins?.(left, this.#opcode === TEXT && this.#final)
    if (this.#opcode < CLOSE) this.#checkLength(left)
    return length
  }

  #checkControl(length: number): void {
    if (!this.#final || length > MOST_CONTROL_BYTES) throw broken('a control frame is too long or in pieces')
    if (this.#opcode > PONG) throw broken('a frame is of an unknown kind')
  }

  /** A message is rejected early because skipping it means reading to its end, which a server may never send. */
  #checkLength(bytes: number): void {
    const { maxBytes, tooLong } = this.#handlers
    if (tooLong || !this.#message || this.#message.length + bytes <= maxBytes) return
    throw new HubError('result_too_large', `The server's WebSocket sent a message of more than ${maxBytes} bytes`)
  }

  #messageGoesOn(): void {
    const begun = this.#message !== undefined || this.#skipped !== undefined
    if (this.#opcode === CONTINUATION) {
      if (!begun) throw broken('a message begins in its middle')
      return
    }
    if (this.#opcode !== TEXT) throw broken('a message is not text')
    if (begun) throw broken('a message begins in the middle of another')
    this.#message = new GrowingBytes(this.#handlers.maxBytes)
  }

  #take(bytes: Buffer): void {
    if (this.#opcode >= CLOSE) {
      // A copy: the buffer is the socket's.
      if (bytes.length > 0) this.#control.push(Buffer.from(bytes))
    } else if (this.#skipped) this.#skipped.push(bytes.toString('latin1'))
    else if (this.#message && this.#message.length + bytes.length > this.#handlers.maxBytes) {
      this.#skipped = new LongMessageReader()
      this.#skipped.push(this.#message.bytes().toString('latin1'))
      this.#skipped.push(bytes.toString('latin1'))
      this.#message = undefined
    } else this.#message?.append(bytes)
  }

  #frameEnds(): void {
    if (this.#opcode >= CLOSE) {
      const payload = Buffer.concat(this.#control)
      this.#control = []
      if (this.#opcode === PING) this.#handlers.ping(payload)
      if (this.#opcode === PONG) this.#handlers.pong()
      if (this.#opcode === CLOSE) this.#handlers.close(payload.length < 2 ? undefined : payload.readUInt16BE(0))
      return
    }
    if (!this.#final) return
    const bytes = this.#message?.bytes()
    const skipped = this.#skipped
    this.#message = undefined
    this.#skipped = undefined
    if (skipped) this.#handlers.tooLong?.(skipped.end())
    else if (bytes) this.#handlers.text(this.#decode(bytes))
  }

  #decode(bytes: Buffer): string {
    try {
      return this.#utf8.decode(bytes)
    } catch {
      throw broken('a message is not UTF-8')
    }
  }
}

/** A text of the hub, as one frame. */
export function textFrame(text: string): Buffer {
  return frame(TEXT, Buffer.from(text))
}

/** A ping without a payload. */
export function pingFrame(): Buffer {
  return frame(PING, Buffer.alloc(0))
}

/** The answer to a ping. */
export function pongFrame(payload: Buffer): Buffer {
  return frame(PONG, payload)
}

/** The end of the connection, with its status code. */
export function closeFrame(code: number): Buffer {
  const payload = Buffer.alloc(2)
  payload.writeUInt16BE(code)
  return frame(CLOSE, payload)
}

/** Returns a masked frame, as required for clients. `payload` is overwritten. */
function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload
  const header = Buffer.alloc(length < 126 ? 6 : length < 0x1_0000 ? 8 : 14)
  header[0] = 0x80 | opcode
  header[1] = 0x80 | (length < 126 ? length : length < 0x1_0000 ? 126 : 127)
  if (header.length === 8) header.writeUInt16BE(length, 2)
  if (header.length === 14) header.writeBigUInt64BE(BigInt(length), 2)
  const maskAt = header.length - 4
  randomFillSync(header, maskAt, 4)
  for (let at = 0; at < length; at += 1) payload[at] = (payload[at] ?? 0) ^ (header[maskAt + (at & 3)] ?? 0)
  return Buffer.concat([header, payload])
}

function broken(why: string): HubError {
  return new HubError('upstream_protocol', `The server's WebSocket cannot be read: ${why}`)
}
