import { HubError } from '../contract/errors.ts'
import { notSent } from './failures.ts'
import { type ConnectionOwner, Http1Connection } from './http1.ts'
import type { ConnectTarget } from './targets.ts'

const CONNECT_TIMEOUT_MS = 10_000
/** Time for which one address may stay silent before the next is tried in parallel, in milliseconds (RFC 8305 recommends 250). */
const NEXT_ADDRESS_MS = 250

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
