import { readAll, session } from 'patchbay/console'
import type { TaggedIds } from './tagged.ts'
import type { LogView } from './view.ts'

interface Tagged {
  readonly id: string
  readonly tags?: readonly string[]
}

/** The servers and groups that the user sees; with `tag` those that have it. Throws ApiError. */
export async function seenThings(tag: string | undefined, signal?: AbortSignal): Promise<readonly Tagged[]> {
  const query = { scope: session.isAdmin ? 'all' : 'visible', tag }
  const found = await Promise.all(['/api/servers', '/api/groups'].map(path => readAll<Tagged>(path, query, signal)))
  return found.flat()
}

/** True when a view has a tag, as a filter or in its query. */
export function isTagged({ filters, parsed }: LogView): boolean {
  return filters.tag !== undefined || parsed.terms.some(({ field }) => field === 'tag')
}

/** The ids for the tags of a view, with which live records are compared: records have no tags. Throws ApiError. */
export async function taggedIds({ filters, parsed }: LogView, signal: AbortSignal): Promise<TaggedIds> {
  const written = parsed.terms.filter(({ field }) => field === 'tag').flatMap(({ values }) => values)
  const tags = new Set([...(filters.tag === undefined ? [] : [filters.tag]), ...written].map(tag => tag.toLowerCase()))
  const found = [...tags].map(async tag => {
    return [tag, new Set((await seenThings(tag, signal)).map(({ id }) => id))] as const
  })
  return new Map(await Promise.all(found))
}
