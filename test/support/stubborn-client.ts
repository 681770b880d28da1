import { connect, type Socket } from 'node:net'
import { atMost } from './pace.ts'

/** Connections that send the given bytes, and read nothing until requested. */
export class StubbornClient {
  readonly #address: URL
  readonly #sockets: Socket[] = []

  constructor(hub: { readonly url: string }) {
    this.#address = new URL(hub.url)
  }

  /** Opens a connection and sends the head of a request, then each part. Resolves when it has connected. */
  async send(head: readonly string[], ...parts: readonly (string | Buffer)[]): Promise<Socket> {
    const { hostname, port } = this.#address
    const socket = connect(Number(port), hostname)
    this.#sockets.push(socket)
    // The hub may disconnect it.
    socket.on('error', () => {})
    socket.pause()
    await new Promise(resolve => socket.once('connect', resolve))
    socket.write(`${head.join('\r\n')}\r\nHost: ${this.#address.host}\r\n\r\n`)
    for (const part of parts) socket.write(part)
    return socket
  }

  /** A POST of JSON as a whole. */
  post(path: string, headers: Readonly<Record<string, string>>, body: string): Promise<Socket> {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    return this.send([`POST ${path} HTTP/1.1`, ...lines, `Content-Length: ${Buffer.byteLength(body)}`], body)
  }

  close(): void {
    for (const socket of this.#sockets.splice(0)) socket.destroy()
  }
}

/** All text received on a connection within `milliseconds`, or until its first complete line. */
export function firstLine(socket: Socket, milliseconds = 5_000): Promise<string> {
  return new Promise(resolve => {
    let text = ''
    const done = () => {
      clearTimeout(timer)
      socket.off('data', take)
      socket.pause()
      resolve(text)
    }
    const take = (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const at = text.indexOf('\r\n\r\n')
      if (at >= 0 && text.length >= at + 4 + Number(/^content-length: *(\d+)/im.exec(text)?.[1] ?? 0)) done()
    }
    const timer = setTimeout(done, atMost(milliseconds))
    socket.once('close', done)
    socket.on('data', take)
    socket.resume()
  })
}
