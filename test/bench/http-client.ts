import type { Socket } from 'bun'
import type { Latencies } from './latencies.ts'

/** The era that the client speaks: with a session, or with an envelope in every request. */
export type Wire = 'legacy' | 'modern'

export interface HttpTarget {
  readonly url: string
  /** Default legacy. */
  readonly wire?: Wire
  readonly credential?: string
  /** The exposed name of the echo tool. */
  readonly tool: string
  /** Each call's text is this and the call's id, so that no two are the same. Default: 64 bytes, the same in every call. */
  readonly mark?: string
}

/** 64 bytes, as in every figure that is compared with these. */
export const TEXT = 'x'.repeat(64)
const HEAD_END = Buffer.from('\r\n\r\n')
const CHUNKED_END = Buffer.from('\r\n0\r\n\r\n')
/** All ids have seven digits, so that Content-Length never changes. */
const FIRST_ID = 1_000_000

/** `_meta` of every request of the modern era. */
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Opens an MCP session where the era has them, and returns the headers of the calls. */
export async function openSession(target: HttpTarget): Promise<Record<string, string>> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(target.credential === undefined ? {} : { authorization: `Bearer ${target.credential}` }),
  }
  if (target.wire === 'modern') {
    return {
      ...headers,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': target.tool,
    }
  }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1.0.0' } }
  const answer = await fetch(target.url, {
    method: 'POST',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
  })
  const text = await answer.text()
  const session = answer.headers.get('mcp-session-id')
  if (!answer.ok || session === null) throw new Error(`initialize answered ${answer.status}: ${text}`)
  headers['mcp-session-id'] = session
  headers['mcp-protocol-version'] = '2025-11-25'
  const initialized = await fetch(target.url, {
    method: 'POST',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
  })
  await initialized.text()
  return headers
}

/**
 * One session on one keep-alive connection with one call in flight: writes the next call as soon as the last is answered.
 * Reads only enough of HTTP/1.1 to see where an answer ends, so that the measurement is not one of the client.
 */
export class HttpSession {
  readonly #connect: (session: HttpSession) => Promise<Socket>
  #socket: Socket
  readonly #head: string
  readonly #bodyHead: string
  readonly #bodyMiddle: string
  readonly #bodyTail: string
  readonly #mark: string | undefined
  readonly #onAnswer: (ms: number, error: string | undefined) => boolean
  #id = FIRST_ID
  #sentAt = 0
  #buffered: Buffer | undefined
  /** Why the connection is gone. */
  #gone: string | undefined

  private constructor(
    socket: Socket,
    connect: (session: HttpSession) => Promise<Socket>,
    url: URL,
    headers: Record<string, string>,
    { tool, wire, mark }: HttpTarget,
    onAnswer: (ms: number, error: string | undefined) => boolean,
  ) {
    this.#socket = socket
    this.#connect = connect
    this.#onAnswer = onAnswer
    this.#bodyHead = '{"jsonrpc":"2.0","id":'
    const envelope = wire === 'modern' ? `,"_meta":${JSON.stringify(ENVELOPE)}` : ''
    this.#mark = mark
    this.#bodyMiddle = `,"method":"tools/call","params":{"name":"${tool}","arguments":{"text":"`
    this.#bodyTail = `"}${envelope}}}`
    const length = this.#bodyHead.length + String(FIRST_ID).length + this.#bodyRest(FIRST_ID).length
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    this.#head = `POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\n${lines.join('\r\n')}\r\ncontent-length: ${length}\r\n\r\n`
  }

  /** `onAnswer` gets each call's duration and its error, and returns true to continue. */
  static async open(
    target: HttpTarget,
    onAnswer: (ms: number, error: string | undefined) => boolean,
  ): Promise<HttpSession> {
    const headers = await openSession(target)
    const url = new URL(target.url)
    let opened: HttpSession | undefined
    const connect = (session: () => HttpSession | undefined): Promise<Socket> =>
      Bun.connect({
        hostname: url.hostname,
        port: Number(url.port),
        socket: {
          data: (_, chunk) => session()?.received(chunk),
          close: () => session()?.lost('the connection was closed'),
          error: (_, error) => session()?.lost(error.message),
        },
      })
    const socket = await connect(() => opened)
    opened = new HttpSession(socket, session => connect(() => session), url, headers, target, onAnswer)
    return opened
  }

