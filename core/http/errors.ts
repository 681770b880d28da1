import { hubErrorKind } from '../contract/codes.ts'
import { type FieldError, HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import { remedyOf } from '../contract/remedies.ts'
import { cutShort, cutTexts, LONGEST_ERROR_TEXT } from '../domain/cut-short.ts'
import { rpcError } from '../domain/rpc-error.ts'
import { visibleText } from '../domain/text/visible-text.ts'
import { SECURITY_HEADERS } from '../request/headers.ts'
import { LOOP_HEADER } from '../transport-kit/remote.ts'

/** The request whose error response is written. */
export interface ErrorContext {
  readonly requestId: string
  readonly method: string
  /** The path only: a query may contain secrets. */
  readonly path: string
  readonly log: Pick<PluginLogger, 'error'>
}

function shownField({ pointer, code, detail, suggestion }: FieldError): FieldError {
  return {
    pointer: visibleText(cutShort(pointer, LONGEST_ERROR_TEXT)),
    code,
    detail: visibleText(cutShort(detail, LONGEST_ERROR_TEXT)),
    ...(suggestion === undefined ? {} : { suggestion }),
  }
}

/**
 * Any error as problem+json (RFC 9457). For errors that are not HubErrors, and for `internal`, the response contains
 * only the request's id; the details go to the log.
 */
export function problemResponse(thrown: unknown, context: ErrorContext): Response {
  const error = publicError(thrown, context)
  const status = problemStatus(error)
  const hint = remedyOf(error)
  const body = {
    ...(error.data === undefined ? {} : cutTexts(error.data as JsonObject)),
    type: `/errors/${error.code}`,
    title: error.title,
    status,
    code: error.code,
    detail: visibleText(cutShort(error.message, LONGEST_ERROR_TEXT)),
    instance: context.path.slice(0, 512),
    requestId: context.requestId,
    ...(error.errors === undefined ? {} : { errors: error.errors.map(shownField) }),
    ...(hint === undefined ? {} : { hint: visibleText(hint) }),
  }
  const text = JSON.stringify(body)
  return new Response(text, {
    status,
    headers: {
      ...baseHeaders(context),
      'content-type': 'application/problem+json',
      // States the length, since the body is short.
      'content-length': String(Buffer.byteLength(text)),
      ...errorHeaders(error),
    },
  })
}

/** Codes that MCP returns with HTTP 200, as JSON-RPC errors, become 400 elsewhere. */
function problemStatus({ status }: HubError): number {
  return status < 400 ? 400 : status
}

/** Like `problemResponse` under `/mcp`, as a JSON-RPC error. It has no `id`, since the message's id is unknown. */
export function rpcErrorResponse(thrown: unknown, context: ErrorContext): Response {
  const error = publicError(thrown, context)
  const body = { jsonrpc: '2.0', error: rpcError(error, context.requestId) }
  return new Response(JSON.stringify(body), {
    status: error.status,
    headers: { ...baseHeaders(context), 'content-type': 'application/json', ...errorHeaders(error) },
  })
}

function publicError(thrown: unknown, { requestId, method, path, log }: ErrorContext): HubError {
  // A code of nobody would say nothing to its reader.
  const isKnown = thrown instanceof HubError && (thrown.own ?? hubErrorKind(thrown.code)) !== undefined
  if (isKnown && thrown.code !== 'internal') return thrown
  const error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
  log.error('A request failed by a fault of the hub', { requestId, method, path, error })
  return new HubError('internal', 'The hub failed at this request; its log says more under the request’s id')
}

function baseHeaders({ requestId }: ErrorContext): Record<string, string> {
  return { ...SECURITY_HEADERS, 'cache-control': 'no-store', 'x-request-id': requestId }
}

function errorHeaders(error: HubError): Record<string, string> {
  const { status, code, data, retryAfter } = error
  const headers: Record<string, string> = {}
  if (status === 401) {
    const withoutCredential = code === 'unauthenticated' || code === 'login_failed'
    headers['www-authenticate'] = `Bearer realm="patchbay"${withoutCredential ? '' : ', error="invalid_token"'}`
  }
  if (status === 405 && Array.isArray(data?.allow)) headers.allow = data.allow.join(', ')
  if (status === 508) headers[LOOP_HEADER] = '1'
  if (status === 415) headers.accept = 'application/json'
  if (status === 426) headers.upgrade = 'websocket'
  if ((status === 429 || status === 503) && retryAfter !== undefined) headers['retry-after'] = String(retryAfter)
  return headers
}
