import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { Fields } from '../json/fields.ts'
import { checkName, isNameProblem, nameKey, TAG_CHARACTERS } from '../names.ts'

/** Most tags of one server or group. */
const TAG_COUNT = 20

/** JSON Schema of `tags`, without a description. */
export const TAGS_SCHEMA: JsonObject = {
  type: 'array',
  items: { type: 'string', minLength: 1, maxLength: TAG_CHARACTERS },
  maxItems: TAG_COUNT,
}

/**
 * Parses `tags`, in the order given. A tag is kept as it is written, and is the same as one in other letter case: `EU` and `eu` in
 * one list are a duplicate. An empty list is undefined, as no list is.
 */
export function readTags(fields: Fields): readonly string[] | undefined {
  const list = fields.atMost('tags', TAG_COUNT) ? (fields.array('tags') ?? []) : []
  const seen = new Set<string>()
  const tags = list.flatMap((item: JsonValue, index): string[] => {
    const pointer = `${fields.pointer('tags')}/${index}`
    const checked = checkName('tag', item)
    if (isNameProblem(checked)) fields.errors.push({ pointer, code: checked.code, detail: checked.detail })
    else if (seen.has(checked.key))
      fields.errors.push({ pointer, code: 'duplicate', detail: `The tag "${checked.name}" is in the list twice` })
    else {
      seen.add(checked.key)
      return [checked.name]
    }
    return []
  })
  return tags.length === 0 ? undefined : tags
}

/** True when a thing has all of these tags; letter case is ignored. */
export function hasTags(tags: readonly string[] | undefined, wanted: readonly string[]): boolean {
  if (wanted.length === 0) return true
  const keys = new Set(tags?.map(nameKey))
  return wanted.every(tag => keys.has(nameKey(tag)))
}
