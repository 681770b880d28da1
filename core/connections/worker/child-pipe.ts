import { LIMITS } from '../../config/limits.ts'
import type { ChildPipe, LongMessage } from '../../transport-kit/definition.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import { LineFramer, LONGEST_DROPPED_BYTES } from './line-framer.ts'
import { UNREAD_MS, type WriteBacklog } from './write-backlog.ts'

/** Bytes that answered no pending call, after which reading pauses for the rest of the time slice. */
const FLOOD_BYTES = 128 * 1024
const FLOOD_SLICE_MS = 50
/** A chunk is processed in steps of this size, so that thousands of short lines do not delay other connections. */
const STEP_BYTES = 16 * 1024
/**
 * Bytes that every message counts at least: some 2,500 a second are read, several times as many as are passed on,
 * and a child that writes more blocks on its pipe.
 */
const LINE_BYTES = 1024
/** Bytes of a dropped line that count as one: some 40 MB a second are skipped, which costs little. */
const DROPPED_SHARE = 16
/** Unread input of a child is charged to its owner from this size on, in bytes. */
const COUNTED_BYTES = 64 * 1024
/** Additional bytes that small messages may wait with, such as the notification that a call is cancelled. */
const SPARE_BYTES = 1024 * 1024

/** Time for which a child that closed its stdin may still answer earlier requests. */
const INPUT_CLOSED_MS = 3_000

/** A child's pipe inside the thread that carries it. */
export interface CarriedPipe extends ChildPipe {
  /** The line being delivered answered a call: it does not count towards the flood limit. */
  countAsAnswer(): void
  setMaxBytes(maxBytes: number): void
  /** Closes the descriptors at once. */
  destroy(): void
}

/** Decides whether input that may be a long answer may be read. */
interface ReadWindow {
  readonly full: boolean
  whenOpen(go: () => void): void
}

/** Callbacks and limits of a `LinePipe`. */
export interface PipeOptions {
  /** The pipe has ended; called once, never after `destroy`. */
  readonly closed: (reason: WireError) => void
  /** True while calls are in flight, so that a long line may be an answer. */
  readonly expecting: () => boolean
  /** Limit of a line, in bytes; {@link CarriedPipe.setMaxBytes} changes it. */
  readonly maxBytes: number
  /** A line exceeded the limit and was dropped. */
  readonly tooLong: (message: LongMessage) => void
  /** Absent: reading is always allowed. */
  readonly window?: ReadWindow
  /** Charges unread input of the child to its owner. */
  readonly backlog?: WriteBacklog
  /** A child that has read nothing for so long does not read. Default {@link UNREAD_MS}. */
  readonly unreadMs?: number
}

/** The carrier of the bytes: a socket, or a relay through main. */
interface Carrier {
  /** Returns the bytes accepted; the rest is offered again after `drained`. */
  write(data: string | Uint8Array): number
  /** Absent where the source cannot be paused. */
  pause?(): void
  resume?(): void
  end(): void
  destroy(): void
}

/** Lines over a child's stdin and stdout: framing, flood control, joined writes. */
export class LinePipe implements CarriedPipe {
  readonly #options: PipeOptions
  readonly #framer: LineFramer
  #carrier: Carrier | undefined
  #handler: ((line: string) => void) | undefined
  #early: string[] = []
  #out: string[] = []
  #outBytes = 0
  #countedBytes = 0
  /** When the child read something last, or when there was nothing to read for it. */
  #readMs = performance.now()
  #rest: Uint8Array | undefined
  #flushing = false
  #countAsAnswer = false
  #first = true
  #sliceStart = 0
  #sliceBytes = 0
  #resume: ReturnType<typeof setTimeout> | undefined
  #inputClosed: ReturnType<typeof setTimeout> | undefined
  /** The part of a chunk that is not processed while reading is paused. */
  #unread: Buffer | undefined
  #ending = false
  /** True while it waits for its owner's window. */
  #waiting = false
  #gone = false

