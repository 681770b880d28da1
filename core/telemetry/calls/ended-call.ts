import type { ToolCallRecord } from '../../contract/records.ts'

/** The record of a tools/call as the parts of the hub count and log it. `error` holds secrets until it is logged. */
export interface EndedCall extends ToolCallRecord {
  /** The server that was named where a server itself was called and the call was refused before it was sent. */
  readonly calledServer?: { readonly id: string; readonly name: string } | undefined
}

/** Whether the call was sent to a server; a call that was not has neither server nor duration in the numbers. */
export function reachedServer({ serverId }: Pick<ToolCallRecord, 'serverId'>): boolean {
  return serverId !== ''
}

/** Whether it counts as an error: all but `ok` do. */
export function isFailedCall({ outcome }: Pick<ToolCallRecord, 'outcome'>): boolean {
  return outcome !== 'ok'
}
