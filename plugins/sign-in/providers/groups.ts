import { isJsonObject, type JsonValue } from 'patchbay/contract'
import { valueAt } from 'patchbay/plugin-kit'

/** Most groups that are read from a claim. */
export const MOST_GROUPS = 200
const LONGEST_GROUP = 256

/** A claim with groups, as a provider sent it. */
export interface GroupsClaim {
  /** Its name in the settings. */
  readonly name: string
  /** Undefined: it was not sent. */
  readonly value: unknown
  /** The provider sent a link instead, as Entra does for users in many groups. */
  readonly isElsewhere: boolean
}

/** The claim of this name, or at this JSON Pointer. */
export function groupsClaim(name: string, claims: object): GroupsClaim {
  const all = claims as Record<string, unknown>
  const value = name.startsWith('/')
    ? valueAt(all as JsonValue, name)
    : Object.hasOwn(all, name)
      ? all[name]
      : undefined
  const names = all._claim_names
  return { name, value, isElsewhere: isJsonObject(names) && Object.hasOwn(names, name) }
}

/** The groups of a claim: a list, or the text of one. Undefined for anything else. Entries that are no names are left out. */
export function groupsOf({ value }: Pick<GroupsClaim, 'value'>): readonly string[] | undefined {
  if (typeof value === 'string') return groupsOf({ value: [value] })
  if (!Array.isArray(value)) return undefined
  const isName = (one: unknown): one is string => typeof one === 'string' && one !== '' && one.length <= LONGEST_GROUP
  return [...new Set(value.slice(0, MOST_GROUPS).filter(isName))]
}

/** The reason why a claim is not read, or not as a whole; undefined for a claim without anything to say about. */
export function groupsProblem({ name, value, isElsewhere }: GroupsClaim): string | undefined {
  if (value === undefined && isElsewhere)
    return `has sent no claim "${name}" but a link to it ("_claim_names"), as Entra does for users in more than 200 groups: choose "Groups assigned to the application" there. Teams stay as they are`
  if (value === undefined) return `has sent no claim "${name}" of groups: teams stay as they are`
  if (typeof value !== 'string' && !Array.isArray(value))
    return `has sent a claim "${name}" that is no list of groups: teams stay as they are`
  if (typeof value !== 'string' && value.length > MOST_GROUPS)
    return `has sent more than ${MOST_GROUPS} groups in the claim "${name}", of which the first ${MOST_GROUPS} count`
  if (typeof value !== 'string' && value.some(one => typeof one !== 'string'))
    return `has sent entries in the claim "${name}" that are no texts, which are left out`
  return undefined
}
