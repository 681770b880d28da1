import { chmodSync, chownSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { HubError } from '../contract/errors.ts'
import type { AddressRights } from '../domain/address.ts'
import type { Lookup } from './lookup.ts'
import { type Carried, carry } from './pace.ts'
import { type ProxyRequest, parseProxyHead } from './proxy-head.ts'
import { resolveTargets } from './targets.ts'
import { connectFirst } from './tcp.ts'

const HEAD_MS = 10_000
const HEAD_BYTES = 16 * 1024
/** Idle time after which a tunnel is closed. */
const IDLE_MS = 10 * 60_000
/** Connections of one process at a time. As many more get an error response; any beyond are closed without one. */
const CONNECTIONS = 64
/** Time for a rejected client to read the reason, in milliseconds: it may never close its end. */
const LINGER_MS = 1_000
/** Longest path of a Unix socket, including its terminator. */
const PATH_BYTES = 108

/** Settings of one outbound proxy. */
export interface EgressOptions {
  /** Path of the Unix socket; its folder is created too. */
  readonly path: string
  /** The user id whose processes may connect to it. */
  readonly uid: number
  /** Called for each connection, since an owner's rights may change while the process runs. */
  readonly rights: () => Promise<AddressRights>
  /** Restricts it to some hosts. Default: all that the rights permit. */
  readonly permits?: (host: string, port: number) => boolean
  readonly lookup: Lookup
  /** Accounts for all bytes carried, both ways: they cost the hub's time and memory. */
  readonly owner: EgressOwner
}

/** Limits shared by all processes of one owner. */
export interface EgressOwner extends Carried {
  /** Counts a new connection; false when the owner has the maximum. */
  enter(): boolean
  leave(): void
}

/** A proxy in the hub for one process. */
export interface Egress {
  /** Closes all its connections and removes the socket. */
  close(): void
}

/**
 * The proxy for a sandbox without a network (CONNECT, and requests for http URLs), at a Unix socket; every connection is checked
 * by the rules for addresses that users chose. Throws HubError `spawn_failed` when the socket cannot be created.
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
    if (!full && !options.owner.enter()) {
      dismiss(client, answer(503, 'Service Unavailable', 'quota_streams'))
      return
    }
    if (!full) client.on('close', () => options.owner.leave())
    if (full) dismiss(client, answer(503, 'Service Unavailable', 'overloaded'))
    else void serve(client, options)
  })
  // Without a listener one broken connection would be an unhandled error.
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
    carry(client, upstream, options.owner)
    carry(upstream, client, options.owner)
  } catch (error) {
    dismiss(client, refusal(error))
  }
}

/** Sends a last response to a client. Further input is ignored. */
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
  return connectFirst(await resolveTargets(url, { rights: await rights(), lookup }))
}

/** Reads up to the empty line. Bytes behind it are `rest`. */
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

/** Only the code, so that nothing is revealed of a blocked address. */
function answer(status: number, title: string, code: HubError['code']): string {
  const body = `${code}\n`
  return `HTTP/1.1 ${status} ${title}\r\ncontent-type: text/plain\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
}
