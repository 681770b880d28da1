import { type Reader, read } from '../../store/transact.ts'
import type { RegistryDeps } from '../context.ts'
import { selectGroups } from './group-rows.ts'

/** Scope of the settings that hold, by group id, the owner as the settings file names it; plain entries have none. */
export const FILE_OWNERS = 'internal:group-owner'

/** The owner of a group of the settings file, as the file names it; undefined for a plain entry. */
export async function groupOwnerInFile(db: Reader, groupId: string): Promise<string | undefined> {
  const setting = await db
    .selectFrom('setting')
    .select('value')
    .where('scope', '=', FILE_OWNERS)
    .where('key', '=', groupId)
    .executeTakeFirst()
  return setting && (JSON.parse(setting.value) as string)
}

/** The groups of the settings file that this server is a member of, by the words of the file. */
export function fileGroupsWith(
  deps: Pick<RegistryDeps, 'store'>,
  serverId: string,
): Promise<readonly { readonly owner: string | undefined; readonly name: string }[]> {
  return read(deps.store, async db => {
    const groups = await selectGroups(db)
      .innerJoin('group_member', 'group_member.group_id', 'server_group.id')
      .where('group_member.server_id', '=', serverId)
      .where('server_group.origin', '=', 'file')
      .execute()
    return Promise.all(groups.map(async ({ id, name }) => ({ owner: await groupOwnerInFile(db, id), name })))
  })
}
