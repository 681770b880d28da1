import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { itemJson } from '../../domain/tools/catalog-item.ts'
import type { GatedCall } from '../../features/gates.ts'
import { principalKey } from '../scope/paths.ts'
import type { Scope } from '../scope/scope.ts'
import type { Target } from '../scope/scope-types.ts'
import { type Asking, elicitationOf } from './question.ts'

/** A step of the hub's own progress: small, since a server that answers afterwards begins at 0 or 1. */
const STEP = 1e-6

/** The call as gates see it. `params`: the caller's parameters; `sent`: those for the server. */
export function gatedCall(
  exchange: Asking,
  scope: Scope,
  { member, original, item }: Target,
  { params, sent }: Readonly<Record<'params' | 'sent', JsonObject>>,
  signal: AbortSignal,
): GatedCall {
  const { requestId, actor, clientName, clientVersion, clientAddress } = exchange
  const { group, kind } = scope.resolved
  const { id, name, ownerId, ownerName } = member.server
  let steps = 0
  return {
    ...{ requestId, actor, signal, principal: principalKey(actor), path: scope.path },
    ...(kind === 'group'
      ? { group: { id: group.id, name: group.name, ownerId: group.ownerId, ownerName: group.ownerName } }
      : {}),
    server: { id, name, ownerId, ownerName },
    tags: { group: group.tags ?? [], server: member.server.tags ?? [] },
    tool: {
      ...{ name: original, hash: item?.hash ?? '' },
      // The definition is parsed from text, which most calls can do without.
      get annotations() {
        const annotations = item ? itemJson(item).annotations : undefined
        return isJsonObject(annotations) ? annotations : {}
      },
    },
    called: typeof params.name === 'string' ? params.name : original,
    arguments: isJsonObject(sent.arguments) ? sent.arguments : {},
    given: isJsonObject(params.arguments) ? params.arguments : {},
    client: {
      ...(clientName ? { name: clientName } : {}),
      ...(clientVersion ? { version: clientVersion } : {}),
      address: clientAddress,
    },
    elicitation: elicitationOf(exchange),
    sendsAgain: exchange.modern !== undefined,
    progress(message) {
      steps += 1
      exchange.progress?.({ progress: steps * STEP, message })
    },
  }
}
