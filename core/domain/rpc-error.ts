import type { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import { remedyOf } from '../contract/remedies.ts'

/**
 * A hub error as JSON-RPC writes it. `data` carries the code, the request's id, what the error adds, what to do as `hint`, and
 * as `retryAfter` the seconds after which a repetition makes sense: many clients never see HTTP's own header. A hint that
 * belongs to this error, not to its code in general, is part of the message too, since most clients show nothing else.
 */
export function rpcError(error: HubError, requestId: string) {
  const { code, rpcCode, message, retryAfter } = error
  const hint = remedyOf(error)
  const data: JsonObject = {
    ...(error.data as JsonObject | undefined),
    ...(hint === undefined ? {} : { hint }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    code,
    requestId,
  }
  return { code: rpcCode, message: error.hint === undefined ? message : joined(message, error.hint), data }
}

/** Two sentences; messages end without a full stop. */
function joined(message: string, hint: string): string {
  return `${message}${/[.?!]$/.test(message) ? '' : '.'} ${hint}`
}
