import { keyIdOf } from '../../domain/ownership.ts'
import type { RefusedCall } from '../../telemetry/log.ts'
import { asHubError } from '../rpc/rpc.ts'
import type { Outcome } from './exchange.ts'
import type { Routed } from './forwarder.ts'

/** Runs a call, and passes it to `record` when it throws before it was sent. */
export function recordingRefusal(
  record: ((call: RefusedCall) => void) | undefined,
  now: () => number,
  { exchange, scope }: Routed,
  tool: unknown,
  run: () => Outcome | Promise<Outcome>,
): Outcome | Promise<Outcome> {
  const startedMs = now()
  try {
    return run()
  } catch (error) {
    record?.({
      requestId: exchange.requestId,
      client: exchange.clientAddress,
      userId: exchange.actor.userId,
      keyId: keyIdOf(exchange.actor),
      clientName: exchange.clientName,
      group: scope.resolved.group.name,
      groupId: scope.resolved.group.id,
      tool: typeof tool === 'string' ? tool : '',
      durationMs: now() - startedMs,
      code: asHubError(error).code,
    })
    throw error
  }
}
