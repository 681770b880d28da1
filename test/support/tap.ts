/** A forwarder of TCP in front of a server, which keeps the bytes of each connection and can take the network away. */
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net'

/** Forwards connections to one port of this machine. */
export class Tap {
  readonly port: number
  /** The bytes that clients sent, one text for each connection. */
  readonly sent: string[] = []
  /** While true it drops all connections. */
  down = false
  readonly #server: Server
  readonly #open: Set<Socket>

  private constructor(server: Server, open: Set<Socket>) {
    this.#server = server
    this.#open = open
    this.port = (server.address() as AddressInfo).port
  }

  static async start(to: number): Promise<Tap> {
    const open = new Set<Socket>()
    let tap: Tap | undefined
    const server = createServer(socket => tap?.take(socket, to))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    tap = new Tap(server, open)
    return tap
  }

  take(socket: Socket, to: number): void {
    if (this.down) return void socket.destroy()
    const at = this.sent.push('') - 1
    const further = dial(to, '127.0.0.1')
    for (const [one, other] of [
      [socket, further],
      [further, socket],
    ] as const) {
      this.#open.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        this.#open.delete(one)
        other.destroy()
      })
      one.on('data', bytes => {
        if (one === socket) this.sent[at] += bytes.toString('latin1')
        other.write(bytes)
      })
    }
  }

  /** Takes the network away: open connections end, and no other one is taken. */
  cut(): void {
    this.down = true
    for (const socket of this.#open) socket.destroy()
  }

  async stop(): Promise<void> {
    this.cut()
    await new Promise<void>(resolve => this.#server.close(() => resolve()))
  }
}