  call(): void {
    if (this.#gone !== undefined) {
      void this.#reconnect(this.#gone)
      return
    }
    this.#id += 1
    this.#sentAt = performance.now()
    this.#socket.write(this.#head + this.#bodyHead + this.#id + this.#bodyRest(this.#id))
  }

  /** A connection at rest may be closed by the server at any time: the next call makes another, as clients do. */
  async #reconnect(gone: string): Promise<void> {
    try {
      this.#socket = await this.#connect(this)
    } catch {
      this.#onAnswer(0, `${gone} before the call`)
      return
    }
    this.#gone = undefined
    this.call()
  }

  #bodyRest(id: number): string {
    return this.#bodyMiddle + this.#text(id) + this.#bodyTail
  }

  #text(id: number): string {
    return this.#mark === undefined ? TEXT : this.#mark + id
  }

  close(): void {
    this.#sentAt = 0
    this.#socket.end()
  }

  lost(reason: string): void {
    this.#gone = reason
    if (this.#sentAt === 0) return
    this.#sentAt = 0
    this.#onAnswer(0, reason)
  }

  received(chunk: Buffer): void {
    const data = this.#buffered ? Buffer.concat([this.#buffered, chunk]) : chunk
    const headEnd = data.indexOf(HEAD_END)
    if (headEnd < 0 || !this.#isWhole(data, headEnd)) {
      // The runtime may use the chunk's memory again.
      this.#buffered = Buffer.from(data)
      return
    }
    this.#buffered = undefined
    const ms = performance.now() - this.#sentAt
    this.#sentAt = 0
    if (this.#onAnswer(ms, this.#problem(data, headEnd))) this.call()
  }

  #isWhole(data: Buffer, headEnd: number): boolean {
    const head = data.toString('latin1', 0, headEnd)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    if (length !== undefined) return data.length >= headEnd + 4 + Number(length)
    return data.indexOf(CHUNKED_END, headEnd) >= 0
  }

  #problem(data: Buffer, headEnd: number): string | undefined {
    const right =
      data.toString('latin1', 9, 12) === '200' &&
      data.indexOf(`"id":${this.#id}`, headEnd) > 0 &&
      data.indexOf(`"${this.#text(this.#id)}"`, headEnd) > 0
    return right ? undefined : data.toString('latin1', 0, 1_200)
  }
}

export interface LoadResult {
  readonly calls: number
  readonly errors: number
  readonly firstError?: string
  readonly seconds: number
  readonly p50: number
  readonly p99: number
}

/** Sessions that are all busy until `stop` is called. */
export async function httpLoad(
  target: HttpTarget,
  count: number,
  latencies: () => Latencies | undefined,
  onError: (message: string) => void,
): Promise<{ stop(): Promise<void> }> {
  let stopping = false
  let busy = count
  let drained = (): void => {}
  const done = new Promise<void>(resolve => {
    drained = resolve
  })
  const onAnswer = (ms: number, error: string | undefined): boolean => {
    if (error !== undefined) onError(error)
    else latencies()?.add(ms)
    if (!stopping && (error === undefined || ms > 0)) return true
    busy -= 1
    if (busy === 0) drained()
    return false
  }
  const sessions: HttpSession[] = []
  for (let opened = 0; opened < count; opened += 16) {
    const batch = Array.from({ length: Math.min(16, count - opened) }, () => HttpSession.open(target, onAnswer))
    sessions.push(...(await Promise.all(batch)))
  }
  for (const session of sessions) session.call()
  return {
    async stop() {
      stopping = true
      await Promise.race([done, Bun.sleep(5_000)])
      for (const session of sessions) session.close()
    },
  }
}
