import { chmodSync, chownSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { HubError } from '../contract/errors.ts'
import type { AddressRights } from '../domain/address.ts'
import { resolveTargets } from './dial.ts'
import type { Lookup } from './lookup.ts'
import { type Pace, paced } from './pace.ts'
import { type ProxyRequest, parseProxyHead } from './proxy-head.ts'
import { connectFirst } from './tcp.ts'

const HEAD_MS = 10_000
const HEAD_BYTES = 16 * 1024
/** A tunnel in which nothing moves for so long is closed. */
const IDLE_MS = 10 * 60_000
/** At a time. As many more are told so, and those beyond are closed without a word. */
const CONNECTIONS = 64
/** A client that was refused has so long to read why: it may never close its end. */
const LINGER_MS = 1_000
/** What a Unix socket's path may have, its end included. */
const PATH_BYTES = 108

export interface EgressOptions {
  /** Where the Unix socket is made; its folder is made too. */
  readonly path: string
  /** Whose processes may connect to it. */
  readonly uid: number
  /** Asked at each connection, since an owner's rights may change while the process runs. */
  readonly rights: () => Promise<AddressRights>
  /** Narrows it to some hosts. Default: all that the rights permit. */
  readonly permits?: (host: string, port: number) => boolean
  readonly lookup: Lookup
  /** For all that it carries, both ways: what passes here takes the hub's time. */
  readonly pace: Pace
}

/** A proxy's end in the hub. */
export interface Egress {
  /** Ends it with all its connections and removes the socket. */
  close(): void
}

/**
 * The way out of a sandbox without a network: a proxy (CONNECT, and requests for http URLs) at a Unix socket that judges
 * every connection by the rules for addresses that somebody else chose. Throws HubError `spawn_failed` when the socket
 * cannot be made.
 */
export function openEgress(options: EgressOptions): Egress {
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, client => {
    client.on('error', () => client.destroy())
    if (open.size >= 2 * CONNECTIONS) {
      client.destroy()
      return
    }
    const full = open.size >= CONNECTIONS
    open.add(client)
    client.on('close', () => open.delete(client))
    if (full) dismiss(client, answer(503, 'Service Unavailable', 'overloaded'))
    else void serve(client, options)
  })
  // Without a listener one broken connection would be an error that nobody handles.
  server.on('error', () => undefined)
  if (Buffer.byteLength(options.path) >= PATH_BYTES) {
    throw new HubError('spawn_failed', 'The data folder has so long a path that no socket can be made in it', {
      hint: 'Set DATA_DIR to a shorter path.',
    })
  }
  try {
    mkdirSync(dirname(options.path), { recursive: true, mode: 0o711 })
    chmodSync(dirname(options.path), 0o711)
    server.listen(options.path)
    chownSync(options.path, options.uid, options.uid)
    chmodSync(options.path, 0o600)
  } catch (error) {
    server.close()
    throw new HubError('spawn_failed', 'The way out of the sandbox cannot be opened', { cause: error })
  }
  return {
    close() {
      server.close()
      for (const client of open) client.destroy()
      rmSync(options.path, { force: true })
    },
  }
}

async function serve(client: Socket, options: EgressOptions): Promise<void> {
  try {
    const { head, rest } = await readHead(client)
    const request = parseProxyHead(head)
    const upstream = await dial(request, options)
    upstream.on('error', () => client.destroy())
    upstream.on('close', () => client.destroy())
    client.on('close', () => upstream.destroy())
    if (client.destroyed) {
      upstream.destroy()
      return
    }
    for (const socket of [client, upstream]) socket.setTimeout(IDLE_MS, () => socket.destroy())
    if (request.kind === 'tunnel') client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    else upstream.write(request.head)
    if (rest.length > 0) upstream.write(rest)
    client.pipe(paced(options.pace)).pipe(upstream)
    upstream.pipe(paced(options.pace)).pipe(client)
  } catch (error) {
    dismiss(client, refusal(error))
  }
}

/** The last word to a client. What it still sends is not looked at. */
function dismiss(client: Socket, text: string): void {
  if (client.destroyed) return
  client.resume()
  client.end(text)
  const timer = setTimeout(() => client.destroy(), LINGER_MS)
  client.once('close', () => clearTimeout(timer))
}

async function dial({ host, port }: ProxyRequest, options: EgressOptions): Promise<Socket> {
  const { rights, permits, lookup } = options
  if (permits && !permits(host, port)) {
    throw new HubError('url_address_blocked', `${host}:${port} is none of the hosts that are open here`)
  }
  const url = URL.parse(`https://${host}:${port}/`)
  if (!url) throw new HubError('url_address_blocked', 'The host cannot be read')
  return connectFirst(await resolveTargets(url, await rights(), lookup, undefined))
}

/** Reads as far as the empty line. What came behind it is `rest`. */
function readHead(client: Socket): Promise<{ readonly head: string; readonly rest: Buffer }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ head: string; rest: Buffer }>()
  let held = Buffer.alloc(0)
  const timer = setTimeout(() => reject(badRequest('The request did not come within 10 s')), HEAD_MS)
  const gone = (): void => reject(badRequest('The connection ended before its request'))
  const read = (chunk: Buffer): void => {
    held = Buffer.concat([held, chunk])
    const end = held.indexOf('\r\n\r\n')
    if (end < 0 && held.length <= HEAD_BYTES) return
    if (end < 0 || end > HEAD_BYTES) {
      reject(badRequest('The head of the request is too long'))
      return
    }
    client.pause()
    resolve({ head: held.toString('latin1', 0, end), rest: held.subarray(end + 4) })
  }
  client.on('data', read)
  client.once('end', gone)
  client.once('close', gone)
  return promise.finally(() => {
    clearTimeout(timer)
    client.off('data', read)
    client.off('end', gone)
    client.off('close', gone)
  })
}

function badRequest(message: string): HubError {
  return new HubError('request_invalid', message)
}

const STATUS: Readonly<Partial<Record<HubError['code'], readonly [number, string]>>> = {
  request_invalid: [400, 'Bad Request'],
  url_address_blocked: [403, 'Forbidden'],
  upstream_timeout: [504, 'Gateway Timeout'],
}

function refusal(error: unknown): string {
  const code = error instanceof HubError ? error.code : 'internal'
  const [status, title] = STATUS[code] ?? [502, 'Bad Gateway']
  return answer(status, title, code)
}

/** The code alone: what is behind an address that is closed is nobody's business. */
function answer(status: number, title: string, code: HubError['code']): string {
  const body = `${code}\n`
  return `HTTP/1.1 ${status} ${title}\r\ncontent-type: text/plain\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
}
