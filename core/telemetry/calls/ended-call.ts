import type { ToolCallRecord } from '../../features/call-records.ts'

/** The record of a tools/call as the parts of the hub count and log it. `error` may contain secrets until it is logged. */
export interface EndedCall extends ToolCallRecord {
  /** The server that was named where a server itself was called and the call was refused before it was sent. */
  readonly calledServer?: { readonly id: string; readonly name: string } | undefined
}

/** True when the call was sent to a server; other calls count without server and duration. */
export function reachedServer({ serverId }: Pick<ToolCallRecord, 'serverId'>): boolean {
  return serverId !== ''
}

/** True for every outcome but `ok`. */
export function isFailedCall({ outcome }: Pick<ToolCallRecord, 'outcome'>): boolean {
  return outcome !== 'ok'
}
