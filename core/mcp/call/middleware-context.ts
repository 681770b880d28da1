import type { JsonObject } from '../../contract/json.ts'
import type { McpContext } from '../../contract/points.ts'
import { itemJson } from '../../domain/tools/catalog-item.ts'
import { isPlainObject } from '../rpc/rpc.ts'
import { findResource } from '../scope/resource-targets.ts'
import type { Target } from '../scope/scope-types.ts'
import { chosenTarget } from '../selection/selection.ts'
import type { Routed } from './forwarder.ts'

/** The context that a middleware gets for a request with these parameters. */
export function middlewareContext(routed: Routed, params: JsonObject | undefined): McpContext {
  const { exchange, scope } = routed
  const { session, clientName, clientVersion, clientAddress, method } = exchange
  const { id, name, tags = [] } = scope.resolved.group
  const target = targetOf(routed, params)
  return {
    path: scope.path,
    group: { id, name },
    tags: { group: tags, server: target?.member.server.tags ?? [] },
    ...(session ? { session: session.id } : {}),
    client: {
      ...(clientName ? { name: clientName } : {}),
      ...(clientVersion ? { version: clientVersion } : {}),
      address: clientAddress,
    },
    ...(target ? { server: serverOf(target) } : {}),
    ...(target && method === 'tools/call' ? { tool: toolOf(target) } : {}),
  }
}

/** The item that these parameters name in the scope; undefined if there is none, or if it is a plugin's own tool. */
export function targetOf({ exchange, scope, inner }: Routed, params: JsonObject | undefined): Target | undefined {
  const { name, uri } = params ?? {}
  switch (exchange.method) {
    case 'tools/call': {
      if (typeof name !== 'string' || (!inner && scope.catalog.added.sets.has(name))) return undefined
      return chosenTarget(scope.tool(name, exchange.capabilities), params)
    }
    case 'prompts/get':
      return typeof name === 'string' ? chosenTarget(scope.prompt(name), params) : undefined
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return typeof uri === 'string' ? findResource(scope, uri) : undefined
    default:
      return undefined
  }
}

function serverOf({ member: { server } }: Target): NonNullable<McpContext['server']> {
  const { id, name, ownerId, ownerName } = server
  return { id, name, ownerId, ownerName }
}

function toolOf({ original, item }: Target): NonNullable<McpContext['tool']> {
  const annotations = item ? itemJson(item).annotations : undefined
  return { name: original, annotations: isPlainObject(annotations) ? annotations : {} }
}
