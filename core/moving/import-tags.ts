import type { JsonObject } from '../contract/json.ts'
import { fittingTags } from '../domain/groups/tags.ts'

/** The body with the tags that fit here: a tag of another hub must not keep its server or group from being imported. */
export function withFittingTags(body: JsonObject, warnings: string[]): JsonObject {
  const { tags: written, ...rest } = body
  if (written === undefined || written === null) return rest
  const { tags, problem } = fittingTags(written)
  if (problem !== undefined) warnings.push(problem)
  return tags.length === 0 ? rest : { ...rest, tags: [...tags] }
}
