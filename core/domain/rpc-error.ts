import type { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import { remedyOf } from '../contract/remedies.ts'
import { cutShort, cutTexts, LONGEST_ERROR_TEXT } from './cut-short.ts'

/**
 * A hub error as a JSON-RPC error. `data` has the code, the request id, the error's own data, the remedy as `hint`, and
 * the seconds to wait as `retryAfter`, because many clients never see the HTTP header. A hint specific to this error is
 * also appended to the message, since most clients show nothing else.
 */
export function rpcError(error: HubError, requestId: string) {
  const { code, rpcCode, retryAfter } = error
  const message = cutShort(error.message, LONGEST_ERROR_TEXT)
  const hint = remedyOf(error)
  const data: JsonObject = {
    ...(error.data === undefined ? {} : cutTexts(error.data as JsonObject)),
    ...(hint === undefined ? {} : { hint }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    code,
    requestId,
  }
  return { code: rpcCode, message: error.hint === undefined ? message : joined(message, error.hint), data }
}

/** Joins two sentences; messages have no full stop at the end. */
function joined(message: string, hint: string): string {
  return `${message}${/[.?!]$/.test(message) ? '' : '.'} ${hint}`
}
