import type { Authenticator } from '../../auth/api.ts'
import { personOf } from '../../auth/second-factors.ts'
import type { TokenVerifiers } from '../../auth/token-verifiers.ts'
import type { Upstreams } from '../../connections/api.ts'
import { isInside } from '../../connections/sandbox/command.ts'
import { HubError } from '../../contract/errors.ts'
import type { GuardedFetch } from '../../contract/fetch.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { Actor, GroupRecord, Role, ServerRecord, UserActor } from '../../contract/records.ts'
import type { AddressRights } from '../../domain/address.ts'
import { upstreamName } from '../../domain/tools/catalog-item.ts'
import type {
  PluginAudit,
  PluginClient,
  PluginPeople,
  PluginRecords,
  PluginServers,
  PluginStates,
  ServerWrite,
  StateInfo,
} from '../../features/services/hub-services.ts'
import type { Planning } from '../../features/services/plans.ts'
import type { GuardedDial } from '../../features/services/sockets.ts'
import type { ServerTemplates } from '../../features/templates.ts'
import { type ServerViewDeps, serverView } from '../../http/routes/views.ts'
import type { McpEndpoint } from '../../mcp/api.ts'
import type { Outcome } from '../../mcp/call/exchange.ts'
import { createGuardedFetch } from '../../outbound/create.ts'
import { createGuardedConnect } from '../../outbound/websocket.ts'
import { plannedBodies } from '../../plans/bodies.ts'
import type { Plans } from '../../plans/plans.ts'
import type { GroupHead, Registry } from '../../registry/api.ts'
import type { MovingKinds } from '../../registry/owned/moving.ts'
import { fromWireError } from '../../transport-kit/wire-error.ts'

/** The parts of the hub that plugins act on, each in the rights of an actor. */
export interface HubParts {
  readonly registry: Pick<Registry, 'servers' | 'groups' | 'users' | 'keys' | 'shares' | 'audit'>
  readonly auth: {
    readonly authenticator: Pick<Authenticator, 'continues'>
    readonly verifiers: Pick<TokenVerifiers, 'grants'>
  }
  /** Undefined until the hub has begun, which is after the plugins. */
  upstreams(): (Pick<Upstreams, 'settled' | 'restart' | 'credentials'> & ServerViewDeps['upstreams']) | undefined
  templates(): ServerTemplates | undefined
  mcp(): Pick<McpEndpoint, 'openPath'> | undefined
  planning(): { readonly plans: Plans; readonly records: MovingKinds } | undefined
  addresses(role: Role): AddressRights
  /** See `PluginContext`. */
  address(): string
  /** Appended to requests, so that a hub recognizes one that returns to it. */
  readonly instanceId: string
}

/** The plugin for which a service works. */
export interface ServedPlugin {
  readonly name: string
  readonly signal: AbortSignal
}

const MOST_RESULT_CHARACTERS = 4 * 1024 * 1024

/** The role that an actor needs for a right. */
const ROLES = { see: 'use', edit: 'change', owner: 'owner' } as const

/** Servers in the rights of actors. */
export function pluginServers({ registry, upstreams, templates }: HubParts, plugin: ServedPlugin): PluginServers {
  const { servers } = registry
  const note = noteFor(registry, plugin, 'server')
  return {
    list: (actor, scope = 'mine') => servers.list(actor, { scope }),
    find: (actor, ref, right = 'see') => servers.resolve(actor, ref, ROLES[right]),
    async create(actor, body, { template, audit } = {}) {
      return note(actor, 'create', await servers.create(actor, body, { template }), audit)
    },
    async replace(actor, ref, body, { audit, ...options } = {}) {
      return note(actor, 'update', await servers.replace(actor, ref, body, options), audit)
    },
    async check(actor, body, ref) {
      await servers.draft(actor, body, ref)
    },
    running: (field, program, ownerId) => servers.running(field, program, ownerId),
    hasProgram: isInside,
    body: record => servers.publicBody(record),
    view: (actor, record) =>
      serverView(
        { registry, upstreams: begun(upstreams()), templates },
        actor.kind === 'user' ? actor : undefined,
        record,
      ),
    patch: async (actor, ref, patch) => note(actor, 'update', await servers.patch(actor, ref, patch)),
    async remove(actor, ref) {
      const found = await servers.resolve(actor, ref, 'owner')
      await servers.remove(actor, `${found.ownerName}~${found.name}`)
      note(actor, 'delete', found)
    },
  }
}

