import { connect, type Socket } from 'node:net'
import type { HubError } from '../contract/errors.ts'
import { connectFailure, notSent } from './failures.ts'
import type { ConnectTarget } from './http1.ts'

const CONNECT_TIMEOUT_MS = 10_000

/** A connection to the first of these checked addresses that responds, all within 10 s. Throws HubError. */
export async function connectFirst(targets: readonly ConnectTarget[]): Promise<Socket> {
  const end = performance.now() + CONNECT_TIMEOUT_MS
  let failure: HubError | undefined
  for (const [index, target] of targets.entries()) {
    // A silent address leaves time for those behind it.
    const share = (end - performance.now()) / (targets.length - index)
    try {
      return await connectTo(target, share)
    } catch (error) {
      failure = error as HubError
    }
  }
  throw failure ?? notSent('upstream_dns_error', 'There is no address to connect to')
}

function connectTo({ address, port, origin }: ConnectTarget, timeoutMs: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect({ host: address, port, allowHalfOpen: true })
  const timer = setTimeout(() => {
    socket.destroy()
    reject(notSent('upstream_timeout', `Cannot connect to ${origin}: nobody answered`))
  }, timeoutMs)
  const failed = (error: unknown): void => {
    clearTimeout(timer)
    reject(connectFailure(origin, error))
  }
  socket.once('error', failed)
  socket.once('connect', () => {
    clearTimeout(timer)
    socket.off('error', failed)
    resolve(socket)
  })
  return promise
}
