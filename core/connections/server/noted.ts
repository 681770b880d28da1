import { HubError, type WireError } from '../../contract/errors.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import { toWireError } from '../../transport-kit/wire-error.ts'

/** The wire error of a failure; an internal fault of the hub is also logged in full. */
export function noted(log: Pick<PluginLogger, 'error'>, error: unknown): WireError {
  if (!(error instanceof HubError)) log.error('A connection failed by a fault of the hub', { error: String(error) })
  return toWireError(error)
}
