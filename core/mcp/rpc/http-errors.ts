import type { HubError } from '../../contract/errors.ts'
import { LOOP_HEADER } from '../../transport-kit/remote.ts'
import { asHubError, errorMessage, type IdText, rpcError } from './rpc.ts'

/** An error for one message whose id could be read; the response repeats the id. */
export class RefusedMessage extends Error {
  readonly id: IdText | undefined
  readonly error: HubError
  readonly status: number
  readonly rpcCode: number | undefined
  /** `status` and `rpcCode`: of HTTP and of JSON-RPC, where they differ from the error's usual ones. */
  constructor(id: IdText | undefined, error: HubError, status: number = error.status, rpcCode?: number) {
    super(error.message)
    this.rpcCode = rpcCode
    this.id = id
    this.error = error
    this.status = status
  }
}

/** Facts about a request that an error response under `/mcp` depends on. */
interface ErrorPlace {
  readonly requestId: string
  /** True when the request carried a credential. */
  readonly credential: boolean
  /** True when the request belongs to the era without GET and DELETE. */
  readonly modern: boolean
  /** Parameters of the challenge besides the realm and the error. */
  parameters(status: 401 | 403, message: string): Readonly<Record<string, string>>
}

/** An error as HTTP status and JSON-RPC body. */
export function errorResponse(thrown: unknown, place: ErrorPlace): Response {
  const refused = thrown instanceof RefusedMessage ? thrown : undefined
  const error = asHubError(refused?.error ?? thrown)
  const headers = new Headers({ 'content-type': 'application/json', 'cache-control': 'no-store' })
  switch (error.status) {
    case 401:
      headers.set(
        'www-authenticate',
        challenge(place.credential ? 'invalid_token' : undefined, place.parameters(401, error.message)),
      )
      break
    case 403:
      if (error.code === 'insufficient_scope')
        headers.set('www-authenticate', challenge('insufficient_scope', place.parameters(403, error.message)))
      break
    case 405:
      if (place.modern) headers.set('allow', 'POST')
      else if (Array.isArray(error.data?.allow)) headers.set('allow', error.data.allow.join(', '))
      break
    case 508:
      headers.set(LOOP_HEADER, '1')
      break
    case 415:
      headers.set('accept', 'application/json')
      break
    case 429:
    case 503:
      if (error.retryAfter !== undefined) headers.set('retry-after', String(error.retryAfter))
  }
  const written = rpcError(error, place.requestId)
  const text = errorMessage(refused?.id, { ...written, code: refused?.rpcCode ?? written.code })
  return new Response(text, { status: refused?.status ?? error.status, headers })
}

/**
 * The challenge of RFC 6750, the same for paths that exist and paths that do not. Without `parameters` it names no resource
 * metadata (RFC 9728), since that would send clients into a sign-in that the hub does not offer.
 */
function challenge(error: string | undefined, parameters: Readonly<Record<string, string>>): string {
  const all = { realm: 'patchbay', ...(error === undefined ? {} : { error }), ...parameters }
  return `Bearer ${Object.entries(all)
    .map(([name, value]) => `${name}="${value.replaceAll('"', '%22')}"`)
    .join(', ')}`
}
