import type { Failed, RpcError, Upstreams } from '../../connections/api.ts'
import { type ErrorCode, HubError } from '../../contract/errors.ts'
import { isJsonObject } from '../../contract/json.ts'
import type { ServerRecord } from '../../contract/records.ts'
import type { Exchange } from './exchange.ts'

/** Failures whose message concerns only the caller's own request or the hub. */
const OF_THE_CALL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'params_invalid',
  'client_capability_missing',
  'draining',
])

/**
 * A failed call as its caller may see it. Messages name commands, folders, addresses and variables of the server, and
 * quote its stderr; so callers without the role `see` get only the code, and the server's state with that code.
 */
export function seenFailure(
  { code, message, retryAfterSeconds, connectUrl, own }: Failed,
  { userId, seesReason }: { readonly userId: string; readonly seesReason: boolean },
  server: Pick<ServerRecord, 'id' | 'name'>,
  upstreams: Pick<Upstreams, 'status'>,
): HubError {
  const retry = {
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(connectUrl === undefined ? {} : { data: { connectUrl } }),
    ...(own ? { own } : {}),
  }
  if (seesReason || OF_THE_CALL.has(code)) return new HubError(code, message, retry)
  if (connectUrl !== undefined)
    return new HubError(code, `Server "${server.name}" wants you to sign in: open ${connectUrl}`, retry)
  const { state, reason } = upstreams.status(server.id, undefined, userId)
  const why = reason && code === 'server_offline' ? `: ${reason.code}` : ''
  const more = state === 'online' ? ', but a connection for this caller could not be opened' : why
  const what = code === 'server_offline' ? `is ${state}${more}` : `could not answer: ${code}`
  return new HubError(code, `Server "${server.name}" ${what}`, retry)
}

/** An error code of MCP up to 2025-11-25: the person must visit a page before the request can be answered. */
export const URL_ELICITATION_REQUIRED = -32042
const FIRST_WITH_PAGES = '2025-11-25'
/** The requests that may be answered by asking for a visit to a page. */
const ANSWERED_WITH_PAGES: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/**
 * A failure that a person ends at a page, as MCP asks clients to open one; undefined where the client did not say that it can.
 * Modern clients get it as a request for input, since their side translates this error. `id` makes the id of the visit, for legacy clients.
 */
export function pageVisit(
  { method, capabilities, session, modern, pagesDeclined }: Exchange,
  { message, data }: HubError,
  id: () => string,
): RpcError | undefined {
  const url = data?.connectUrl
  const isNew = modern !== undefined || (session !== undefined && session.protocolVersion >= FIRST_WITH_PAGES)
  if (typeof url !== 'string' || !isNew || pagesDeclined || !ANSWERED_WITH_PAGES.has(method)) return undefined
  const { elicitation } = capabilities ?? {}
  if (!isJsonObject(elicitation) || !isJsonObject(elicitation.url)) return undefined
  const visit = { mode: 'url', elicitationId: id(), url, message }
  return { code: URL_ELICITATION_REQUIRED, message, data: { elicitations: [visit] } }
}
