import type { UpstreamReply } from '../../connections/api.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { GroupRecord } from '../../contract/records.ts'
import type { JsonText } from '../../domain/json/long-text.ts'
import { outcomeOfCode } from '../../domain/log/call-outcome.ts'
import { keyIdOf, keyLabelOf } from '../../domain/ownership.ts'
import { TimeTexts } from '../../domain/timestamp.ts'
import type { CallOutcome } from '../../features/call-records.ts'
import type { EndedCall } from '../../telemetry/calls/ended-call.ts'
import { asHubError } from '../rpc/rpc.ts'
import type { ExchangeTarget } from '../scope/scope-types.ts'
import { errorText, errorTextOfResult } from './error-text.ts'
import type { Exchange, Outcome } from './exchange.ts'

/** The caller of a call, with client and credential. */
export type CallerOf = Pick<Exchange, 'requestId' | 'clientAddress' | 'clientName' | 'clientVersion' | 'actor'>

/** The group at whose path a call was made. */
export type CalledGroup = Pick<GroupRecord, 'id' | 'name'>

/** Holds the record of a call back while middlewares can still change how it ends. */
export interface HeldRecord {
  call?: EndedCall
}

/** A call that was sent to a server. */
export interface SentCall {
  readonly caller: CallerOf
  readonly group: CalledGroup
  readonly target: Pick<ExchangeTarget, 'member'> & { readonly original: string }
  readonly startedMs: number
  readonly endedMs: number
  readonly traceId: string | undefined
}

/** Outcome of a call that reached no server. */
export type UnsentEnd = Pick<EndedCall, 'outcome' | 'status' | 'error' | 'calledServer' | 'plugin'>

/** Makes the one record of each tools/call. */
export class CallRecords {
  readonly #record: (call: EndedCall) => void
  readonly #times = new TimeTexts()

  constructor(record: (call: EndedCall) => void) {
    this.#record = record
  }

  /** A call whose reply came. `outcome`: what the caller gets, which names a failure as the caller may see it. */
  sent(
    { caller, group, target, startedMs, endedMs, traceId }: SentCall,
    reply: UpstreamReply,
    outcome: Outcome,
    held: HeldRecord | undefined,
  ): void {
    const { actor } = caller
    const { server } = target.member
    const ended = endOf(reply)
    const call: EndedCall = {
      at: this.#times.of(startedMs),
      requestId: caller.requestId,
      client: caller.clientAddress,
      clientName: caller.clientName,
      clientVersion: caller.clientVersion,
      userId: actor.userId,
      userName: actor.name,
      ownerId: server.ownerId,
      serverId: server.id,
      server: server.name,
      group: group.name,
      groupId: group.id,
      tool: target.original,
      durationMs: endedMs - startedMs,
      resultBytes: reply.kind === 'result' ? bytesOf(reply.text) : undefined,
      outcome: ended,
      status: callStatus(reply),
      error: ended === 'ok' || server.logging?.callErrors === false ? undefined : saidOf(reply, outcome),
      note: reply.kind === 'result' ? reply.note : undefined,
      traceId,
      keyId: keyIdOf(actor),
      keyLabel: keyLabelOf(actor),
    }
    const refused = reply.kind === 'result' ? reply.refused : undefined
    const whole: EndedCall = refused
      ? { ...call, outcome: 'blocked', status: refused.code, plugin: refused.plugin }
      : call
    if (held) held.call = whole
    else this.#record(whole)
  }

  /** A call that reached no server, since the hub refused it or a plugin answered it. */
  unsent(
    caller: CallerOf,
    group: CalledGroup,
    params: JsonObject | undefined,
    end: UnsentEnd,
    startedMs: number,
    durationMs: number,
    held?: HeldRecord,
  ): void {
    const { requestId, clientAddress: client, clientName, clientVersion, actor } = caller
    const tool = params?.name
    const call: EndedCall = {
      ...{ at: this.#times.of(startedMs), requestId, client, clientName, clientVersion },
      ...{ userId: actor.userId, userName: actor.name, ownerId: actor.userId },
      ...{ serverId: '', server: '', group: group.name, groupId: group.id },
      tool: typeof tool === 'string' ? tool : '',
      durationMs,
      ...end,
      ...{ keyId: keyIdOf(actor), keyLabel: keyLabelOf(actor) },
    }
    if (held) held.call = call
    else this.#record(call)
  }

  /** Records a call that was held back; `blocked`: a middleware ended it otherwise than its reply did. */
  release(call: EndedCall, blocked?: Pick<EndedCall, 'status' | 'error' | 'plugin'>): void {
    this.#record(blocked ? { ...call, ...blocked, outcome: 'blocked' } : call)
  }
}

/** Outcome of a call that failed with this error. */
export function failedWith(error: unknown): Pick<EndedCall, 'outcome' | 'status' | 'error'> {
  const { code, message } = asHubError(error)
  return { outcome: outcomeOfCode(code), status: code, error: errorText(message) }
}

/** Outcome of a call that the hub answered itself. */
export function answeredWith(outcome: Outcome, isError: boolean): Pick<EndedCall, 'outcome' | 'status' | 'error'> {
  if (outcome.kind === 'failed') return failedWith(outcome.error)
  if (outcome.kind === 'cancelled') return { outcome: 'cancelled', status: 'cancelled' }
  if (outcome.kind !== 'result' || !isError) return { outcome: 'ok', status: 'success' }
  return { outcome: 'tool_error', status: 'error', error: errorTextOfResult(outcome.resultText) }
}

function bytesOf(text: JsonText): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : text.byteLength
}

function endOf(reply: UpstreamReply): CallOutcome {
  switch (reply.kind) {
    case 'result':
      return reply.isError ? 'tool_error' : 'ok'
    case 'task':
      return 'ok'
    case 'failed':
      return outcomeOfCode(reply.code)
    case 'cancelled':
      return 'cancelled'
    default:
      return 'upstream_error'
  }
}

/** The status of a call in its record and its trace. */
export function callStatus(reply: UpstreamReply): string {
  if (reply.kind === 'result') return reply.isError ? 'error' : 'success'
  if (reply.kind === 'task') return 'success'
  return reply.kind === 'failed' ? reply.code : reply.kind
}

/** Error text as the caller got it, since the text of a hub failure may quote the server's configuration. */
function saidOf(reply: UpstreamReply, outcome: Outcome): string | undefined {
  if (reply.kind === 'result') return errorTextOfResult(reply.text)
  if (reply.kind === 'error') return errorText(reply.error.message)
  return outcome.kind === 'failed' ? errorText(outcome.error.message) : undefined
}
