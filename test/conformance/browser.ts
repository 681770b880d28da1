/** The browser of a person who signs in at the suite's issuers: it follows nothing, and hands what comes back to the hub. */
import type { Client } from '../support/client.ts'
import { type Status, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

/** Reasons of a server that a sign-in ends. */
const WANTS_SIGN_IN: ReadonlySet<string> = new Set(['sign_in_needed', 'issuer_changed', 'scope_needed'])
/** Codes of errors that a sign-in ends, as clients under `/mcp` get them. */
const ASKS: ReadonlySet<unknown> = new Set(['authorization_required', 'scope_needed'])

/** A server whose next attempt is later than this, in milliseconds, stays offline. */
const SOON_MS = 10_000

/**
 * Waits until the server is online or stays offline, and returns what it is then. On a busy machine the first attempt may fail: a server
 * that answers `server/discover` too late is greeted in the older way once, which a modern one refuses.
 */
export function settled(client: Client, ref: string, timeoutMs: number): Promise<Status> {
  return until(
    async () => {
      const status = await statusOf(client, ref)
      return (status.state === 'online' || staysOffline(status)) && status
    },
    { timeoutMs, intervalMs: 50, what: `server "${ref}" to be online or offline` },
  )
}

function staysOffline({ state, reason, nextAttemptAt }: Status): boolean {
  if (state !== 'offline' || reason === undefined) return false
  return nextAttemptAt === undefined || Date.parse(nextAttemptAt) > Date.now() + SOON_MS
}

/** True where the state of the server asks for a sign-in. */
export function wantsSignIn({ state, reason }: Status): boolean {
  return state === 'offline' && WANTS_SIGN_IN.has(reason?.code ?? '')
}

/** True where an error under `/mcp` asks for a sign-in. */
export function asksForSignIn(error: unknown): boolean {
  return error instanceof Error && 'data' in error && ASKS.has((error.data as { readonly code?: unknown } | null)?.code)
}

/** Signs the user in at the server. False where the hub refuses to begin or to finish, which is printed. */
export async function signIn(client: Client, ref: string): Promise<boolean> {
  const begun = await client.request('POST', `/api/servers/${ref}/connect`, {})
  console.log(`connect: ${begun.status} ${begun.text}`)
  if (begun.status !== 201) return false
  const response = await fetch(begun.json.authorizeUrl, { redirect: 'manual' })
  const url = response.headers.get('location')
  console.log(`authorize: ${response.status} ${url}`)
  if (url === null) return false
  const finished = await client.request('POST', '/api/connections/finish', { url })
  console.log(`finish: ${finished.status} ${finished.text}`)
  return finished.status === 200
}
