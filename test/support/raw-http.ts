import { connect } from 'node:net'
import { noteCodes } from './seen-codes.ts'

/** What came back on a connection: the first answer's status, and everything as text. */
export interface RawAnswer {
  readonly status: number
  readonly text: string
  /** Behind the head. */
  readonly body: string
}

/**
 * Writes these bytes as they are, for requests that no client would make, and reads until the server closes the connection
 * or `quietMs` pass without a byte after the head.
 */
export function rawRequest(
  url: string,
  text: string | Uint8Array,
  options: { readonly quietMs?: number; readonly limitMs?: number } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  const { quietMs = 300, limitMs = 60_000 } = options
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  let seen = ''
  let quiet: ReturnType<typeof setTimeout> | undefined
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }, () => socket.write(text))
  const limit = setTimeout(() => socket.destroy(), limitMs)
  socket.on('data', chunk => {
    seen += chunk.toString('latin1')
    clearTimeout(quiet)
    if (seen.includes('\r\n\r\n')) quiet = setTimeout(() => socket.destroy(), quietMs)
  })
  socket.on('error', error => {
    if (seen === '') reject(error)
  })
  socket.on('close', () => {
    clearTimeout(limit)
    clearTimeout(quiet)
    noteCodes(seen)
    const at = seen.indexOf('\r\n\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(seen)?.[1] ?? 0)
    resolve({ status, text: seen, body: at < 0 ? '' : seen.slice(at + 4) })
  })
  return promise
}

/** The text of one request with these lines of head. */
export function rawText(requestLine: string, head: readonly string[], body = ''): string {
  return [requestLine, ...head, '', body].join('\r\n')
}
