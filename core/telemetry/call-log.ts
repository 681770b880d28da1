import { levelOfOutcome } from '../domain/log/call-outcome.ts'
import type { TallyKey } from '../features/log-store.ts'
import type { Redactor } from '../secrets/redact.ts'
import { type EndedCall, isFailedCall, reachedServer } from './calls/ended-call.ts'
import type { WriteCall } from './folding/folded-calls.ts'
import type { LogLevels } from './levels.ts'
import { cut } from './record-fields.ts'

/** The component of the records of calls. */
export const CALLS = 'mcp'

/** Dependencies of `CallLog`. */
export interface CallLogParts {
  readonly levels: Pick<LogLevels, 'allows'>
  readonly redactor: Pick<Redactor, 'text'>
  readonly tally: (key: TallyKey) => void
  readonly write: WriteCall
}

/** Writes and counts the record of each tools/call. */
export class CallLog {
  readonly #parts: CallLogParts

  constructor(parts: CallLogParts) {
    this.#parts = parts
  }

  /** `record.error` is redacted and cut. */
  add(record: EndedCall): void {
    if (reachedServer(record)) this.#sent(record)
    else this.#unsent(record)
  }

  /** The owner of the server and the caller may read it. */
  #sent(record: EndedCall): void {
    const { server, tool, status, outcome, userId, serverId, ownerId } = record
    const level = levelOfOutcome(outcome)
    const code = status === 'success' ? '' : status
    const isOwn = userId === ownerId
    const failed = isFailedCall(record)
    const caller = isOwn ? '' : userId
    this.#parts.tally({ level, isCall: true, failed, outcome, owner: ownerId, caller, serverId, server, tool, code })
    if (!this.#parts.levels.allows(level, CALLS, serverId)) return
    // Not redacted: the names identify the call.
    const fields = {
      component: CALLS,
      server: cut(server),
      serverId,
      tool: cut(tool),
      duration: Math.round(record.durationMs),
      status,
      outcome,
      code: status === 'success' || status === 'error' ? undefined : status,
      error: record.error,
      note: record.note,
      plugin: record.plugin,
      requestId: record.requestId,
      userId,
      keyId: record.keyId,
      keyLabel: record.keyLabel,
      client: record.client,
      clientName: record.clientName || undefined,
      clientVersion: record.clientVersion,
      traceId: record.traceId,
      group: cut(record.group),
      groupId: record.groupId || undefined,
    }
    this.#parts.write(level, fields, isOwn ? ownerId : `${ownerId},${userId}`, ownerId)
  }

  /** Only the caller may read it. */
  #unsent(record: EndedCall): void {
    const { userId, status, outcome, tool, group, calledServer, plugin } = record
    const level = levelOfOutcome(outcome)
    const failed = isFailedCall(record)
    // The tool's name is the caller's: any number of different ones.
    const nowhere = { caller: '', serverId: '', server: '', tool: '' }
    const code = status === 'success' ? '' : status
    this.#parts.tally({ level, isCall: true, failed, outcome, owner: userId, code, ...nowhere })
    if (!this.#parts.levels.allows(level, CALLS, undefined)) return
    // The name comes from the caller: it may contain anything.
    const named = calledServer ? { server: cut(calledServer.name), serverId: calledServer.id } : undefined
    const place =
      named && plugin === undefined ? named : { ...named, group: cut(group), groupId: record.groupId || undefined }
    const fields = {
      component: CALLS,
      tool: cut(this.#parts.redactor.text(tool)),
      ...place,
      duration: Math.round(record.durationMs),
      status,
      outcome,
      code: status === 'success' || status === 'error' ? undefined : status,
      error: record.error,
      plugin,
      note: record.note,
      requestId: record.requestId,
      userId,
      keyId: record.keyId,
      keyLabel: record.keyLabel,
      client: record.client,
      clientName: record.clientName || undefined,
      clientVersion: record.clientVersion,
    }
    this.#parts.write(level, fields, userId, userId)
  }
}
