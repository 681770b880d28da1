/** Bytes waiting for one slow reader before its stream is closed; each event counts as a 1,000th of it at least. */
const MAX_QUEUED = 1_024 * 1_024
const EVENT_WEIGHT = Math.ceil(MAX_QUEUED / 1_000)

const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/** One HTTP response body with server-sent events. */
export class SseConnection {
  readonly response: Response
  lastWriteMs: number
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  readonly #closed: () => void
  readonly #now: () => number

  /** `closed` runs once, whoever ended it. The first bytes are there at once, since Bun holds the head back for them. */
  constructor(now: () => number, closed: () => void) {
    this.#now = now
    this.#closed = closed
    this.lastWriteMs = now()
    const body = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        cancel: () => this.#end(),
      },
      { highWaterMark: MAX_QUEUED, size: chunk => Math.max(chunk?.byteLength ?? 0, EVENT_WEIGHT) },
    )
    this.response = new Response(body, { headers: SSE_HEADERS })
    this.comment()
  }

  get open(): boolean {
    return this.#controller !== undefined
  }

  /** One event in one `data:` line. False when the reader is gone, or too slow and therefore cut off. */
  event(id: string, data: string): boolean {
    return this.#write(data === '' ? `id: ${id}\ndata: \n\n` : `event: message\nid: ${id}\ndata: ${data}\n\n`)
  }

  /** An event of another type than a message. */
  named(type: string, id: string, data: string): boolean {
    return this.#write(`event: ${type}\nid: ${id}\ndata: ${data}\n\n`)
  }

  /** A message without an id: streams of the modern era are not resumed. */
  message(data: string): boolean {
    return this.#write(`event: message\ndata: ${data}\n\n`)
  }

  comment(): boolean {
    return this.#write(': ok\n\n')
  }

  close(): void {
    const controller = this.#controller
    if (!controller) return
    this.#end()
    try {
      controller.close()
    } catch {
      // The socket went away in this very moment, and Bun closed the stream before it told us.
    }
  }

  #write(text: string): boolean {
    const controller = this.#controller
    if (!controller) return false
    if ((controller.desiredSize ?? 0) <= 0) {
      this.close()
      return false
    }
    this.lastWriteMs = this.#now()
    try {
      controller.enqueue(Buffer.from(text))
      return true
    } catch {
      this.#end()
      return false
    }
  }

  #end(): void {
    if (!this.#controller) return
    this.#controller = undefined
    this.#closed()
  }
}
