import { connect } from 'node:net'
import { atMost } from './pace.ts'
import { noteCodes } from './seen-codes.ts'

/** Data received on a connection: the first answer's status, and everything as text. */
export interface RawAnswer {
  readonly status: number
  readonly text: string
  /** Behind the head. */
  readonly body: string
}

/**
 * Writes these bytes unchanged, for requests that no client would send, and reads until the server closes the connection or
 * `quietMs` pass without a byte after an answer that is complete, or that is endless.
 */
export function rawRequest(
  url: string,
  text: string | Uint8Array,
  options: { readonly quietMs?: number; readonly limitMs?: number } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  const { quietMs = 60, limitMs = 60_000 } = options
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const method = Buffer.from(text).toString('latin1').split(' ', 1)[0] ?? ''
  let seen = ''
  let quiet: ReturnType<typeof setTimeout> | undefined
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }, () => socket.write(text))
  const limit = setTimeout(() => socket.destroy(), atMost(limitMs))
  socket.on('data', chunk => {
    seen += chunk.toString('latin1')
    clearTimeout(quiet)
    if (isWhole(seen, method)) quiet = setTimeout(() => socket.destroy(), atMost(quietMs))
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

/** True when the first answer is complete, as far as its head shows that. `method`: of its request. */
function isWhole(seen: string, method: string): boolean {
  const [interim = ''] = /^(?:HTTP\/1\.1 100 [\s\S]*?\r\n\r\n)*/.exec(seen) ?? []
  const answer = seen.slice(interim.length)
  const at = answer.indexOf('\r\n\r\n')
  if (at < 0) return false
  const [head, body] = [answer.slice(0, at), answer.slice(at + 4)]
  const hasNone = method === 'HEAD' || /^HTTP\/1\.1 (?:101|204|304)/.test(head)
  if (hasNone || /^content-type: *text\/event-stream/im.test(head)) return true
  if (/^transfer-encoding: *chunked/im.test(head)) return /(?:^|\r\n)0\r\n\r\n/.test(body)
  return body.length >= Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
}

/** The text of one request with these lines of head. */
export function rawText(requestLine: string, head: readonly string[], body = ''): string {
  return [requestLine, ...head, '', body].join('\r\n')
}
