import { api, segment } from '../../api/client.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { refOf, type ServerRecord } from '../../api/types.ts'
import type { Draft } from './draft.ts'

/** Result of saving the drafts. */
export interface Saved {
  readonly records: readonly ServerRecord[]
  /** By the position of a draft. */
  readonly problems: ReadonlyMap<number, ApiError>
}

/** Saves each chosen draft on its own: one that is refused keeps no other from being saved. */
export async function saveDrafts(drafts: readonly Draft[]): Promise<Saved> {
  const records: ServerRecord[] = []
  const problems = new Map<number, ApiError>()
  for (const [at, draft] of drafts.entries()) {
    if (!draft.taken) continue
    try {
      records.push(await save(draft))
    } catch (error) {
      problems.set(at, asApiError(error))
    }
  }
  return { records, problems }
}

async function save(draft: Draft): Promise<ServerRecord> {
  const body = draft.body()
  const { ref } = draft.verdict
  const replaces = draft.verdict.verdict === 'exists' && draft.ifExists === 'replace' && ref !== undefined
  if (!replaces) return api.post<ServerRecord>('/api/servers', { body })
  return api.put<ServerRecord>(`/api/servers/${segment(ref)}`, { body })
}

/** Path of a saved server's page. */
export function pathOf(record: ServerRecord): string {
  return `/servers/${segment(refOf(record))}`
}
