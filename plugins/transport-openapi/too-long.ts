import { HubError } from 'patchbay/contract'

/** Whether the guarded fetch gave up because a body was longer than it may be. */
export function isTooLong(error: unknown): error is HubError {
  return error instanceof HubError && error.data?.maxBytes !== undefined
}
