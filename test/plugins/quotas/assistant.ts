import { until } from '../../support/wait.ts'

interface Message {
  readonly id?: number
  // biome-ignore lint/suspicious/noExplicitAny: results of many shapes, which each test checks by expect
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Record<string, unknown> }
}

/** An assistant that dials an inbound endpoint by WebSocket. */
export class Assistant {
  readonly #socket: WebSocket
  readonly #got: Message[] = []
  #id = 0

  private constructor(url: string, token: string) {
    const address = `${url.replace('http', 'ws')}/api/assistant/ws`
    // Bun takes headers here, which the types of the DOM do not have.
    this.#socket = new WebSocket(address, { headers: { authorization: `Bearer ${token}` } } as never)
    this.#socket.onmessage = event => this.#got.push(JSON.parse(String(event.data)) as Message)
  }

  static async open(url: string, token: string): Promise<Assistant> {
    const made = new Assistant(url, token)
    await until(() => made.#socket.readyState === WebSocket.OPEN, { what: 'the assistant to be connected' })
    await made.request('initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'a' } })
    made.#socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    return made
  }

  async request(method: string, params: object): Promise<Message> {
    this.#id += 1
    const id = this.#id
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return until(() => this.#got.find(message => message.id === id), { what: `the answer to ${method}` })
  }

  /** The text of the result of a tool, or the error. */
  async call(name: string, args: object): Promise<Message> {
    return this.request('tools/call', { name, arguments: args })
  }

  close(): void {
    this.#socket.close()
  }
}
