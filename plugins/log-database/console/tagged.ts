import type { LogRecord } from './api.ts'

/** The ids of the servers and groups of each tag, by the tag in lower case. */
export type TaggedIds = ReadonlyMap<string, ReadonlySet<string>>

/** True when a live record is of a server or group with the tag. */
export function hasTagOf({ serverId, groupId }: LogRecord, tag: string, tagged: TaggedIds): boolean {
  const ids = tagged.get(tag.toLowerCase())
  return ids !== undefined && [serverId, groupId].some(id => typeof id === 'string' && ids.has(id))
}
