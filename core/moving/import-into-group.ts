import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { GroupRecord } from '../contract/records.ts'
import { formatRef, nameKey, parseRef } from '../domain/names.ts'
import { visibleName } from '../domain/text/visible-text.ts'
import type { ImportOutcome, ImportResult, ImportScope } from './import-scope.ts'
import { missing } from './import-scope.ts'

/** Pointer of the outcome for the group: it points into the request, since the group is no item of the document. */
const POINTER = '#/group'

/**
 * Puts the servers of an import into the group that its user named: those that were made or replaced, and those that were
 * there with the same content. A group that is not there is made; one that is there keeps its members.
 */
export async function importIntoGroup(
  scope: ImportScope,
  wanted: string,
  outcomes: readonly ImportOutcome[],
): Promise<ImportOutcome> {
  const { owner = scope.actor.name, name } = parseRef(wanted)
  const common = { kind: 'group', pointer: POINTER, name: visibleName(name), owner, warnings: [] } as const
  const servers = outcomes.filter(
    ({ kind, verdict }) => kind === 'server' && (verdict === 'new' || verdict === 'replaced' || verdict === 'same'),
  )
  if (servers.length === 0) {
    return { ...common, verdict: 'skipped', warnings: ['No server was imported, so there is nothing for the group'] }
  }
  try {
    const refs = servers.map(server => refFor(server, owner))
    const present = await scope.parts.registry.groups.find(scope.actor, owner, name)
    return { ...common, ...(present ? await extend(scope, present, refs) : await make(scope, owner, name, refs)) }
  } catch (error) {
    if (!(error instanceof HubError) || error.status >= 500) throw error
    return { ...common, verdict: 'invalid', error, place: () => POINTER }
  }
}

function refFor({ owner, name }: ImportOutcome, groupOwner: string): string {
  return owner === undefined || nameKey(owner) === nameKey(groupOwner) ? name : formatRef(owner, name)
}

async function make(scope: ImportScope, owner: string, name: string, members: string[]): Promise<ImportResult> {
  const { groups, users } = scope.parts.registry
  const record = await users.byName(scope.actor, owner).catch(missing)
  if (!record) throw new HubError('user_not_found', `There is no user "${owner}" here`)
  const made = await scope.attempt('group', record, () =>
    groups.create(scope.actor, { name, owner: record.name, members }),
  )
  scope.made.push({ kind: 'group', id: made.id, name: made.name, owner: record.id, revision: made.revision })
  return { verdict: 'new', body: { members } }
}

async function extend(scope: ImportScope, group: GroupRecord, refs: readonly string[]): Promise<ImportResult> {
  const { id, name, ownerId: owner, ownerName } = group
  const lacking = await lackingMembers(scope, group, refs)
  const shown = { name: visibleName(name), body: { members: lacking } satisfies JsonObject }
  if (lacking.length === 0) return { ...shown, verdict: 'same' }
  if (group.origin === 'file') {
    return { ...shown, verdict: 'exists', warnings: ['The group is not changed: the settings file holds it'] }
  }
  const { groups } = scope.parts.registry
  const write = async (): Promise<number> => {
    let { revision } = group
    for (const server of lacking)
      ({ revision } = await groups.putMember(scope.actor, formatRef(ownerName, name), server, {}))
    return revision
  }
  const at = scope.made.findIndex(item => item.kind === 'group' && item.id === id)
  const own = scope.made[at]
  if (own) scope.made[at] = { ...own, revision: await scope.parts.attempt(write) }
  else await scope.replace({ kind: 'group', id, name, owner }, { body: groups.publicBody(group) }, write)
  return { ...shown, verdict: 'extended' }
}

async function lackingMembers(
  { parts, actor }: ImportScope,
  group: GroupRecord,
  refs: readonly string[],
): Promise<string[]> {
  const present = new Set(group.members.map(({ serverId }) => serverId))
  const lacking: string[] = []
  for (const ref of refs) {
    const { owner = group.ownerName, name } = parseRef(ref)
    const { id } = await parts.registry.servers.resolve(actor, formatRef(owner, name), 'use')
    if (!present.has(id)) lacking.push(ref)
    present.add(id)
  }
  return lacking
}
