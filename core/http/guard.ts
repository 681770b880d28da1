import { Buffer } from 'node:buffer'
import { LIMITS } from '../config/limits.ts'
import type { HubConfig } from '../config/schema.ts'
import { HubError } from '../contract/errors.ts'
import { ASSISTANT_SOCKET_PATH, refuseTokenInQuery, requireCanonical, targetOf } from '../request/canonical-path.ts'
import { isDiscoveryPath } from '../request/discovery-paths.ts'
import type { RequestInfo, SocketHandler } from '../request/request-info.ts'
import { withoutEnd } from '../transport-kit/text-ends.ts'
import { type AddressList, addressKey, addressList, plainAddress } from './addresses.ts'
import type { Admitted, Peer, RequestGuard } from './api.ts'
import { ANY_ORIGIN } from './cors.ts'
import { createHostList, type HostList } from './hosts.ts'

/** The settings that the guard reads. */
export type GuardConfig = Pick<
  HubConfig,
  | 'basePath'
  | 'allowedHosts'
  | 'allowedOrigins'
  | 'publicUrl'
  | 'trustedProxies'
  | 'adminAddresses'
  | 'discoveryEnabled'
>

const FORWARDING = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'forwarded', 'x-real-ip'] as const

const WELL_KNOWN = /^\/\.well-known\/[a-z0-9-]+(?=\/)/

/** Bytes of one request id; 16 hexadecimal digits, which a search for a pasted id takes for one word. */
const ID_BYTES = 8
/** Ids that are drawn at a time: asking the system for each would cost as much as a check. */
const IDS_AT_ONCE = 256

/** Creates request ids. Each is fully random, so that two of them do not reveal the number of requests between them. */
export function createRequestIds(): () => string {
  const bytes = Buffer.alloc(ID_BYTES * IDS_AT_ONCE)
  let at = bytes.length
  return () => {
    if (at === bytes.length) {
      crypto.getRandomValues(bytes)
      at = 0
    }
    at += ID_BYTES
    return bytes.toString('hex', at - ID_BYTES, at)
  }
}

/**
 * Creates the checks before every route and upgrade. `nextId` returns request ids. Throws RangeError when
 * TRUSTED_PROXIES or ADMIN_ADDRESSES contains an invalid address.
 */
export function createGuard(config: GuardConfig, nextId: () => string = createRequestIds()): RequestGuard {
  const publicUrl = config.publicUrl === undefined ? undefined : publicBase(config.publicUrl, config.basePath)
  const hosts = createHostList(config.allowedHosts, config.allowedOrigins)
  const context: GuardContext = {
    basePath: config.basePath,
    publicUrl,
    hosts,
    trusts: config.trustedProxies.length === 0 ? () => false : addressList(config.trustedProxies),
    trustsNobody: config.trustedProxies.length === 0,
    administrators: config.adminAddresses.length === 0 ? undefined : addressList(config.adminAddresses),
  }
  return {
    admit(request, peer) {
      const { headers } = request
      const { path, query } = targetOf(request.url)
      requireCanonical(path)
      requireFewHeaders(headers)
      const host = headers.get('host') ?? hostInUrl(request.url)
      hosts.requireHost(host)
      const below = config.basePath === '' ? path : belowBase(path, config.basePath)
      // Platforms of assistants store only an address; its token gives no other access.
      if (below !== ASSISTANT_SOCKET_PATH) refuseTokenInQuery(query)
      const admitted = new AdmittedRequest(context, below, nextId(), headers, host, peer)
      const origin = headers.get('origin')
      if (origin === null) return admitted
      // These responses are the same for everybody, and need no credential.
      if (config.discoveryEnabled && isDiscoveryPath(below)) admitted.corsOrigin = ANY_ORIGIN
      else if (hosts.requireOrigin(origin, admitted.ownOrigins)) admitted.corsOrigin = origin
      return admitted
    },
  }
}

interface GuardContext {
  readonly basePath: string
  readonly publicUrl: string | undefined
  readonly hosts: HostList
  readonly trusts: AddressList
  readonly trustsNobody: boolean
  /** Addresses at which administrators have their rights; undefined: all. */
  readonly administrators: AddressList | undefined
}

/** The facts of an accepted request. Addresses and URLs are computed lazily: most requests need none of them. */
class AdmittedRequest implements Admitted, RequestInfo {
  readonly path: string
  readonly requestId: string
  corsOrigin: string | undefined
  startedLate = false
  readonly #context: GuardContext
  readonly #headers: Headers
  readonly #host: string
  readonly #peer: Peer