  constructor(options: PipeOptions) {
    this.#options = options
    this.#framer = new LineFramer({
      maxBytes: options.maxBytes,
      line: line => this.#line(line),
      tooLong: message => {
        if (!this.#gone) options.tooLong(message)
      },
      overflow: () =>
        this.fail({
          code: 'upstream_protocol',
          message: `The server wrote a line longer than ${LONGEST_DROPPED_BYTES} bytes to its standard output`,
        }),
    })
  }

  attach(carrier: Carrier): void {
    this.#carrier = carrier
    if (this.#out.length > 0) this.#flush()
  }

  onLine(handler: (line: string) => void): void {
    this.#handler = handler
    const early = this.#early
    this.#early = []
    for (const line of early) handler(line)
  }

  countAsAnswer(): void {
    this.#countAsAnswer = true
  }

  setMaxBytes(maxBytes: number): void {
    this.#framer.maxBytes = maxBytes
  }

  write(text: string): boolean {
    if (this.#gone) return true
    const before = this.#outBytes + (this.#rest?.length ?? 0)
    if (before === 0) this.#readMs = performance.now()
    if (!this.#hasRoom(before, text.length)) return this.#gone
    this.#out.push(text)
    this.#outBytes += text.length
    this.#count()
    if (this.#flushing || this.#gone) return true
    this.#flushing = true
    queueMicrotask(() => this.#flush())
    return true
  }

  /** Milliseconds for which the child has read nothing of the waiting bytes; 0 when none wait. */
  stuckMs(): number {
    return this.#outBytes === 0 && !this.#rest ? 0 : performance.now() - this.#readMs
  }

  /** True when `more` bytes may wait behind the first `before`. When they do not fit, a child that reads nothing is ended. */
  #hasRoom(before: number, more: number): boolean {
    const isSmall = more < COUNTED_BYTES
    if (before + more > LIMITS.upstreamWriteBacklogBytes + (isSmall ? SPARE_BYTES : 0)) {
      if (before > 0 && this.stuckMs() >= (this.#options.unreadMs ?? UNREAD_MS)) this.unread(before + more)
      return false
    }
    return isSmall || this.#options.backlog?.makeRoom(this, more) !== false
  }

  /** Ends the pipe, since too many bytes wait for the child to read them. */
  unread(bytes: number): void {
    this.fail({
      code: 'upstream_protocol',
      message: `The server does not read its standard input: ${bytes} bytes are waiting`,
    })
  }

  end(): void {
    if (this.#gone) return
    this.#ending = true
    this.#flush()
    this.#carrier?.end()
  }

  destroy(): void {
    this.#gone = true
    clearTimeout(this.#resume)
    clearTimeout(this.#inputClosed)
    this.#out = []
    this.#outBytes = 0
    this.#rest = undefined
    this.#count()
    this.#unread = undefined
    this.#carrier?.destroy()
  }

  /** Bytes from the child's stdout. */
  received(chunk: Buffer): void {
    if (this.#unread) this.#unread = Buffer.concat([this.#unread, chunk])
    else this.#take(chunk)
  }

  /** The child closed its stdout; input received before is still processed. */
  ended(): void {
    const unread = this.#unread
    this.#unread = undefined
    if (unread && !this.#gone) this.#framer.push(unread)
    this.fail({ code: 'connection_lost', message: 'The server closed its standard output' })
  }

  /** The child closed its stdin: it gets no further requests, and the pipe ends 3 s later. */
  inputClosed(): void {
    if (this.#gone || this.#ending) return
    const reason: WireError = { code: 'connection_lost', message: 'The server closed its standard input' }
    this.#inputClosed ??= setTimeout(() => this.fail(reason), INPUT_CLOSED_MS)
  }

  /** The carrier can take more. */
  drained(): void {
    this.#flush()
  }

  /** Ends the pipe with this reason. */
  fail(reason: WireError): void {
    if (this.#gone) return
    this.destroy()
    this.#options.closed(reason)
  }

  #take(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && !this.#gone; at += STEP_BYTES) {
      const now = performance.now()
      if (now - this.#sliceStart >= FLOOD_SLICE_MS) {
        this.#sliceStart = now
        this.#sliceBytes = 0
      }
      const { heldBytes: heldBefore, droppedBytes: droppedBefore } = this.#framer
      this.#framer.push(chunk.subarray(at, at + STEP_BYTES))
      const grown = this.#framer.heldBytes - heldBefore
      if (grown > 0 && !this.#options.expecting()) this.#sliceBytes += grown
      this.#sliceBytes += (this.#framer.droppedBytes - droppedBefore) / DROPPED_SHARE
      const held = this.#sliceBytes > FLOOD_BYTES ? this.#hold() : this.#options.window?.full === true && this.#wait()
      if (!held) continue
      // Copied, since the runtime may reuse the chunk's memory.
      if (at + STEP_BYTES < chunk.length) this.#unread = Buffer.from(chunk.subarray(at + STEP_BYTES))
      return
    }
  }

  #line(read: string): void {
    // .NET and PowerShell write a byte order mark before the first line.
    const line = this.#first && read.startsWith('\ufeff') ? read.slice(1) : read
    this.#first = false
    if (this.#gone || line.trim() === '') return
    if (!this.#handler) {
      this.#early.push(line)
      return
    }
    this.#countAsAnswer = false
    this.#handler(line)
    if (!this.#countAsAnswer) this.#sliceBytes += line.length + LINE_BYTES
  }

  /** Pauses reading; false where that is impossible. */
  #hold(): boolean {
    const carrier = this.#carrier
    if (this.#gone || !carrier?.pause) return false
    carrier.pause()
    this.#resume ??= setTimeout(() => {
      this.#resume = undefined
      this.#sliceBytes = 0
      this.#goOn()
    }, FLOOD_SLICE_MS)
    return true
  }

  /** Pauses reading until the owner's window is open; false where that is impossible. */
  #wait(): boolean {
    const { window } = this.#options
    const carrier = this.#carrier
    if (this.#gone || !carrier?.pause || !window) return false
    carrier.pause()
    if (this.#waiting) return true
    this.#waiting = true
    window.whenOpen(() => {
      this.#waiting = false
      this.#goOn()
    })
    return true
  }

  #goOn(): void {
    if (this.#waiting || this.#resume !== undefined) return
    const unread = this.#unread
    this.#unread = undefined
    if (unread && !this.#gone) this.#take(unread)
    if (this.#resume === undefined && !this.#waiting && !this.#gone) this.#carrier?.resume?.()
  }

  /** Small amounts are not charged: they are written almost at once. */
  #count(): void {
    // The rest of a text keeps the memory of the whole text.
    const waiting = this.#outBytes + (this.#rest?.buffer.byteLength ?? 0)
    const bytes = waiting < COUNTED_BYTES ? 0 : waiting
    if (bytes === this.#countedBytes) return
    this.#countedBytes = bytes
    this.#options.backlog?.set(this, bytes)
  }

  #flush(): void {
    this.#flushing = false
    const carrier = this.#carrier
    if (!carrier || this.#gone) return
    this.#writeTo(carrier)
    this.#count()
  }

  #taken(bytes: number): number {
    if (bytes > 0) this.#readMs = performance.now()
    return Math.max(0, bytes)
  }

  #writeTo(carrier: Carrier): void {
    if (this.#rest) {
      const taken = this.#taken(carrier.write(this.#rest))
      if (taken < this.#rest.length) {
        this.#rest = this.#rest.subarray(taken)
        return
      }
      this.#rest = undefined
    }
    if (this.#out.length === 0) return
    const text = this.#out.length === 1 ? `${this.#out[0]}\n` : `${this.#out.join('\n')}\n`
    this.#out = []
    this.#outBytes = 0
    const taken = this.#taken(carrier.write(text))
    if (taken < Buffer.byteLength(text)) this.#rest = Buffer.from(text).subarray(taken)
  }
}
