import { HubError } from '../../contract/errors.ts'
import type { GroupRecord, ServerRecord, UserActor } from '../../contract/records.ts'
import { formatRef, quoteName } from '../../domain/names.ts'
import type { PluginShares, PluginTeams, SharedThing } from '../../features/sharing.ts'
import type { Registry } from '../../registry/api.ts'

/** The parts of the hub with which a plugin shares things. */
export interface SharesParts {
  readonly registry: Pick<Registry, 'users' | 'audit' | 'servers' | 'groups' | 'shares'>
}

/** The teams, for one bundled plugin. Throws Error for another one. */
export function pluginTeams(
  { registry: { teams } }: { readonly registry: Pick<Registry, 'teams'> },
  isBundled: boolean,
): PluginTeams {
  if (!isBundled) throw new Error('"teams" is open to bundled plugins alone')
  return {
    byName: name => teams.named(name),
    byId: id => teams.byId(id),
    members: id => teams.membersOf(id),
    of: userId => teams.of(userId),
  }
}

/** Shares on behalf of one bundled plugin, in the rights of owners. Throws Error for another one. */
export function pluginShares({ registry }: SharesParts, plugin: string, isBundled: boolean): PluginShares {
  if (!isBundled) throw new Error('"shares" is open to bundled plugins alone')
  const { users, audit, servers, groups, shares } = registry
  // The rights of an ordinary user: also an administrator shares own things alone here.
  const ownerActor = async (userId: string): Promise<UserActor | undefined> => {
    const found = await users.byId(userId)
    if (!found || found.disabled) return undefined
    return { kind: 'user', userId, name: found.name, role: 'user', credential: { kind: 'local' } }
  }
  const byId = async (actor: UserActor, { kind, id }: Pick<SharedThing, 'kind' | 'id'>) => {
    const record = await (kind === 'server' ? servers : groups).byId(actor, id)
    return record?.ownerId === actor.userId ? thingOf(kind, record) : undefined
  }
  const notOwner = (name: string): HubError =>
    new HubError('not_owner', `${quoteName(name)} belongs to another user, who alone can share it so`)
  return {
    async owned(ownerId, kind, ref) {
      const actor = await ownerActor(ownerId)
      if (!actor) throw notOwner(ref)
      const record = await (kind === 'server' ? servers : groups).resolve(actor, ref, 'see')
      if (record.ownerId !== ownerId) throw notOwner(record.name)
      return thingOf(kind, record)
    },
    async stillOwned(ownerId, thing) {
      const actor = await ownerActor(ownerId)
      return actor && byId(actor, thing)
    },
    async give(ownerId, thing, userId, role) {
      const actor = await ownerActor(ownerId)
      const own = actor && (await byId(actor, thing))
      if (!actor || !own) throw notOwner(thing.id)
      const guest = await users.byId(userId)
      if (!guest) throw new HubError('user_not_found', 'There is no such user')
      const subject = `user:${guest.name}`
      const { changed } = await shares.put(actor, thing.kind, own.ref, { subject, role, keepsGreater: true })
      if (changed.length === 0) return
      audit.record(actor, {
        ...{ action: `${thing.kind}.share`, target: own.ref, ownerId },
        detail: { plugin, changed: changed.map(one => ({ ...one })) },
      })
    },
  }
}

function thingOf(kind: SharedThing['kind'], { id, name, ownerName }: ServerRecord | GroupRecord): SharedThing {
  return { kind, id, ref: formatRef(ownerName, name), name, owner: ownerName }
}
