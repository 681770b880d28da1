import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { HubError } from 'patchbay/contract'
import type { SyslogConfig } from './config.ts'

/** Longest time for connecting, and for a collector that reads nothing, in milliseconds. */
const PATIENCE_MS = 10_000

/** Address of the collector. */
export interface Target extends Pick<SyslogConfig, 'port' | 'protocol'> {
  readonly host: string
  /** Certificates (PEM) to trust instead of the system's. */
  readonly ca?: string
}

/** Sends bytes to the collector. */
export interface Carrier {
  /** Resolves when the system has accepted all bytes. Rejects with `delivery_failed`; the next call opens a new connection. */
  send(parts: readonly Buffer[], signal: AbortSignal): Promise<void>
  close(): void
}

/** One TCP or TLS connection, opened again after any error. */
export class StreamCarrier implements Carrier {
  readonly #target: Target
  #socket: Socket | undefined

  constructor(target: Target) {
    this.#target = target
  }

  async send(parts: readonly Buffer[], signal: AbortSignal): Promise<void> {
    const socket = this.#socket ?? (await this.#connect(signal))
    await this.#settled(socket, signal, done => {
      for (const [index, part] of parts.entries()) socket.write(part, index === parts.length - 1 ? done : undefined)
    })
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  async #connect(signal: AbortSignal): Promise<Socket> {
    const { host, port, protocol, ca } = this.#target
    const socket =
      protocol === 'tls' ? connectTls({ host, port, ...(ca === undefined ? {} : { ca }) }) : connectTcp({ host, port })
    // Errors between two batches: the next batch connects again.
    const drop = (): void => {
      if (this.#socket === socket) this.#socket = undefined
      socket.destroy()
    }
    socket.on('error', drop).on('close', drop).on('end', drop)
    socket.setKeepAlive(true, 60_000)
    await this.#settled(socket, signal, done =>
      socket.once(protocol === 'tls' ? 'secureConnect' : 'connect', () => done()),
    )
    // Data from a collector is discarded: unread, it would hold the connection.
    socket.resume()
    this.#socket = socket
    return socket
  }

  /** Waits for `done`, at most 10 s; after a failure or a timeout the connection is closed. */
  async #settled(socket: Socket, signal: AbortSignal, begin: (done: (error?: Error | null) => void) => void) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const ended = (): void => reject(new Error('the collector closed the connection'))
    const aborted = (): void => reject(new Error('the time for it was over'))
    const limit = setTimeout(() => reject(new Error(`nothing happened for ${PATIENCE_MS / 1_000} s`)), PATIENCE_MS)
    socket.once('error', reject).once('close', ended)
    signal.addEventListener('abort', aborted)
    try {
      // Under Bun a broken pipe is reported to the callback alone.
      begin(error => (error ? reject(error) : resolve()))
      await promise
    } catch (error) {
      if (this.#socket === socket) this.#socket = undefined
      socket.destroy()
      throw failure(this.#target, error)
    } finally {
      clearTimeout(limit)
      signal.removeEventListener('abort', aborted)
      socket.off('error', reject).off('close', ended)
    }
  }
}

/** Datagrams from one socket that is bound to the collector's address, so that a refusal is reported. */
export class UdpCarrier implements Carrier {
  readonly #target: Target
  #socket: UdpSocket | undefined

  constructor(target: Target) {
    this.#target = target
  }

  async send(parts: readonly Buffer[]): Promise<void> {
    try {
      const socket = this.#socket ?? (await this.#open())
      for (const part of parts) {
        await new Promise<void>((resolve, reject) => socket.send(part, error => (error ? reject(error) : resolve())))
      }
    } catch (error) {
      this.close()
      throw failure(this.#target, error)
    }
  }

  close(): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.close()
  }

  async #open(): Promise<UdpSocket> {
    const { host, port } = this.#target
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    socket.once('error', reject)
    socket.connect(port, host, () => resolve())
    try {
      await promise
    } catch (error) {
      socket.close()
      throw error
    }
    socket.off('error', reject)
    // A refusal of an earlier datagram: the next batch opens another socket.
    socket.on('error', () => {
      if (this.#socket === socket) this.close()
    })
    this.#socket = socket
    return socket
  }
}

function failure({ host, port, protocol }: Target, error: unknown): HubError {
  const why = error instanceof Error ? error.message : String(error)
  return new HubError(
    'delivery_failed',
    `The syslog collector at ${protocol} ${host}:${port} cannot be reached: ${why}`,
  )
}