  constructor(context: GuardContext, path: string, requestId: string, headers: Headers, host: string, peer: Peer) {
    this.path = path
    this.requestId = requestId
    this.#context = context
    this.#headers = headers
    this.#host = host
    this.#peer = peer
  }

  get info(): RequestInfo {
    return this
  }

  get clientAddress(): string {
    const own = this.#peerAddress()
    if (this.#context.trustsNobody || !this.#context.trusts(own)) return own
    const hops = (this.#headers.get('x-forwarded-for') ?? '').split(',')
    let client = own
    for (const hop of hops.reverse()) {
      const address = plainAddress(hop.trim())
      // A proxy that writes an invalid address is not trusted with the entries to its left.
      if (address === undefined) return client
      client = address
      if (!this.#context.trusts(address)) return client
    }
    return client
  }

  get addressKey(): string {
    return addressKey(this.clientAddress)
  }

  /** A request forwarded by an unlisted proxy has no trustworthy address. */
  get mayAdminister(): boolean {
    const { administrators } = this.#context
    if (!administrators) return true
    return !this.untrustedForwarding && administrators(this.clientAddress)
  }

  get viaProxy(): boolean {
    return !this.#context.trustsNobody && this.#context.trusts(this.#peerAddress())
  }

  get untrustedForwarding(): boolean {
    return FORWARDING.some(name => this.#headers.has(name)) && !this.viaProxy
  }

  get baseUrl(): string {
    const { publicUrl, basePath } = this.#context
    return publicUrl ?? `${this.#origin()}${basePath}`
  }

  /** The origins of the hub's own pages: the one that the client used, and that of PUBLIC_URL. */
  get ownOrigins(): string[] {
    const { publicUrl } = this.#context
    return publicUrl === undefined ? [this.#origin()] : [this.#origin(), new URL(publicUrl).origin]
  }

  /** Scheme, host and port to which the client sent the request. */
  #origin(): string {
    const { trustsNobody, trusts, hosts } = this.#context
    if (trustsNobody || !trusts(this.#peerAddress())) return `http://${this.#host}`
    const proto = last(this.#headers.get('x-forwarded-proto'))?.toLowerCase()
    const forwarded = last(this.#headers.get('x-forwarded-host'))
    const host = forwarded !== undefined && hosts.isListed(forwarded) ? forwarded : this.#host
    return `${proto === 'https' ? 'https' : 'http'}://${host}`
  }

  keepOpen(): void {
    this.#peer.keepOpen()
  }

  upgrade(handler: SocketHandler): boolean {
    return this.#peer.upgrade?.(handler) ?? false
  }

  #peerAddress(): string {
    return plainAddress(this.#peer.address) ?? this.#peer.address
  }
}

/** Bun provides the number; elsewhere the headers are counted. */
function requireFewHeaders(headers: Headers & { readonly count?: number }): void {
  const count = headers.count ?? [...headers.keys()].length
  if (count <= LIMITS.requestHeaderCount) return
  throw new HubError(
    'headers_too_large',
    `The request has ${count} headers; at most ${LIMITS.requestHeaderCount} are taken`,
  )
}

/** The nearest proxy appends its value, so the last one counts. */
function last(header: string | null): string | undefined {
  return header?.split(',').at(-1)?.trim()
}

/**
 * The path below the base path. A well-known path of something below it has the base path behind the name: it stands before the
 * path of what it is about (RFC 8414, section 3.1; RFC 9728, section 3.1).
 */
function belowBase(path: string, basePath: string): string {
  if (path === basePath) return '/'
  const name = WELL_KNOWN.exec(path)?.[0]
  const rest = name === undefined ? undefined : path.slice(name.length)
  if (rest === basePath || rest?.startsWith(`${basePath}/`)) return `${name}${rest.slice(basePath.length)}`
  if (path.startsWith(basePath) && path.charCodeAt(basePath.length) === 0x2f) return path.slice(basePath.length)
  throw new HubError('route_not_found', `Nothing is served here; the hub is mounted at ${basePath}/`)
}

/** The address of the hub as PUBLIC_URL says, which may already include the base path. */
export function publicBase(publicUrl: string, basePath: string): string {
  const url = new URL(publicUrl)
  const path = withoutEnd(url.pathname, '/')
  return `${url.origin}${path === '' ? basePath : path}`
}

function hostInUrl(url: string): string {
  return /^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? ''
}
