import type { Hub } from './hub.ts'
import { until } from './wait.ts'

interface Answer {
  readonly id?: number
  readonly result?: { readonly content: readonly { readonly text: string }[]; readonly isError: boolean }
  readonly error?: { readonly code: number; readonly message: string }
}

/** An assistant's device that has dialled the hub, by the token of an inbound endpoint. */
export class Device {
  readonly #socket: WebSocket
  readonly #heard: Answer[] = []
  #id = 0

  constructor(hub: Pick<Hub, 'url'>, token: string) {
    this.#socket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/assistant/ws?token=${token}`)
    this.#socket.onmessage = ({ data }) => void this.#heard.push(JSON.parse(String(data)))
  }

  async call(name: string, args: object): Promise<Answer> {
    await until(() => this.#socket.readyState === WebSocket.OPEN, { what: 'the socket' })
    this.#id += 1
    const id = this.#id
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } }))
    return until(() => this.#heard.find(message => message.id === id), { what: 'an answer' })
  }

  /** The text of a result, or the message of an error. */
  async text(name: string, args: object): Promise<string> {
    const { result, error } = await this.call(name, args)
    return error?.message ?? result?.content.map(({ text }) => text).join('|') ?? ''
  }

  close(): void {
    this.#socket.close()
  }
}
