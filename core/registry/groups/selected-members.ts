import type { GroupRecord } from '../../contract/records.ts'
import type { ParsedGroupBody } from '../../domain/group-body.ts'
import { pointerToken } from '../../domain/json/json-pointer.ts'
import { quoteName } from '../../domain/names.ts'
import { validationError } from '../../domain/validation-error.ts'
import type { Reader } from '../../store/transact.ts'
import type { Owner } from '../owners.ts'
import { findMembers, type MemberView, refuseTooManyMembers } from './group-members.ts'
import { asNewMember, type KnownGroup, type NewMember } from './group-rows.ts'

/**
 * The members of a group with another selector. Members whose servers the sender does not see stay as they are, with their
 * values. Throws what `findMembers` does, and `validation_failed` for a value that such a member has.
 */
export async function reselected(
  db: Reader,
  owner: Owner,
  { selector }: Pick<ParsedGroupBody, 'selector'>,
  { members: stored }: Pick<KnownGroup, 'members'>,
  options: MemberView & { readonly seen: ReadonlySet<string> },
): Promise<readonly NewMember[]> {
  const named = selector ? { members: [], selector } : { members: [] }
  const found = new Map((await findMembers(db, owner, named, options)).map(member => [member.server_id, member]))
  const kept = stored.map(row => {
    const { server_id, selected_by } = row
    const value = found.get(server_id)?.selected_by ?? (options.seen.has(server_id) || !selector ? null : selected_by)
    return { ...asNewMember(row), selected_by: value }
  })
  const present = new Set(stored.map(({ server_id }) => server_id))
  const members = [...kept, ...[...found.values()].filter(({ server_id }) => !present.has(server_id))]
  refuseTooManyMembers(members.length)
  refuseSharedValue(members)
  return members
}

/** A default of which the sender does not see the member stays while that does. `seen`: the group as the sender sees it. */
export function withUnseenDefault<Body extends Pick<ParsedGroupBody, 'selector'>>(
  body: Body,
  after: readonly Pick<NewMember, 'selected_by'>[],
  seen: Pick<GroupRecord, 'selector' | 'members'>,
): Body {
  const { selector } = body
  const preset = seen.selector?.default
  if (!selector || preset === undefined || selector.default !== undefined) return body
  const isSeen = seen.members.some(({ selectedBy }) => selectedBy === preset)
  if (isSeen || !after.some(({ selected_by }) => selected_by === preset)) return body
  return { ...body, selector: { ...selector, default: preset } }
}

/** Throws `validation_failed` when two members have the same value of the selector. */
export function refuseSharedValue(members: readonly NewMember[]): void {
  const values = members.flatMap(({ selected_by }) => selected_by ?? [])
  const twice = values.find((value, at) => values.indexOf(value) !== at)
  if (twice === undefined) return
  const detail = `Another member of the group has the value ${quoteName(twice)}`
  const error = { pointer: `#/selector/members/${pointerToken(twice)}`, code: 'duplicate', detail } as const
  throw validationError([error], 'The group cannot be saved')
}
