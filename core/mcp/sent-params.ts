import type { JsonObject } from '../contract/json.ts'
import { shapeArguments } from '../domain/tool-shape.ts'
import type { Target } from './merge.ts'
import { isPlainObject } from './rpc.ts'
import type { ScopeMember } from './scope-types.ts'

/** Task augmentation is left off: the hub does not offer tasks, and without that offer it has no meaning. */
export function toolParams(given: JsonObject, { original, rules }: Target): JsonObject {
  const params = withoutNullArguments(given)
  if (params.task === undefined && !rules) return params.name === original ? params : { ...params, name: original }
  const { task: _, ...rest } = params
  if (!rules) return { ...rest, name: original }
  const callers = isPlainObject(params.arguments) ? params.arguments : undefined
  return { ...rest, name: original, arguments: shapeArguments(callers, rules) }
}

/** Some clients write null for no arguments, which no schema of MCP allows and many servers refuse. */
export function withoutNullArguments(params: JsonObject): JsonObject {
  if (params.arguments !== null) return params
  const { arguments: _, ...rest } = params
  return rest
}

/** Those of the caller's headers that this member asks for and may have. */
export function wantedHeaders(
  member: ScopeMember,
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const wanted: Record<string, string> = {}
  for (const name of member.passedHeaders) {
    const value = headers[name]
    if (value !== undefined) wanted[name] = value
  }
  return wanted
}
