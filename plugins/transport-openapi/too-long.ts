import { HubError } from 'patchbay/contract'

/** True when the guarded fetch failed because a body was longer than its limit. */
export function isTooLong(error: unknown): error is HubError {
  return error instanceof HubError && error.data?.maxBytes !== undefined
}
