import type { JsonObject } from '../../contract/json.ts'
import type { GroupRecord } from '../../contract/records.ts'
import { keyIdOf } from '../../domain/ownership.ts'
import type { RefusedCall } from '../../telemetry/log.ts'
import { asHubError } from '../rpc/rpc.ts'
import type { Exchange } from './exchange.ts'

/** Of whom a call came. */
export type CallerOf = Pick<Exchange, 'requestId' | 'clientAddress' | 'clientName' | 'actor'>

/** What is recorded of a tools/call that ended before it was sent. */
export function refusedCall(
  { requestId, clientAddress: client, clientName, actor }: CallerOf,
  group: Pick<GroupRecord, 'id' | 'name'>,
  params: JsonObject | undefined,
  error: unknown,
  durationMs: number,
): RefusedCall {
  const tool = params?.name
  return {
    ...{ requestId, client, clientName, durationMs },
    userId: actor.userId,
    keyId: keyIdOf(actor),
    group: group.name,
    groupId: group.id,
    tool: typeof tool === 'string' ? tool : '',
    code: asHubError(error).code,
  }
}
