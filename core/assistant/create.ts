import type { FailedCredentials } from '../auth/failed-credentials.ts'
import type { FileRecords } from '../config/shape/sections.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { Actor } from '../contract/records.ts'
import { makersBy } from '../domain/ownership.ts'
import type { EventBus } from '../events/bus.ts'
import type { Bridge, BridgeEndpoint, BridgeLink, BridgePreview, BridgeTestStep } from '../features/bridge.ts'
import type { WriteOptions } from '../registry/api.ts'
import type { Mirrored } from '../registry/owned/mirror.ts'
import type { MovingRecords } from '../registry/owned/moving.ts'
import type { OwnedRecords } from '../registry/owned/records.ts'
import { type OwnedSetting, OwnedSettings, settingView } from '../registry/owned/settings.ts'
import type { Owner } from '../registry/owners.ts'
import type { SocketHandler } from '../request/request-info.ts'
import type { Store } from '../store/open.ts'
import { endpointOf, newToken, prepareEndpoint, shownUrl, withToken } from './endpoint.ts'
import { mirrorEndpoints } from './file-endpoints.ts'
import { FrameAllowance } from './frame-allowance.ts'
import { HubSide, type HubSideDeps } from './hub-side.ts'
import { type AssistantCredential, acceptSocket, admit } from './inbound.ts'
import { ENDPOINTS } from './kind.ts'
import { Links } from './links.ts'
import { movingEndpoints } from './moving.ts'
import { boundThing, findTarget, type Things } from './targets.ts'

/** Dependencies of the assistant endpoints on the rest of the hub. */
export interface AssistantDeps extends HubSideDeps {
  readonly store: Store
  readonly bus: Pick<EventBus, 'emit' | 'on'>
  readonly failedCredentials: FailedCredentials
  /** ASSISTANT_ENABLED: while it is off, endpoints are kept and not served. */
  readonly enabled: boolean
  readonly apiKey: string | undefined
  /** The contribution of a plugin to `bridge`. */
  readonly bridge: () => Bridge | undefined
  /** True when a plugin offers the view of scopes, such as `smart`. */
  readonly hasView: (view: string) => boolean
}

/** Result of testing an endpoint. */
export interface EndpointTest {
  /** No step failed. */
  readonly ok: boolean
  readonly steps: readonly BridgeTestStep[]
}

/** Endpoints that offer the tools of a group to assistants. */
export interface Assistant {
  /** `create` of an inbound one returns its `token`, which no other answer has. */
  readonly endpoints: OwnedRecords
  /** True when endpoints are served. */
  readonly enabled: boolean
  /** An inbound endpoint with a new token; the old one ends at once. Throws `validation_failed` for another one. */
  newToken(actor: Actor, ref: string, options?: WriteOptions): Promise<JsonObject>
  /** Closes the open link and connects again at once. Throws `assistant_disabled`. */
  reconnect(actor: Actor, ref: string): Promise<JsonObject>
  /** The last messages of an endpoint, without contents, newest first. */
  messages(actor: Actor, ref: string): Promise<readonly JsonObject[]>
  /** The tools as the assistant would get them now. Rejects as a connection would: `group_not_found`, `owner_disabled`. */
  tools(actor: Actor, ref: string): Promise<BridgePreview>
  /**
   * Tests all steps of a connection once and changes nothing. Throws `assistant_disabled`, and `rate_limited` while another test
   * runs.
   */
  test(actor: Actor, ref: string): Promise<EndpointTest>
  /** Stores the endpoints of the settings file, and serves them. */
  mirror(file: FileRecords): Promise<Mirrored>
  /** Endpoints as they move between hubs; `things`: where in the same transaction their groups and servers are found. */
  moving(store: Store, things: Things): MovingRecords
  /** True when a plugin offers a bridge. */
  hasBridge(): boolean
  /** Number of the actor's endpoints. */
  count(actor: Actor): Promise<number>
  /** The handler of a socket that an assistant opens. Throws `assistant_disabled` and what `admit` throws. */
  admit(credential: AssistantCredential): Promise<SocketHandler>
  begin(): Promise<void>
  /** Ends all links after their calls, at most `graceMs` milliseconds later. */
  stop(graceMs: number): Promise<void>
}

