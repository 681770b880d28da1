import { connect, type Socket } from 'node:net'
import type { HubError } from '../contract/errors.ts'
import { connectFailure, notSent } from './failures.ts'
import { connectRequest, proxyFailure, TunnelAnswer } from './proxy-tunnel.ts'
import type { ConnectTarget } from './targets.ts'

const CONNECT_TIMEOUT_MS = 10_000

/** A connection to the first of these checked addresses that responds, all within 10 s. Throws HubError. */
export async function connectFirst(targets: readonly ConnectTarget[]): Promise<Socket> {
  const end = performance.now() + CONNECT_TIMEOUT_MS
  let failure: HubError | undefined
  for (const [index, target] of targets.entries()) {
    // A silent address leaves time for the next ones.
    const share = (end - performance.now()) / (targets.length - index)
    try {
      return await connectTo(target, share)
    } catch (error) {
      failure = error as HubError
    }
  }
  throw failure ?? notSent('upstream_dns_error', 'There is no address to connect to')
}

function connectTo(target: ConnectTarget, timeoutMs: number): Promise<Socket> {
  const { address, port, origin, via } = target
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect({ host: address, port, allowHalfOpen: true })
  const timer = setTimeout(() => {
    socket.destroy()
    reject(notSent('upstream_timeout', `Cannot connect to ${origin}: nobody answered`))
  }, timeoutMs)
  const failed = (error: unknown): void => {
    clearTimeout(timer)
    reject(via ? proxyFailure(target, 'the proxy cannot be reached', error) : connectFailure(origin, error))
  }
  socket.once('error', failed)
  socket.once('connect', () => {
    const opened = (): void => {
      clearTimeout(timer)
      socket.off('error', failed)
      resolve(socket)
    }
    if (!via) return opened()
    socket.write(connectRequest(via))
    readTunnelAnswer(socket, target).then(opened, (error: unknown) => {
      clearTimeout(timer)
      socket.destroy()
      reject(error)
    })
  })
  return promise
}

/** Resolves once the proxy has opened the tunnel; bytes behind its answer are read from the socket again. */
function readTunnelAnswer(socket: Socket, target: ConnectTarget): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const answer = new TunnelAnswer(target)
  const gone = (): void => reject(proxyFailure(target, 'it closed the connection'))
  const read = (bytes: Buffer): void => {
    try {
      const rest = answer.push(bytes)
      if (!rest) return
      socket.pause()
      if (rest.length > 0) socket.unshift(rest)
      resolve()
    } catch (error) {
      reject(error)
    }
  }
  socket.on('data', read)
  socket.once('end', gone)
  socket.once('close', gone)
  return promise.finally(() => {
    socket.off('data', read)
    socket.off('end', gone)
    socket.off('close', gone)
  })
}
