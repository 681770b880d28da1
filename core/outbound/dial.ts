import { HubError } from '../contract/errors.ts'
import { type AddressRights, checkAddress, checkHostLiteral } from '../domain/address.ts'
import { withoutEnd } from '../transport-kit/text-ends.ts'
import { notSent } from './failures.ts'
import { type ConnectionOwner, type ConnectTarget, Http1Connection } from './http1.ts'
import type { Lookup } from './lookup.ts'

const CONNECT_TIMEOUT_MS = 10_000
/** How long one address may stay silent before the next is tried in parallel (RFC 8305 recommends 250). */
const NEXT_ADDRESS_MS = 250

/** Longer than name servers of the local network usually need for a response of either kind. */
const NAME_REFUSAL_MS = 150

/**
 * The addresses that may be connected to for this URL. A literal is checked as it is; of a name every address must
 * pass, since its name server could otherwise mix a permitted one with the intended one. Throws `url_address_blocked`
 * or, only for an administrator's server, `upstream_dns_error`: for others a name that does not exist fails like one
 * with a blocked address, with the same text and no sooner than after `refusalMs`, since a difference would reveal the
 * names of an internal network.
 */
export async function resolveTargets(
  url: URL,
  rights: AddressRights,
  lookup: Lookup,
  ca: string | undefined,
  refusalMs = NAME_REFUSAL_MS,
): Promise<readonly ConnectTarget[]> {
  const host = withoutEnd(url.hostname, '.')
  const verdict = checkHostLiteral(url.hostname, rights)
  if (verdict === 'blocked') throw blocked(url.origin)
  const isName = !/^\[|^[\d.]+$/.test(host)
  const addresses = isName
    ? await resolveName(url.origin, host, rights, lookup, refusalMs)
    : [host.replace(/^\[|\]$/g, '')]
  if (!addresses.every(address => checkAddress(address, rights) === 'ok')) throw blocked(url.origin)
  const secure = url.protocol === 'https:' || url.protocol === 'wss:'
  const tls = secure ? { ...(isName ? { serverName: host } : {}), ...(ca === undefined ? {} : { ca }) } : undefined
  const port = Number(url.port) || (secure ? 443 : 80)
  return addresses.map(address => ({ address, port, tls, origin: url.origin }))
}

/** The addresses of a host, a name or an address, all of which these rights permit. Rejects as `resolveTargets`. */
export async function resolveHost(host: string, rights: AddressRights, lookup: Lookup): Promise<readonly string[]> {
  const url = URL.parse(`http://${host.includes(':') ? `[${host}]` : host}/`)
  if (!url) throw blocked(host)
  return (await resolveTargets(url, rights, lookup, undefined)).map(({ address }) => address)
}

/** The name's addresses, each of them permitted for servers of this owner. */
async function resolveName(
  origin: string,
  host: string,
  rights: AddressRights,
  lookup: Lookup,
  refusalMs: number,
): Promise<readonly string[]> {
  const startMs = performance.now()
  const found = await resolve(origin, host, lookup).catch((error: unknown) => error)
  const open = Array.isArray(found) && found.every(address => checkAddress(address, rights) === 'ok')
  if (open) return found
  if (rights.admin) throw Array.isArray(found) ? blocked(origin) : found
  const leftMs = startMs + refusalMs - performance.now()
  if (leftMs > 0) await new Promise(done => setTimeout(done, leftMs))
  throw notSent('url_address_blocked', `${origin} has no address that servers of this owner may reach`)
}

async function resolve(origin: string, host: string, lookup: Lookup): Promise<readonly string[]> {
  let addresses: readonly string[]
  try {
    addresses = await lookup(host)
  } catch (cause) {
    throw notSent('upstream_dns_error', `Cannot connect to ${origin}: its name cannot be resolved`, cause)
  }
  if (addresses.length > 0) return addresses
  throw notSent('upstream_dns_error', `Cannot connect to ${origin}: its name has no address`)
}

function blocked(origin: string): HubError {
  return notSent('url_address_blocked', `${origin} is at an address that servers of this owner may not reach`)
}

/** A connection being opened. */
export interface Dial {
  /** Rejects with a HubError whose `data.sent` is false. */
  readonly connection: Promise<Http1Connection>
  cancel(error: HubError): void
}

/** Connects once, and closes. Rejects with a HubError, or with the reason of an aborted signal. */
export async function reachOrigin(
  origin: string,
  targets: () => Promise<readonly ConnectTarget[]>,
  signals: readonly AbortSignal[],
): Promise<void> {
  const signal = AbortSignal.any([...signals])
  signal.throwIfAborted()
  const attempt = dial(origin, { heads: new Map(), idle: () => undefined, lost: () => undefined }, targets)
  const abort = () => attempt.cancel(toHubError(signal.reason, origin))
  signal.addEventListener('abort', abort, { once: true })
  try {
    const connection = await attempt.connection
    connection.drop()
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function toHubError(reason: unknown, origin: string): HubError {
  if (reason instanceof HubError) return reason
  return notSent('upstream_timeout', `Cannot connect to ${origin}: nobody answered in time`, reason)
}

/** Resolves the name and connects to the first of its addresses that responds, all within 10 s. */
export function dial(origin: string, owner: ConnectionOwner, targets: () => Promise<readonly ConnectTarget[]>): Dial {
  const { promise, resolve: win, reject } = Promise.withResolvers<Http1Connection>()
  const tried: Http1Connection[] = []
  let left: ConnectTarget[] = []
  let running = 0
  let next: ReturnType<typeof setTimeout> | undefined
  let over = false

  const finish = (outcome: Http1Connection | HubError) => {
    if (over) return
    over = true
    clearTimeout(limit)
    clearTimeout(next)
    for (const connection of tried) if (connection !== outcome) connection.drop()
    if (outcome instanceof HubError) reject(outcome)
    else win(outcome)
  }
  const attempt = () => {
    clearTimeout(next)
    const target = left.shift()
    if (over || !target) return
    if (left.length > 0) next = setTimeout(attempt, NEXT_ADDRESS_MS)
    running += 1
    const connection = new Http1Connection(target, owner, error => {
      running -= 1
      if (!error) return finish(connection)
      // An invalid certificate is a response: another address of the name would not help.
      if (error.code === 'upstream_tls_error' || (left.length === 0 && running === 0)) finish(error)
      else attempt()
    })
    tried.push(connection)
  }
  const limit = setTimeout(() => {
    finish(
      notSent('upstream_timeout', `Cannot connect to ${origin}: nobody answered in ${CONNECT_TIMEOUT_MS / 1000} s`),
    )
  }, CONNECT_TIMEOUT_MS)

  targets().then(
    found => {
      left = [...found]
      attempt()
    },
    error => finish(error),
  )
  return { connection: promise, cancel: finish }
}