/** Builds the endpoints on an open store; `begin` serves them. */
export function createAssistant(deps: AssistantDeps): Assistant {
  const { store, registry, sealer, apiKey, failedCredentials, bus, log } = deps
  const bridge = (): Bridge | undefined => (deps.enabled ? deps.bridge() : undefined)
  const failed = (error: unknown): void => log.error('An assistant endpoint failed', { error })
  const allowance = new FrameAllowance()
  const hubSide = new HubSide(deps, allowance)
  const links = new Links({ store, bus, bridge, failed, hubSide })
  const tests = new EndpointTests(links)
  const settings = new OwnedSettings(store, ENDPOINTS, () => undefined)

  const show = async (setting: OwnedSetting): Promise<JsonObject> => {
    const { direction, target, enabled, limits, last4 } = endpointOf(setting)
    const url = shownUrl(setting, sealer)
    const bound = await boundThing(registry, setting.owner, target)
    const view = target.view === undefined ? {} : { view: target.view }
    return settingView(setting, {
      ...{ name: setting.name, direction, group: bound?.ref ?? null, kind: target.kind, ...view, enabled, limits },
      ...(url === undefined ? {} : { url }),
      ...(last4 === undefined ? {} : { last4 }),
      status: links.get(setting.id)?.status() ?? { state: 'off', ...(enabled && !bridge() ? { code: OFF } : {}) },
    })
  }

  /** Returns the target named by the body; a removed target stays bound until another one is named. */
  const target = async (owner: Pick<Owner, 'id' | 'name'>, { group }: JsonObject, before?: OwnedSetting) => {
    if (typeof group === 'string') return findTarget(registry, owner, group, deps.hasView)
    return group === null && before ? endpointOf(before).target : undefined
  }

  const unserved = (setting: OwnedSetting): BridgeEndpoint => hubSide.endpoint(setting, () => undefined)

  const linkOf = async (actor: Actor, ref: string): Promise<[OwnedSetting, BridgeLink | undefined]> => {
    const setting = await settings.get(actor, ref)
    return [setting, links.get(setting.id)]
  }

  return {
    enabled: deps.enabled,
    endpoints: {
      list: async (actor, owner) => Promise.all((await settings.list(actor, owner)).map(show)),
      get: async (actor, ref) => show(await settings.get(actor, ref)),
      async create(actor, body) {
        const owner = actor.kind === 'user' ? { id: actor.userId, name: actor.name } : undefined
        if (!owner) throw new TypeError('An endpoint belongs to a user')
        const token = body.direction === 'inbound' ? newToken() : undefined
        const prepare = prepareEndpoint(body, await target(owner, body), { ...deps, ...makersBy(actor) }, token)
        const made = await settings.create(actor, undefined, prepare)
        await links.changed(made.owner.id)
        return { ...(await show(made)), ...(token ? { token: token.secret } : {}) }
      },
      async replace(actor, ref, body, options) {
        const before = await settings.get(actor, ref)
        const by = { ...deps, ...makersBy(actor) }
        const prepare = prepareEndpoint(body, await target(before.owner, body, before), by)
        const changed = await settings.replace(actor, ref, prepare, options)
        await links.changed(changed.owner.id)
        return show(changed)
      },
      async remove(actor, ref) {
        const { owner } = await settings.get(actor, ref)
        await settings.remove(actor, ref, async () => undefined)
        await links.changed(owner.id)
      },
    },
    async newToken(actor, ref, options) {
      const { direction } = endpointOf(await settings.get(actor, ref))
      if (direction !== 'inbound')
        throw new HubError('validation_failed', 'An endpoint that the hub dials has no token of its own', {
          hint: 'Replace its url by the one that the platform gives you.',
        })
      const token = newToken()
      const changed = await settings.replace(actor, ref, withToken(token, makersBy(actor).makers), options)
      await links.changed(changed.owner.id)
      return { ...(await show(changed)), token: token.secret }
    },
    async reconnect(actor, ref) {
      const [setting, link] = await linkOf(actor, ref)
      if (!link && !bridge()) throw disabled()
      link?.reconnect()
      return show(setting)
    },
    async messages(actor, ref) {
      const [, link] = await linkOf(actor, ref)
      return link?.messages() ?? []
    },
    async tools(actor, ref) {
      const setting = await settings.get(actor, ref)
      const by = deps.bridge()
      if (!by?.preview) throw new HubError(OFF, 'No plugin offers a bridge that lists the tools of an endpoint')
      return by.preview(unserved(setting))
    },
    async test(actor, ref) {
      const [setting, link] = await linkOf(actor, ref)
      const by = bridge()
      if (!by?.test) throw disabled()
      return tests.run(setting, async () => (await link?.test?.()) ?? (await by.test?.(unserved(setting))) ?? [])
    },
    async mirror(file) {
      const mirrored = await mirrorEndpoints(deps, file.get(ENDPOINTS.kind) ?? [])
      if (mirrored.changed) await links.changed()
      return mirrored
    },
    moving: (joined, things) =>
      movingEndpoints({ ...deps, store: joined, things, changed: () => void links.changed() }),
    hasBridge: () => deps.bridge() !== undefined,
    count: async actor => (await settings.list(actor)).length,
    async admit(credential) {
      if (!bridge()) throw disabled()
      await links.ready
      if (links.stopped) throw stopping()
      return acceptSocket(await admit({ links, failedCredentials, apiKey }, credential), allowance)
    },
    begin: () => links.begin(),
    stop: graceMs => links.stop(graceMs),
  }
}

/** Tests of endpoints: one of a user at a time, since each holds a connection for up to ten seconds. */
class EndpointTests {
  readonly #links: Links
  readonly #owners = new Set<string>()

  constructor(links: Links) {
    this.#links = links
  }

  async run({ id, owner }: OwnedSetting, work: () => Promise<readonly BridgeTestStep[]>): Promise<EndpointTest> {
    if (this.#owners.has(owner.id))
      throw new HubError('rate_limited', 'Another endpoint of this user is being tested', { retryAfterSeconds: 5 })
    this.#owners.add(owner.id)
    try {
      await this.#links.ended(id)
      const running = work()
      // One that is switched on meanwhile dials when the test is over.
      if (!this.#links.get(id)) this.#links.hold(id, running)
      const steps = await running
      return { ok: steps.every(({ outcome }) => outcome !== 'failed'), steps }
    } finally {
      this.#owners.delete(owner.id)
    }
  }
}

const OFF = 'assistant_disabled'

function stopping(): HubError {
  return new HubError('draining', 'The hub is stopping and takes no assistants', { retryAfterSeconds: 5 })
}

function disabled(): HubError {
  return new HubError(OFF, 'The hub serves no assistants: ASSISTANT_ENABLED is not true, or no plugin offers a bridge')
}
