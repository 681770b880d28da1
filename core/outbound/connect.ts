import type { Socket, SocketHandler } from 'bun'
import { HubError } from '../contract/errors.ts'
import type { TlsSettings } from '../transport-kit/tls.ts'
import { connectFailure, isCertificateFault, tlsFailure } from './failures.ts'
import { connectRequest, proxyFailure, TunnelAnswer } from './proxy-tunnel.ts'
import type { ConnectTarget } from './targets.ts'

/** A connection as its socket's handlers see it. */
export interface Connecting {
  /** The socket is open; TLS, or a proxy's tunnel, may still be missing. Called again with the socket over TLS. */
  attached(socket: Socket<Connecting>): void
  /** A request can be written. */
  ready(): void
  /** There will be no connection. */
  refuse(error: HubError): void
  /** TLS is agreed on, or not. */
  handshake(success: boolean, error: Error | null): void
  receive(bytes: Buffer): void
  drain(): void
  peerEnded(): void
  closed(): void
}

/**
 * Connects to a target for a {@link Connecting}, over TLS and through a proxy if the target has them. Reports only to the
 * connection: `attached`, then `ready` or `refuse`.
 */
export function connectFor(connection: Connecting, target: ConnectTarget): void {
  const { address, port, tls, via } = target
  // A request for an http URL is passed to the proxy unchanged; all others need a tunnel.
  const tunnel = via !== undefined && !(via.byName && tls === undefined)
  const connect = async (): Promise<unknown> =>
    await Bun.connect<Connecting>({
      hostname: address,
      port,
      data: connection,
      socket: tunnel ? tunnelHandlers(connection, target) : tls ? handlersOf(tls) : PLAIN_HANDLERS,
      ...(tls && !tunnel ? { tls: tlsOptions(tls) } : {}),
    })
  connect().catch(error => {
    connection.refuse(
      via ? proxyFailure(target, 'the proxy cannot be reached', error) : connectFailure(target.origin, error),
    )
  })
}

/** Set here, since an environment variable could otherwise disable the check. */
function tlsOptions({ insecure, ...settings }: TlsSettings) {
  return { ...settings, rejectUnauthorized: insecure !== true }
}

const PLAIN_HANDLERS: SocketHandler<Connecting> = {
  open(socket) {
    socket.data.attached(socket)
    socket.data.ready()
  },
  data: (socket, bytes) => socket.data.receive(bytes),
  drain: socket => socket.data.drain(),
  end: socket => socket.data.peerEnded(),
  close: socket => socket.data.closed(),
  // `close` follows, and reports the loss.
  error() {},
}

const TLS_HANDLERS: SocketHandler<Connecting> = {
  ...PLAIN_HANDLERS,
  // Nothing is written before the certificate was validated.
  open: socket => socket.data.attached(socket),
  handshake: (socket, success, error) => socket.data.handshake(success, error),
}

const UNCHECKED_HANDLERS: SocketHandler<Connecting> = {
  ...TLS_HANDLERS,
  // The runtime reports a certificate fault as a failure even when faults are accepted.
  handshake: (socket, success, error) => socket.data.handshake(success || isCertificateFault(error), error),
}

function handlersOf({ insecure }: TlsSettings): SocketHandler<Connecting> {
  return insecure === true ? UNCHECKED_HANDLERS : TLS_HANDLERS
}

/** The handlers of the connection to a proxy until it has opened the tunnel. */
function tunnelHandlers(connection: Connecting, target: ConnectTarget): SocketHandler<Connecting> {
  const { tls, via } = target
  const answer = new TunnelAnswer(target)
  let isOpen = false
  const opened = (socket: Socket<Connecting>, rest: Buffer): void => {
    isOpen = true
    // A server sends only after a request, and TLS begins with the client.
    if (rest.length > 0) return connection.refuse(proxyFailure(target, 'it sent bytes before any were asked for'))
    if (!tls) return connection.ready()
    const [, secure] = socket.upgradeTLS<Connecting>({
      data: connection,
      tls: tlsOptions(tls),
      socket: handlersOf(tls),
    })
    connection.attached(secure)
  }
  return {
    ...PLAIN_HANDLERS,
    open(socket) {
      connection.attached(socket)
      if (via) socket.write(connectRequest(via))
    },
    data(socket, bytes) {
      // The runtime reports the ciphertext here too, once the socket carries TLS.
      if (isOpen) return tls ? undefined : connection.receive(bytes)
      try {
        const rest = answer.push(bytes)
        if (rest) opened(socket, rest)
      } catch (error) {
        connection.refuse(error instanceof HubError ? error : tlsFailure(target.origin, error))
      }
    },
    close() {
      if (!isOpen) return connection.refuse(proxyFailure(target, 'it closed the connection'))
      connection.closed()
    },
  }
}
