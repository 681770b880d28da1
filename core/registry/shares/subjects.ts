import { HubError } from '../../contract/errors.ts'
import { nameKey, quoteName } from '../../domain/names.ts'
import type { Reader } from '../../store/transact.ts'
import type { SubjectId } from '../share-map.ts'

/** A user or a team by its name. */
export interface NamedSubject extends SubjectId {
  readonly name: string
}

/** `user:ada` or `team:crew`. */
export function subjectText({ kind, name }: Pick<NamedSubject, 'kind' | 'name'>): string {
  return `${kind}:${name}`
}

/** Splits `user:ada`; undefined for a text of another form. */
function parseSubject(text: string): Pick<NamedSubject, 'kind' | 'name'> | undefined {
  const [, kind, name] = /^(user|team):(.+)$/su.exec(text) ?? []
  return kind === undefined || name === undefined ? undefined : { kind: kind === 'team' ? 'team' : 'user', name }
}

/** Throws `user_not_found`, `team_not_found`, and `share_not_found` for a text of another form. */
export async function findSubject(db: Reader, text: string): Promise<NamedSubject> {
  const parsed = parseSubject(text)
  if (!parsed) {
    throw new HubError('share_not_found', `Nothing can be shared with ${quoteName(text)}`, {
      hint: 'Write user:name or team:name.',
    })
  }
  const { kind } = parsed
  const row = await db
    .selectFrom(kind)
    .select(['id', 'name'])
    .where('name_key', '=', nameKey(parsed.name))
    .executeTakeFirst()
  if (row) return { kind, id: row.id, name: row.name ?? '' }
  throw new HubError(`${kind}_not_found`, `There is no ${kind} ${quoteName(parsed.name)}`)
}
