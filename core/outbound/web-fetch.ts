import type { GuardedFetch } from '../contract/fetch.ts'

/** Limits of one request: 10 s for the head and between two parts of the body, 256 KiB. */
const LIMITS = { headTimeoutMs: 10_000, idleTimeoutMs: 10_000, maxBytes: 256 * 1024 } as const

/** A request as libraries make it that take a function `fetch`. */
export interface WebRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** The guarded client in the form of `fetch`, for libraries that take such a function. Rejects as the guarded client does. */
export function webFetch(fetch: GuardedFetch): (url: string, request: WebRequest) => Promise<Response> {
  return async (url, { method, headers, body }) => {
    const sent = body instanceof URLSearchParams ? body.toString() : body
    const answer = await fetch(url, { ...LIMITS, method, headers, ...(typeof sent === 'string' ? { body: sent } : {}) })
    const text = await answer.text()
    const { status } = answer
    const isEmpty = status === 204 || status === 304
    return new Response(isEmpty ? null : text, { status, headers: headersOf(answer.headers) })
  }
}

/** The headers of the body as it is now. */
function headersOf(headers: Readonly<Record<string, string>>): Headers {
  const kept = new Headers()
  for (const [name, value] of Object.entries(headers))
    if (name !== 'content-length' && name !== 'content-encoding') kept.set(name, value)
  return kept
}
