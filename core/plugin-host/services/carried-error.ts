import { HubError } from '../../contract/errors.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import { toWireError } from '../../transport-kit/wire-error.ts'

/** An error as passed between a plugin and the hub: each side may log the other's message, but not send it on. */
export function carriedError(error: unknown): WireError {
  if (error instanceof HubError)
    return { ...toWireError(error), ...(error.hint === undefined ? {} : { hint: error.hint }) }
  return { code: 'internal', message: error instanceof Error ? error.message : String(error) }
}
