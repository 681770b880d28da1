import { type GuardedFetch, HubError } from 'patchbay/contract'

/** Limits of one request to a provider. */
const REQUEST = { headTimeoutMs: 10_000, idleTimeoutMs: 10_000, maxBytes: 256 * 1024 } as const
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/

/** A request of oauth4webapi. */
interface WebRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** True for an address at which tokens may travel: https, or http on this machine. */
export function isSafe(address: unknown): address is string {
  const url = typeof address === 'string' ? URL.parse(address) : null
  if (url?.username !== '' || url.password !== '' || url.hash !== '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname))
}

/** True for an address of this machine. */
export function isOwnMachine(address: string): boolean {
  return LOOPBACK.test(new URL(address).hostname)
}

/** The guarded client as oauth4webapi wants its `customFetch`. A server that cannot answer now is one that is not reached. */
export function asWebFetch(fetch: GuardedFetch) {
  return async (url: string, { method, headers, body }: WebRequest): Promise<Response> => {
    const text = body instanceof URLSearchParams ? body.toString() : body
    const answer = await fetch(url, {
      ...REQUEST,
      method,
      headers,
      ...(typeof text === 'string' ? { body: text } : {}),
    })
    const content = await answer.text()
    if (answer.status === 429 || answer.status >= 500)
      throw new HubError('upstream_http_error', `HTTP ${answer.status}`)
    const isEmpty = answer.status === 204 || answer.status === 304
    return new Response(isEmpty ? null : content, { status: answer.status, headers: headersOf(answer.headers) })
  }
}

/** Those of the body as it is now. */
function headersOf(headers: Readonly<Record<string, string>>): Headers {
  const kept = new Headers()
  for (const [name, value] of Object.entries(headers))
    if (name !== 'content-length' && name !== 'content-encoding') kept.set(name, value)
  return kept
}
