import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** RFC 7396: `null` removes, objects merge member by member, everything else replaces. Neither argument is changed. */
export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  return merge(target, patch) as JsonObject
}

function merge(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch
  const members = new Map<string, JsonValue>(isJsonObject(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key)
    else members.set(key, merge(members.get(key), value))
  }
  // fromEntries defines own members even for `__proto__`, where an assignment would change the prototype.
  return Object.fromEntries(members)
}
