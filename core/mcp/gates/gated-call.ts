import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { itemJson } from '../../domain/tools/catalog-item.ts'
import type { GatedCall } from '../../features/gates.ts'
import { principalKey } from '../scope/paths.ts'
import type { Scope } from '../scope/scope.ts'
import type { Target } from '../scope/scope-types.ts'
import { type Asking, elicitationOf } from './question.ts'

/** A step of the hub's own progress: small, since a server that answers afterwards begins at 0 or 1. */
const STEP = 1e-6

/**
 * The call as gates see it. `params`: the caller's parameters; `sent`: those for the server; `seen`: the same after content filters,
 * as they will be sent.
 */
export function gatedCall(
  exchange: Asking,
  scope: Scope,
  { member, original, item }: Target,
  { params, sent, seen }: Readonly<Record<'params' | 'sent' | 'seen', JsonObject>>,
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
    arguments: argumentsOf(seen),
    given: givenOf(argumentsOf(params), argumentsOf(sent), argumentsOf(seen)),
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

function argumentsOf(params: JsonObject): JsonObject {
  return isJsonObject(params.arguments) ? params.arguments : {}
}

/**
 * The arguments after content filters (`seen`) that came from the caller. A value that a pinned one has replaced is not shown, as no
 * filter has looked at it. None are shown when a filter has renamed one that the hub added.
 */
function givenOf(given: JsonObject, sent: JsonObject, seen: JsonObject): JsonObject {
  const added = new Set(Object.keys(sent).filter(name => !isEqual(given[name], sent[name])))
  for (const name of added) if (!(name in seen)) return {}
  return Object.fromEntries(Object.entries(seen).filter(([name]) => !added.has(name)))
}

function isEqual(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other)
}
