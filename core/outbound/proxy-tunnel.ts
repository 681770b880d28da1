import type { HubError } from '../contract/errors.ts'
import { notSent } from './failures.ts'
import type { ConnectTarget, ProxyHop } from './targets.ts'

/** Longest head of a proxy's answer to `CONNECT`, in bytes. */
const MAX_HEAD_BYTES = 16 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')

/** The request for a tunnel to the server. */
export function connectRequest({ authority, authorization }: ProxyHop): string {
  const credentials = authorization === undefined ? '' : `proxy-authorization: ${authorization}\r\n`
  return `CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${credentials}\r\n`
}

/** Reads a proxy's answer to `CONNECT`, piece by piece. */
export class TunnelAnswer {
  readonly #target: ConnectTarget
  #held: Buffer = Buffer.alloc(0)

  constructor(target: ConnectTarget) {
    this.#target = target
  }

  /**
   * The bytes behind the answer's head once the tunnel is open; undefined while the head is not complete. Throws `proxy_failed`
   * when the proxy refuses, or does not use HTTP.
   */
  push(bytes: Buffer): Buffer | undefined {
    this.#held = Buffer.concat([this.#held, bytes])
    const end = this.#held.indexOf(HEAD_END)
    if (end < 0 && this.#held.length <= MAX_HEAD_BYTES) return undefined
    const [line = ''] = this.#held.toString('latin1', 0, 256).split('\r\n')
    const [, status] = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(line) ?? []
    if (status === undefined || end < 0) throw proxyFailure(this.#target, 'its answer is not HTTP')
    if (!status.startsWith('2')) throw proxyRefusal(this.#target, Number(status))
    return this.#held.subarray(end + 4)
  }
}

/** `proxy_failed`, for a proxy that answered with this status. */
export function proxyRefusal(target: Pick<ConnectTarget, 'origin'>, status: number): HubError {
  const why = status === 407 ? 'it asks for another user name or password (407)' : `it answered ${status}`
  return proxyFailure(target, why)
}

/** `proxy_failed`; nothing of the request was written to the server. */
export function proxyFailure({ origin }: Pick<ConnectTarget, 'origin'>, why: string, cause?: unknown): HubError {
  return notSent('proxy_failed', `The proxy does not connect to ${origin}: ${why}`, cause)
}

/**
 * A request in the form that a proxy takes for an http URL (RFC 9112, section 3.2.2): the whole URL in its first line.
 * `text` begins with the method, a space and the path.
 */
export function forwardedRequest(text: string | Buffer, origin: string, { authorization }: ProxyHop): string | Buffer {
  const lineEnd = text.indexOf('\r\n') + 2
  const [method = '', ...rest] = String(text.slice(0, lineEnd)).split(' ')
  const credentials = authorization === undefined ? '' : `proxy-authorization: ${authorization}\r\n`
  const line = `${method} ${origin}${rest.join(' ')}${credentials}`
  if (typeof text === 'string') return line + text.slice(lineEnd)
  return Buffer.concat([Buffer.from(line, 'latin1'), text.subarray(lineEnd)])
}
