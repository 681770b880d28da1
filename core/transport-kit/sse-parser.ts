import type { LongMessage } from './definition.ts'
import { LongMessageReader } from './long-message.ts'

/** One server-sent event. */
export interface SseEvent {
  /** The event's type; `message` when the server set none. */
  readonly type: string
  readonly data: string
}

/** Callbacks of an `SseParser`. */
export interface SseHandlers {
  event(event: SseEvent): void
  /** A completed event had an id, with or without data: the position from which the stream can be resumed. */
  id?(id: string): void
  /** The delay before reconnecting that the server requested, in milliseconds. */
  retry?(milliseconds: number): void
  /** An event is too long and is dropped. Called once for it, as soon as the id of its message is known. */
  tooLong?(message: LongMessage): void
}

/** Limits of an `SseParser`. */
export interface SseLimits {
  /** Longest event, in bytes as UTF-8, read for each one. Default 10 MiB. */
  readonly maxBytes?: number
}

const USUAL_BYTES = 10 * 1024 * 1024
/** The longest event that is skipped; one without an end would be read forever. */
const LONGEST_DROPPED_BYTES = 256 * 1024 * 1024
/** Longest line, other than data of a skipped event, that is buffered. */
const LONG_LINE_CHARACTERS = 2048

/**
 * The runtime keeps a text that grows by pieces as a tree of them, each of which costs more than the text of a short piece. The
 * pieces are joined after this number of them, and this number per character.
 */
const LOOSE_PIECES = 4096
const LOOSE_SHARE = 1 / 8

/** Parses text/event-stream as the HTML standard defines it, from pieces cut anywhere. */
export class SseParser {
  readonly #handlers: SseHandlers
  readonly #limits: SseLimits
  #line = ''
  #type = ''
  #data: string | undefined
  #id: string | undefined
  #afterCr = false
  #first = true
  #loose = 0
  /** Bytes of the incomplete event. */
  #bytes = 0
  #dropping = false
  /** Reads the event being dropped until the id of its message is known. */
  #reader: LongMessageReader | undefined
  /** The incomplete line is data that is not kept. */
  #passing = false

  /** `limits.maxBytes` may be a getter: it is read for each event. */
  constructor(handlers: SseHandlers, limits: SseLimits = {}) {
    this.#handlers = handlers
    this.#limits = limits
  }

  /** Throws a RangeError for an event of more than 256 MiB, which is not even skipped. */
  push(piece: string): void {
    const text = this.#withLineFeeds(piece)
    let at = 0
    let eventAt = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', at)) {
      const line = this.#line === '' ? text.slice(at, end) : this.#line + text.slice(at, end)
      this.#line = ''
      at = end + 1
      if (this.#passing) {
        this.#passing = false
        this.#pass(line)
        continue
      }
      this.#take(line)
      if (line === '') eventAt = at
    }
    if (at < text.length) this.#begin(at === 0 ? text : text.slice(at))
    if (eventAt < text.length) this.#weigh(eventAt === 0 ? text : text.slice(eventAt))
  }

  /** The piece without a byte order mark at the beginning of the stream, every line ended by LF. */
  #withLineFeeds(piece: string): string {
    if (piece === '') return piece
    let text = piece
    if (this.#first && text.startsWith('\ufeff')) text = text.slice(1)
    this.#first = false
    if (this.#afterCr && text !== '') {
      this.#afterCr = false
      if (text.startsWith('\n')) text = text.slice(1)
    }
    // Rare: JSON escapes a CR, so it occurs only where a server ends its lines with one.
    if (!text.includes('\r')) return text
    this.#afterCr = text.endsWith('\r')
    return text.replace(/\r\n?/g, '\n')
  }

  /** A line begins, or continues. */
  #begin(text: string): void {
    if (this.#passing) return this.#pass(text)
    this.#line += text
    this.#loose += 1
  }

  /** Adds to the size of the incomplete event. */
  #weigh(text: string): void {
    this.#bytes += Buffer.byteLength(text)
    if (!this.#dropping && this.#bytes > (this.#limits.maxBytes ?? USUAL_BYTES)) this.#drop()
    if (this.#bytes > LONGEST_DROPPED_BYTES) throw new RangeError('an event is longer than 256 MiB')
    if (this.#dropping) return this.#passLine()
    const length = this.#line.length + (this.#data?.length ?? 0)
    if (this.#loose > LOOSE_PIECES + length * LOOSE_SHARE) this.#join()
  }

  #drop(): void {
    this.#dropping = true
    this.#reader = new LongMessageReader()
    const data = this.#data
    this.#data = undefined
    if (data !== undefined) this.#pass(joined(data))
    this.#line = joined(this.#line)
  }

  /** Drops a long line of any kind. */
  #passLine(): void {
    if (this.#line.length < LONG_LINE_CHARACTERS) return
    const line = this.#line
    this.#passing = line.startsWith('data:')
    this.#line = this.#passing ? '' : ':'
    if (this.#passing) this.#pass(line.slice(5))
  }

  #pass(data: string): void {
    this.#reader?.push(data)
    if (this.#reader?.answered !== undefined) this.#reportAnswered()
  }

  #reportAnswered(): void {
    const reader = this.#reader
    this.#reader = undefined
    if (reader) this.#handlers.tooLong?.(reader.end())
  }

  #join(): void {
    this.#loose = 0
    this.#line = joined(this.#line)
    if (this.#data !== undefined) this.#data = joined(this.#data)
  }

  #take(line: string): void {
    if (line === '') return this.#dispatch()
    // Most lines of an MCP stream, checked first.
    if (line.startsWith('data: ')) return this.#addData(line.slice(6))
    const colon = line.indexOf(':')
    if (colon === 0) return
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') this.#addData(value)
    else if (field === 'event') this.#type = value
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    else if (field === 'retry' && /^\d+$/.test(value)) this.#handlers.retry?.(Number(value))
  }

  #addData(value: string): void {
    if (this.#dropping) return this.#pass(value)
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
    this.#loose += 1
  }

  #dispatch(): void {
    this.#bytes = 0
    this.#loose = 0
    if (this.#dropping) this.#reportAnswered()
    this.#dropping = false
    const data = this.#data
    const type = this.#type === '' ? 'message' : this.#type
    const id = this.#id
    this.#data = undefined
    this.#type = ''
    this.#id = undefined
    if (id !== undefined) this.#handlers.id?.(id)
    if (data) this.#handlers.event({ type, data })
  }
}

/** The same text in one piece: slicing a tree of pieces flattens it. */
function joined(text: string): string {
  return [text.slice(0, 1), text.slice(1)].join('')
}
