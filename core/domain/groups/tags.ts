import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { Fields } from '../json/fields.ts'
import { checkName, isNameProblem, nameKey, quoteName, TAG_CHARACTERS } from '../names.ts'

/** Most tags of one server or group. */
export const TAG_COUNT = 20

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

/** The tags of another hub that fit here; `problem` says why the others do not. */
export function fittingTags(written: JsonValue): { readonly tags: readonly string[]; readonly problem?: string } {
  if (!Array.isArray(written)) return { tags: [], problem: 'The tags are left out: they are not a list' }
  const tags = new Map<string, string>()
  const problems: string[] = []
  for (const item of written) {
    const checked = checkName('tag', item)
    if (isNameProblem(checked)) problems.push(checked.detail)
    else if (tags.has(checked.key)) continue
    else if (tags.size < TAG_COUNT) tags.set(checked.key, checked.name)
    else problems.push(`There are at most ${TAG_COUNT} tags, and ${quoteName(checked.name)} is one more`)
  }
  const [first] = problems
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
  return { tags: [...tags.values()], ...(first === undefined ? {} : { problem: `A tag is left out${more}: ${first}` }) }
}

/** True when a thing has at least one of these tags; letter case is ignored. */
export function hasAnyTag(tags: readonly string[], wanted: readonly string[]): boolean {
  const keys = new Set(tags.map(nameKey))
  return wanted.some(tag => keys.has(nameKey(tag)))
}

/** True when a thing has all of these tags; letter case is ignored. */
export function hasTags(tags: readonly string[] | undefined, wanted: readonly string[]): boolean {
  if (wanted.length === 0) return true
  const keys = new Set(tags?.map(nameKey))
  return wanted.every(tag => keys.has(nameKey(tag)))
}
