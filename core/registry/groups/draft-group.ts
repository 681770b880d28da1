import type { Actor, GroupMember, GroupRecord } from '../../contract/records.ts'
import type { ParsedGroupBody } from '../../domain/group-body.ts'
import { formatRef } from '../../domain/names.ts'
import type { Reader } from '../../store/transact.ts'
import type { WrittenGroup } from '../api.ts'
import { type RegistryDeps, timestamp } from '../context.ts'
import { chooseOwner, type Owner } from '../owners.ts'
import { serverRecord } from '../rows.ts'
import { selectServers } from '../server-rows.ts'
import { findMembers, refuseLargeSelections } from './group-members.ts'
import type { NewMember } from './group-rows.ts'
import { usableMembers } from './usable-members.ts'

/** Returns the group that a body would create, checked as for saving; nothing is written. */
export async function draftGroup(
  db: Reader,
  actor: Actor,
  parsed: ParsedGroupBody,
  deps: Pick<RegistryDeps, 'now' | 'shares'>,
): Promise<WrittenGroup> {
  const at = timestamp(deps)
  const { shares } = deps
  const owner = await chooseOwner(db, actor, parsed.owner, undefined)
  const found = await findMembers(db, owner, parsed, { shares })
  refuseLargeSelections(found)
  const group = await draftRecord(db, owner, parsed, found, at)
  return { ...group, usable: await usableMembers(db, actor, group, shares), lost: [] }
}

/** Throws what `RegistryDeps.checkGroup` does for a group with these members that is about to be written. */
export async function checkSelected(
  deps: Pick<RegistryDeps, 'checkGroup' | 'shares'>,
  db: Reader,
  owner: Owner,
  body: ParsedGroupBody,
  members: readonly NewMember[],
): Promise<void> {
  if (!deps.checkGroup || !body.selector) return
  const group = await draftRecord(db, owner, body, members, '')
  const usable = await usableMembers(db, { kind: 'system', purpose: 'selector' }, group, deps.shares)
  deps.checkGroup(
    group,
    usable.map(({ server }) => server),
  )
}

async function draftRecord(
  db: Reader,
  owner: Owner,
  parsed: ParsedGroupBody,
  found: readonly NewMember[],
  at: string,
): Promise<GroupRecord> {
  const ids = found.map(({ server_id }) => server_id)
  const rows = ids.length === 0 ? [] : await selectServers(db).where('server.id', 'in', ids).execute()
  const servers = new Map(rows.map(row => [row.id, serverRecord(row)]))
  const members = found.flatMap(({ server_id, alias, tools, prompts, resources, selected_by }): GroupMember[] => {
    const server = servers.get(server_id)
    if (!server) return []
    return [
      {
        ...{ serverId: server_id, serverName: server.name, serverRef: formatRef(server.ownerName, server.name) },
        ...(alias === null ? {} : { alias }),
        tools: JSON.parse(tools) as GroupMember['tools'],
        prompts: JSON.parse(prompts) as GroupMember['prompts'],
        resources: JSON.parse(resources) as GroupMember['resources'],
        ...(selected_by === null ? {} : { selectedBy: selected_by }),
      },
    ]
  })
  const { owner: _, ...fields } = parsed
  return {
    ...{ ...fields, members, id: '', ownerId: owner.id, ownerName: owner.name },
    ...({ origin: 'store', revision: 0, createdAt: at, updatedAt: at } as const),
  }
}
