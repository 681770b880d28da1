import type { Socket } from 'bun'

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n')

export interface WholeAnswer {
  readonly status: number
  readonly text: string
}

/**
 * One kept-alive connection for consecutive requests. It implements only as much of HTTP/1.1 as is needed to find the end of an
 * answer, so that hundreds of clients with a hundred thousand calls use little time of a test.
 */
export class KeptConnection {
  readonly #socket: Socket
  readonly #path: string
  /** The end of the first line, and the headers of every request. */
  readonly #head: string
  #buffered: Buffer | undefined
  #waiting: PromiseWithResolvers<WholeAnswer> | undefined
  #isLost = false

  private constructor(socket: Socket, url: URL, headers: Readonly<Record<string, string>>) {
    this.#socket = socket
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    this.#path = url.pathname
    this.#head = ` HTTP/1.1\r\nhost: ${url.host}\r\n${lines.join('')}`
  }

  /** `headers` go out with every request. */
  static async open(url: URL, headers: Readonly<Record<string, string>>): Promise<KeptConnection> {
    let connection: KeptConnection | undefined
    const socket = await Bun.connect({
      hostname: url.hostname,
      port: Number(url.port),
      socket: {
        data: (_, chunk) => connection?.received(chunk),
        close: () => connection?.lost('the connection was closed'),
        error: (_, error) => connection?.lost(error.message),
      },
    })
    connection = new KeptConnection(socket, url, headers)
    return connection
  }

  /**
   * The whole answer, a stream to its end. One request at a time; the body must be shorter than the socket's buffer. `more`:
   * headers of this request alone.
   */
  post(body: string, more: Readonly<Record<string, string>> = {}): Promise<WholeAnswer> {
    return this.request('POST', this.#path, body, more)
  }

  /** The same, without a body. */
  get(): Promise<WholeAnswer> {
    return this.#send(`GET ${this.#path}${this.#head}\r\n`)
  }

  /** The same for any method and path. */
  request(
    method: string,
    path: string,
    body: string,
    more: Readonly<Record<string, string>> = {},
  ): Promise<WholeAnswer> {
    const lines = Object.entries({ ...more, 'content-length': Buffer.byteLength(body) })
    const headers = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    return this.#send(`${method} ${path}${this.#head}${headers}\r\n${body}`)
  }

  #send(text: string): Promise<WholeAnswer> {
    if (this.#waiting) throw new Error('The last request of this connection is not answered yet')
    const waiting = Promise.withResolvers<WholeAnswer>()
    this.#waiting = waiting
    const written = this.#socket.write(text)
    if (written !== Buffer.byteLength(text)) this.lost(`only ${written} bytes of the request were written`)
    return waiting.promise
  }

  close(): void {
    this.#socket.end()
  }

  /** True once the connection has failed or the hub has closed it. */
  get isLost(): boolean {
    return this.#isLost
  }

  lost(reason: string): void {
    this.#isLost = true
    this.#waiting?.reject(new Error(reason))
    this.#waiting = undefined
  }

  received(chunk: Buffer): void {
    const data = this.#buffered ? Buffer.concat([this.#buffered, chunk]) : chunk
    const answer = wholeAnswer(data)
    // The runtime may use the chunk's memory again.
    this.#buffered = answer ? undefined : Buffer.from(data)
    if (!answer) return
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting) waiting.resolve(answer)
    else throw new Error(`Nobody asked for ${answer.text}`)
  }
}

/** Undefined while the answer is incomplete. */
function wholeAnswer(data: Buffer): WholeAnswer | undefined {
  const headEnd = data.indexOf(HEAD_END)
  if (headEnd < 0) return undefined
  const head = data.toString('latin1', 0, headEnd)
  const status = Number(head.slice(9, 12))
  const from = headEnd + HEAD_END.length
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length !== undefined) {
    if (data.length < from + Number(length)) return undefined
    if (data.length > from + Number(length)) throw new Error(`More than one answer: ${data.toString()}`)
    return { status, text: data.toString('utf8', from) }
  }
  if (!data.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)) return undefined
  return { status, text: dechunk(data.subarray(from)) }
}

function dechunk(data: Buffer): string {
  const parts: Buffer[] = []
  let at = 0
  for (;;) {
    const lineEnd = data.indexOf('\r\n', at)
    const size = Number.parseInt(data.toString('latin1', at, lineEnd), 16)
    if (!(size > 0)) return Buffer.concat(parts).toString()
    parts.push(data.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}