/** Groups in the rights of actors. */
export function pluginGroups({ registry }: HubParts, plugin: ServedPlugin): PluginRecords<GroupRecord, GroupHead> {
  const { groups } = registry
  const note = noteFor(registry, plugin, 'group')
  return {
    list: (actor, scope = 'mine') => groups.list(actor, { scope }),
    find: (actor, ref, right = 'see') => groups.resolve(actor, ref, ROLES[right]),
    create: async (actor, body) => note(actor, 'create', await groups.create(actor, body)),
    patch: async (actor, ref, patch) => note(actor, 'update', await groups.patch(actor, ref, patch)),
    async remove(actor, ref) {
      const found = await groups.resolve(actor, ref, 'owner')
      await groups.remove(actor, `${found.ownerName}~${found.name}`)
      note(actor, 'delete', found)
    },
  }
}

type Named = Pick<ServerRecord | GroupRecord, 'name' | 'ownerId' | 'ownerName'>

function noteFor({ audit }: HubParts['registry'], { name: plugin }: ServedPlugin, kind: 'server' | 'group') {
  return <T extends Named>(
    actor: Actor,
    verb: 'create' | 'update' | 'delete',
    record: T,
    said: ServerWrite['audit'] = { detail: { plugin } },
  ): T => {
    const { ownerName, name, ownerId } = record
    audit.record(actor, { action: `${kind}.${verb}`, target: `${ownerName}~${name}`, ownerId, ...said })
    return record
  }
}

/** Audit records of a plugin. */
export function pluginAudit({ registry: { audit } }: HubParts, { name }: ServedPlugin): PluginAudit {
  return (actor, word, target, ownerId, said) =>
    audit.record(actor, { action: `${name}.${word}`, target, ownerId, ...said })
}

/** Work that is shown before it is done. What was made has audit records that name the plugin. */
export function pluginPlanning({ registry: { audit }, planning }: HubParts, { name: plugin }: ServedPlugin): Planning {
  return (what, read) => {
    const work = () => {
      const { plans, records } = begun(planning())
      return plannedBodies(plans, records, { what, read })
    }
    return {
      plan: async (actor, inputs) => work().plan(actor, inputs),
      apply: async (actor, planHash, inputs) => {
        const { touched, ...made } = await work().apply(actor, planHash, inputs)
        for (const { kind, verdict, ref: target, ownerId } of touched) {
          const action = `${kind}.${verdict === 'new' ? 'create' : 'update'}`
          audit.record(actor, { action, target, ownerId, detail: { plugin } })
        }
        return made
      },
    }
  }
}

/** The users. */
export function pluginPeople({ registry: { users, keys }, auth }: HubParts): PluginPeople {
  return {
    async byId(userId) {
      const found = await users.byId(userId)
      return found && personOf(found)
    },
    byName: async (actor, name) => personOf(await users.byName(actor, name)),
    keys: async actor => (await keys.list(actor)).map(({ id, label, makers = [] }) => ({ id, label, makers })),
    keysBehind: userId => keys.behind(userId),
    grants: userId => auth.verifiers.grants(userId),
    continues: actor => auth.authenticator.continues(actor),
    async actor(userId): Promise<UserActor | undefined> {
      const found = await users.byId(userId)
      if (!found || found.disabled) return undefined
      return { kind: 'user', userId, name: found.name, role: 'user', credential: { kind: 'local' } }
    },
  }
}

