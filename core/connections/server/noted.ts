import { HubError, type WireError } from '../../contract/errors.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import { toWireError } from '../../transport-kit/wire-error.ts'

/** What a failure is told as; a fault that is the hub's own goes to the log with all that it says. */
export function noted(log: Pick<PluginLogger, 'error'>, error: unknown): WireError {
  if (!(error instanceof HubError)) log.error('A connection failed by a fault of the hub', { error: String(error) })
  return toWireError(error)
}
