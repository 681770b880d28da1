import { HubError } from '../contract/errors.ts'
import { isJsonObject } from '../contract/json.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { Role } from '../contract/records.ts'
import { addressRights } from '../domain/address.ts'
import { quoteName } from '../domain/names.ts'
import type { OutboundProxy } from '../domain/outbound/proxy.ts'
import type {
  BridgeAnswer,
  BridgeEndpoint,
  BridgeSession,
  BridgeSocket,
  BridgeSocketEvents,
} from '../features/bridge.ts'
import type { McpEndpoint } from '../mcp/api.ts'
import type { Outcome } from '../mcp/call/exchange.ts'
import { checkSocketAddress, createGuardedConnect } from '../outbound/websocket.ts'
import type { Registry, UserRecord } from '../registry/api.ts'
import type { OwnedSetting } from '../registry/owned/settings.ts'
import type { Sealer } from '../secrets/seal.ts'
import type { GuardedConnect } from '../transport-kit/definition.ts'
import { endpointOf, urlOf } from './endpoint.ts'
import type { FrameAllowance } from './frame-allowance.ts'
import { boundThing, callerFor } from './targets.ts'

/** The longest frame, in bytes; the same as for incoming sockets. */
const FRAME_BYTES = 64 * 1024
/** Characters above which results are not read: an assistant gets 2,000 characters of one, and parsing it would delay all users. */
const MOST_RESULT_CHARACTERS = 1024 * 1024

/** Dependencies of served endpoints on the rest of the hub. */
export interface HubSideDeps {
  readonly registry: Pick<Registry, 'groups' | 'servers' | 'users' | 'shares'>
  readonly mcp: Pick<McpEndpoint, 'openPath'>
  readonly sealer: Sealer
  readonly log: PluginLogger
  readonly version: string
  /** Networks (CIDR) that all users may connect to. */
  readonly outboundAllow: readonly string[]
  readonly outboundProxy?: OutboundProxy | undefined
  readonly instanceId: string
}

/** Provides bridges with the services for one endpoint, with the rights that its owner has at that moment. */
export class HubSide {
  readonly #deps: HubSideDeps
  readonly #connects: Readonly<Record<Role, GuardedConnect>>
  readonly #allowance: FrameAllowance
  #calls = 0

  constructor(deps: HubSideDeps, allowance: FrameAllowance) {
    const { instanceId } = deps
    this.#deps = deps
    this.#allowance = allowance
    this.#connects = {
      admin: createGuardedConnect({ rights: addressRights(deps, true), instanceId }),
      user: createGuardedConnect({ rights: addressRights(deps, false), instanceId }),
    }
  }

  endpoint(setting: OwnedSetting, stateChanged: () => void): BridgeEndpoint {
    const { name, direction, limits } = endpointOf(setting)
    const { log, version } = this.#deps
    const of = { ownerId: setting.owner.id, endpoint: `${setting.owner.name}~${name}` }
    return {
      ...{ name, direction, limits, version, stateChanged },
      report: (level, message) => log[level](message, of),
      open: events => this.#open(setting, events),
      dial: (events, signal) => this.#dial(setting, events, signal),
      checkAddress: () => this.#checkAddress(setting),
    }
  }

  async #open(setting: OwnedSetting, events: Parameters<BridgeEndpoint['open']>[0]): Promise<BridgeSession> {
    const { registry, mcp } = this.#deps
    const { name, target, limits, makers } = endpointOf(setting)
    const owner = await this.#owner(setting)
    const bound = await boundThing(registry, owner, target)
    if (!bound) {
      throw new HubError('group_not_found', `What the endpoint ${quoteName(name)} is bound to is gone`, {
        hint: 'Bind the endpoint to another group.',
      })
    }
    const clientName = `assistant ${name}`
    const shows = { clientName, resultCharacters: limits.resultCharacters }
    const client = await mcp.openPath({ actor: callerFor(owner, makers), path: bound.path, ...shows, ...events })
    return {
      tools: most => client.tools(most),
      call: async (tool, args, signal) => {
        this.#calls += 1
        const requestId = `assistant-${setting.id.slice(0, 8)}-${this.#calls}`
        return answerOf(await client.call({ tool, arguments: args, requestId, clientAddress: '', signal }))
      },
      close: () => client.close(),
    }
  }

  async #dial(setting: OwnedSetting, events: BridgeSocketEvents, signal: AbortSignal): Promise<BridgeSocket> {
    const url = this.#url(setting)
    const role = await this.#role(setting)
    const socket = await this.#connects[role](url, {
      maxBytes: FRAME_BYTES,
      signal,
      admits: bytes => this.#allowance.take(setting.owner.id, bytes),
      message: text => events.message(text),
      alive: () => events.alive(),
      closed: (_reason, code) => events.closed(code),
    })
    return {
      send(text) {
        socket.send(text)
        return true
      },
      ping: () => socket.ping(),
      close: code => void socket.close(code),
    }
  }

  async #checkAddress(setting: OwnedSetting): Promise<void> {
    const role = await this.#role(setting)
    await checkSocketAddress(this.#url(setting), addressRights(this.#deps, role === 'admin'))
  }

  #url(setting: OwnedSetting): string {
    const url = urlOf(setting, this.#deps.sealer)
    if (url === undefined) throw new HubError('config_invalid', 'The endpoint has no address')
    return url
  }

  /** The owner's present role, limited to the rights of the endpoint. */
  async #role(setting: OwnedSetting): Promise<Role> {
    const { role } = await this.#owner(setting)
    return setting.limited ? 'user' : role
  }

  /** Throws `owner_disabled`, also if the account was removed. */
  async #owner({ owner }: OwnedSetting): Promise<UserRecord> {
    const user = await this.#deps.registry.users.byId(owner.id)
    if (!user || user.disabled) throw new HubError('owner_disabled', 'The account of the endpoint’s owner is disabled')
    return user
  }
}

function answerOf(outcome: Outcome): BridgeAnswer {
  if (outcome.kind === 'failed') throw outcome.error
  if (outcome.kind === 'error') return { error: outcome.error }
  if (outcome.kind !== 'result') throw new HubError('upstream_timeout', 'The call was cancelled')
  const text = String(outcome.resultText)
  if (text.length > MOST_RESULT_CHARACTERS) {
    const message = `The result has ${text.length} characters, too many for an assistant`
    return { result: { content: [{ type: 'text', text: message }], isError: true } }
  }
  const result: unknown = JSON.parse(text)
  if (!isJsonObject(result)) throw new HubError('upstream_protocol', 'The server answered without a result')
  return { result }
}