/** States of servers in the rights of actors. */
export function pluginStates({ registry, upstreams }: HubParts): PluginStates {
  const { servers } = registry
  return {
    async of(actor, ref, waitMs = 0): Promise<StateInfo> {
      const { id, ownerName, name } = await servers.resolve(actor, ref, 'use')
      const running = begun(upstreams())
      if (waitMs > 0) await running.settled(id, Math.min(waitMs, 60_000))
      // The wait may be long enough for a share to end.
      const record = await servers.resolve(actor, `${ownerName}~${name}`, 'use')
      const { state, reason } = running.status(id, record)
      return { state, ...(reason ? { reason: { code: reason.code, message: reason.message } } : {}) }
    },
    async tools(actor, ref) {
      const { id } = await servers.resolve(actor, ref, 'see')
      return begun(upstreams()).catalog(id)?.tools.map(upstreamName)
    },
    async restart(actor, ref) {
      const record = await servers.resolve(actor, ref, 'change')
      const qualified = `${record.ownerName}~${record.name}`
      if (!record.enabled) throw new HubError('server_offline', `Cannot restart "${record.name}": it is switched off`)
      // The save checks whether its owner may still run it.
      await servers.setEnabled(actor, qualified, true)
      begun(upstreams()).restart(record.id)
    },
    async target(serverId) {
      const { settings, ownerId } = await servers.effective(serverId)
      const { name, transport, config } = settings
      return { id: serverId, ownerId, name, transport, config }
    },
    credentialChanged: (serverId, userId, change) => upstreams()?.credentials.changed(serverId, userId, change),
  }
}

/** An MCP client at a path, which ends with the plugin. */
export async function pluginClient(
  { mcp }: HubParts,
  { name, signal }: ServedPlugin,
  actor: UserActor,
  path: string,
): Promise<PluginClient> {
  signal.throwIfAborted()
  const close = (): void => {
    signal.removeEventListener('abort', close)
    client.close()
  }
  const options = { actor, path, clientName: `plugin ${name}`, changed() {}, ended: () => close() }
  const client = await begun(mcp()).openPath(options)
  signal.addEventListener('abort', close)
  return {
    tools: most => client.tools(most),
    async call(tool, given, aborted) {
      const requestId = crypto.randomUUID()
      return resultOf(await client.call({ tool, arguments: given, requestId, clientAddress: '', signal: aborted }))
    },
    close,
  }
}

function resultOf(outcome: Outcome): JsonObject {
  if (outcome.kind === 'failed') throw outcome.error
  if (outcome.kind === 'cancelled') throw new HubError('upstream_timeout', 'The call was cancelled')
  if (outcome.kind === 'input_required')
    throw new HubError('client_capability_missing', 'The server asks for input, which a plugin cannot give')
  if (outcome.kind === 'error') {
    const { code, message } = outcome.error
    throw new HubError('upstream_protocol', message, { data: { rpcCode: code } })
  }
  const text = String(outcome.resultText)
  if (text.length > MOST_RESULT_CHARACTERS)
    throw new HubError('result_too_large', `The result has ${text.length} characters`, {
      data: { maxBytes: MOST_RESULT_CHARACTERS },
    })
  const result: unknown = JSON.parse(text)
  if (!isJsonObject(result)) throw new HubError('upstream_protocol', 'The server answered without a result')
  return result
}

/** Requests in the rights that a user has at that moment. */
export function fetchFor({ registry, addresses, instanceId }: HubParts, { signal }: ServedPlugin) {
  const of = (role: Role): GuardedFetch => createGuardedFetch({ rights: addresses(role), instanceId, signal })
  const fetches: Readonly<Record<Role, GuardedFetch>> = { admin: of('admin'), user: of('user') }
  return (userId: string | undefined, as?: 'user'): GuardedFetch =>
    async (url, request) => {
      const role = userId === undefined ? 'user' : await roleOf(registry, userId)
      return fetches[as ?? role](url, request)
    }
}

/** WebSockets in the rights that a user has when they are opened. */
export function dialFor({ registry, addresses, instanceId }: HubParts, { signal }: ServedPlugin) {
  const of = (role: Role) => createGuardedConnect({ rights: addresses(role), instanceId, signal })
  const connects = { admin: of('admin'), user: of('user') }
  return (userId: string): GuardedDial =>
    async (url, request) =>
      connects[await roleOf(registry, userId)](url, {
        ...request,
        closed: (reason, code) => request.closed(fromWireError(reason), code),
      })
}

async function roleOf({ users }: Pick<Registry, 'users'>, userId: string): Promise<Role> {
  const user = await users.byId(userId)
  if (!user || user.disabled) throw new HubError('user_not_found', 'There is no such user, or it is disabled')
  return user.role
}

function begun<T>(part: T | undefined): T {
  if (part === undefined) throw new HubError('starting', 'The hub has not begun yet: use this after the setup')
  return part
}
