import type { Reader } from '../../store/transact.ts'
import { byText } from '../access.ts'
import { type SubjectId, subjectOf } from '../share-map.ts'
import type { SharedKind, ShareRecord } from '../shares-api.ts'
import { subjectText } from './subjects.ts'

/** A share with the names of its subject and its giver. */
export interface ShareRow {
  readonly id: string
  readonly subject: SubjectId
  readonly record: ShareRecord
}

/** The shares of a thing, sorted by subject. */
export async function shareRows(db: Reader, kind: SharedKind, thingId: string): Promise<readonly ShareRow[]> {
  const rows = await db
    .selectFrom('share')
    .leftJoin('user as subject', 'subject.id', 'share.user_id')
    .leftJoin('team', 'team.id', 'share.team_id')
    .leftJoin('user as giver', 'giver.id', 'share.granted_by')
    .select(['share.id', 'share.user_id', 'share.team_id', 'share.role', 'share.origin', 'share.created_at'])
    .select(['subject.name as user_name', 'subject.number', 'team.name as team_name', 'giver.name as giver_name'])
    .where(`share.${kind}_id`, '=', thingId)
    .execute()
  return rows
    .map(row => {
      const subject = subjectOf(row)
      const name = (subject.kind === 'user' ? row.user_name : row.team_name) ?? `#${row.number}`
      const record: ShareRecord = {
        subject: subjectText({ kind: subject.kind, name }),
        role: row.role,
        origin: row.origin,
        ...(row.giver_name === null ? {} : { grantedBy: row.giver_name }),
        createdAt: row.created_at,
      }
      return { id: row.id, subject, record }
    })
    .sort((one, other) => byText(one.record.subject, other.record.subject))
}
