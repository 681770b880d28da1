import type { JsonObject } from '../../contract/json.ts'
import type { EndedCall } from '../../telemetry/calls/ended-call.ts'
import type { UnsentEnd } from './call-records.ts'
import type { Routed } from './forwarder.ts'
import type { MiddlewareTrace } from './middleware-chain.ts'
import { targetOf } from './middleware-context.ts'

/** Outcome of a call as its caller sees it. */
export type CallEnd = Pick<EndedCall, 'outcome' | 'status' | 'error'>

/** Outcome of a call that a middleware ended; undefined if none did. */
export function blockedBy({ by }: MiddlewareTrace, end: CallEnd): (CallEnd & { readonly plugin: string }) | undefined {
  return by === undefined ? undefined : { ...end, plugin: by }
}

/** For the record of a call that middlewares ended before it was dispatched: who did, and the server that was meant. */
export function outsideOf(
  routed: Routed,
  params: JsonObject | undefined,
  { by }: MiddlewareTrace,
): Partial<Pick<UnsentEnd, 'outcome' | 'plugin' | 'calledServer'>> {
  if (by === undefined) return {}
  const server = targetOf(routed, params)?.member.server
  const place = server ? { calledServer: { id: server.id, name: server.name } } : {}
  return { outcome: 'blocked', plugin: by, ...place }
}

/** The record of a call with the plugins that were skipped. */
export function withSkipped(call: EndedCall, { skipped }: MiddlewareTrace): EndedCall {
  if (skipped.size === 0) return call
  const notes = [...skipped].map(name => `The plugin ${JSON.stringify(name)} failed and was skipped`)
  return { ...call, note: [...(call.note === undefined ? [] : [call.note]), ...notes].join('; ') }
}
