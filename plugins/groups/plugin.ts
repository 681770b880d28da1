import {
  type Actor,
  definePlugin,
  type GroupMember,
  type GroupRecord,
  type RegistryView,
  type ServerRecord,
} from 'patchbay/contract'
import type { ResolvedGroup } from 'patchbay/features'

/** Resolves names at `/mcp/…` to a group, or to one server as a group, in the name space of one owner. */
export default definePlugin({
  name: 'groups',
  contract: 1,
  setup(context) {
    const { registry } = context
    context.contribute('groupResolver', 'groups', {
      async resolve(actor, owner, name) {
        if (owner === undefined && name === '') return (await chosen(registry, actor)) ?? everything(registry, actor)
        return (await group(registry, actor, owner, name)) ?? (await oneServer(registry, actor, owner, name))
      },
    })
    return undefined
  },
})

/** Callers other than the owner, including administrators, reach only public and shared entries. */
function reachable(registry: RegistryView, actor: Actor, record: ServerRecord | GroupRecord): boolean {
  return registry.mayUse(actor.kind === 'user' ? actor.userId : '', record)
}

/** True unless the actor uses an access key that does not open this scope, so that names may be equal. */
function opened(actor: Actor, scope: { readonly groupId: string } | { readonly serverId: string }): boolean {
  if (actor.kind !== 'user' || actor.credential.kind !== 'key') return true
  return actor.credential.scopes.some(known => {
    if (typeof known === 'string') return known === 'mcp'
    if ('groupId' in known) return 'groupId' in scope && known.groupId === scope.groupId
    return 'serverId' in scope && known.serverId === scope.serverId
  })
}

async function group(
  registry: RegistryView,
  actor: Actor,
  owner: string | undefined,
  name: string,
): Promise<ResolvedGroup | undefined> {
  const found = await registry.group(actor, owner, name)
  if (!found || !reachable(registry, actor, found) || !opened(actor, { groupId: found.id })) return undefined
  return withMembers(registry, actor, found)
}

async function oneServer(
  registry: RegistryView,
  actor: Actor,
  owner: string | undefined,
  name: string,
): Promise<ResolvedGroup | undefined> {
  const server = await registry.serverByName(actor, owner, name)
  if (!server || !reachable(registry, actor, server) || !opened(actor, { serverId: server.id })) return undefined
  return serverAlone(server)
}

/** The group or server that a user has chosen for a client at the address of all servers; undefined: all servers. */
async function chosen(registry: RegistryView, actor: Actor): Promise<ResolvedGroup | undefined> {
  if (actor.kind !== 'user' || actor.credential.kind !== 'grant') return undefined
  const { target } = actor.credential
  if (!target || target.kind === 'all') return undefined
  if (target.kind === 'server') {
    const server = await registry.server(actor, target.id)
    return server && reachable(registry, actor, server) ? serverAlone(server) : undefined
  }
  const found = await registry.groupById(actor, target.id)
  return found && reachable(registry, actor, found) ? withMembers(registry, actor, found) : undefined
}

async function withMembers(registry: RegistryView, actor: Actor, found: GroupRecord): Promise<ResolvedGroup> {
  const members = await registry.usableMembers(actor, found)
  return { kind: 'group', group: found, servers: members.map(({ server }) => server) }
}

function serverAlone(server: ServerRecord): ResolvedGroup {
  return { kind: 'server', group: asGroup(server.id, server, [server]), servers: [server] }
}

async function everything(registry: RegistryView, actor: Actor): Promise<ResolvedGroup | undefined> {
  if (actor.kind !== 'user') return undefined
  const servers = await registry.ownServers(actor)
  const owner = { ownerId: actor.userId, ownerName: actor.name, name: 'all', createdAt: '', updatedAt: '' }
  return { kind: 'all', group: asGroup(`all:${actor.userId}`, owner, servers), servers }
}

/** A server as a group that is not stored and cannot be edited. */
function asGroup(
  id: string,
  owner: Pick<GroupRecord, 'ownerId' | 'ownerName' | 'name' | 'createdAt' | 'updatedAt'>,
  servers: readonly ServerRecord[],
): GroupRecord {
  const members: GroupMember[] = servers.map(server => ({
    serverId: server.id,
    serverRef: `${server.ownerName}~${server.name}`,
    serverName: server.name,
    tools: 'all',
    prompts: 'all',
    resources: 'all',
  }))
  return {
    id,
    ownerId: owner.ownerId,
    ownerName: owner.ownerName,
    name: owner.name,
    visibility: 'private',
    naming: 'auto',
    members,
    origin: 'store',
    revision: 0,
    createdAt: owner.createdAt,
    updatedAt: owner.updatedAt,
  }
}
