/** One event of a stream of server-sent events. */
export interface SseEvent {
  /** The event's type; `message` when the server named none. */
  readonly type: string
  readonly data: string
}

export interface SseHandlers {
  event(event: SseEvent): void
  /** An event that ended carried an id, with or without data: the place from which the stream can be resumed. */
  id?(id: string): void
  /** The server asks to wait so long before connecting again, in milliseconds. */
  retry?(milliseconds: number): void
}

/** Longest event, in characters; the limit of a whole JSON answer. */
const MAX_EVENT_CHARACTERS = 10 * 1024 * 1024

/**
 * A text that grows by pieces is kept by the runtime as a tree of them, each of which costs more than a short piece has. So
 * many pieces, and so many for each character besides, are made one text.
 */
const LOOSE_PIECES = 4096
const LOOSE_SHARE = 1 / 8

/** Reads text/event-stream as the HTML standard defines it, from pieces cut anywhere. */
export class SseParser {
  readonly #handlers: SseHandlers
  #line = ''
  #type = ''
  #data: string | undefined
  #id: string | undefined
  #afterCr = false
  #first = true
  #loose = 0

  constructor(handlers: SseHandlers) {
    this.#handlers = handlers
  }

  /** Throws a RangeError for an event longer than 10 Mi characters. */
  push(piece: string): void {
    let text = piece
    if (this.#first && text !== '') {
      this.#first = false
      if (text.startsWith('\ufeff')) text = text.slice(1)
    }
    if (this.#afterCr && text !== '') {
      this.#afterCr = false
      if (text.startsWith('\n')) text = text.slice(1)
    }
    // Rare: JSON escapes a CR, so it occurs only where a server ends its lines with one.
    if (text.includes('\r')) {
      this.#afterCr = text.endsWith('\r')
      text = text.replace(/\r\n?/g, '\n')
    }
    let at = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', at)) {
      const line = this.#line === '' ? text.slice(at, end) : this.#line + text.slice(at, end)
      this.#line = ''
      at = end + 1
      this.#take(line)
    }
    if (at < text.length) {
      this.#line += at === 0 ? text : text.slice(at)
      this.#loose += 1
    }
    const length = this.#line.length + (this.#data?.length ?? 0)
    if (length > MAX_EVENT_CHARACTERS) throw new RangeError('an event is longer than 10 MiB')
    if (this.#loose > LOOSE_PIECES + length * LOOSE_SHARE) this.#join()
  }

  #join(): void {
    this.#loose = 0
    this.#line = joined(this.#line)
    if (this.#data !== undefined) this.#data = joined(this.#data)
  }

  #take(line: string): void {
    if (line === '') return this.#dispatch()
    // Most lines of an MCP stream, looked at first.
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
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
    this.#loose += 1
  }

  #dispatch(): void {
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

/** The same text in one piece: cutting a tree of pieces joins them, and the result is one that must be made. */
function joined(text: string): string {
  return [text.slice(0, 1), text.slice(1)].join('')
}
