import type { JsonObject } from '../../contract/json.ts'
import { upstreamName } from '../../domain/tools/catalog-item.ts'
import { shapeArguments } from '../../domain/tools/tool-shape.ts'
import type { CallTrace } from '../../features/tracing.ts'
import { CHAIN_HEADER } from '../../secrets/hub-marks.ts'
import { isPlainObject } from '../rpc/rpc.ts'
import type { ScopeMember, Target } from '../scope/scope-types.ts'

/** The parameters of a tool call that go to its server. `task` stays; the task code decides whether it applies. */
export function toolParams(given: JsonObject, target: Target): JsonObject {
  const params = withoutNullArguments(given)
  const { rules } = target
  const name = sentName(target)
  if (!rules) return params.name === name ? params : { ...params, name }
  const callers = isPlainObject(params.arguments) ? params.arguments : undefined
  return { ...params, name, arguments: shapeArguments(callers, rules) }
}

/** The name by which a request names the target's tool or prompt at its server. */
export function sentName({ item, original }: Pick<Target, 'item' | 'original'>): string {
  return item ? upstreamName(item) : original
}

/** The parameters with the place of the hub's own span in the trace. */
export function traced(params: JsonObject, trace: CallTrace | undefined): JsonObject {
  if (!trace) return params
  const meta = isPlainObject(params._meta) ? params._meta : {}
  return { ...params, _meta: { ...meta, traceparent: trace.traceparent } }
}

/** Some clients send null for no arguments, which no schema of MCP allows and many servers reject. */
export function withoutNullArguments(params: JsonObject): JsonObject {
  if (params.arguments !== null) return params
  const { arguments: _, ...rest } = params
  return rest
}

/** The caller's headers that this member asks for and may get, and the list of hubs that the call passed. */
export function wantedHeaders(
  member: ScopeMember,
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const chain = headers[CHAIN_HEADER]
  const wanted: Record<string, string> = chain === undefined ? {} : { [CHAIN_HEADER]: chain }
  for (const name of member.passedHeaders) {
    const value = headers[name]
    if (value !== undefined) wanted[name] = value
  }
  return wanted
}
