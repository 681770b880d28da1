import { TokenBuckets } from '../auth/rate-limit.ts'
import type { FileRecords } from '../config/shape/sections.ts'
import type { Upstreams } from '../connections/api.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { Actor, Role, UserActor } from '../contract/records.ts'
import { addressRights } from '../domain/address.ts'
import type { OutboundProxy } from '../domain/outbound/proxy.ts'
import { isAdmin } from '../domain/ownership.ts'
import type { EventBus } from '../events/bus.ts'
import type { Notice } from '../features/alerts.ts'
import type { StoredRecords } from '../features/log-store.ts'
import { createGuardedFetch } from '../outbound/create.ts'
import { createLookup } from '../outbound/lookup.ts'
import { resolveHost } from '../outbound/targets.ts'
import type { Page, Registry } from '../registry/api.ts'
import { withLimit } from '../registry/owned/limits.ts'
import type { Mirrored } from '../registry/owned/mirror.ts'
import type { MovingRecords } from '../registry/owned/moving.ts'
import { roleOf } from '../registry/owned/place.ts'
import type { OwnedRecords } from '../registry/owned/records.ts'
import { activeSettings, type OwnedSetting, OwnedSettings, settingView } from '../registry/owned/settings.ts'
import type { Sealer } from '../secrets/seal.ts'
import type { Store } from '../store/open.ts'
import { read } from '../store/transact.ts'
import { CHANNELS, type ChannelTypes, channelTypesFor, channelView, prepareChannel } from './channels.ts'
import { Notices } from './delivery/notices.ts'
import { Outbox, type Reach } from './delivery/outbox.ts'
import { AlertEngine } from './engine.ts'
import { mirrorAlerts } from './file-settings.ts'
import type { HubFactsDeps } from './hub-facts.ts'
import { pruneIncidents } from './incident-retention.ts'
import {
  acknowledge,
  countFiring,
  deliveriesOf,
  endIncidents,
  type IncidentQuery,
  listIncidents,
  retryDelivery,
} from './incidents.ts'
import type { MachineSource } from './machine-facts.ts'
import { movingAlerts } from './moving.ts'
import { previewRule } from './preview-rule.ts'
import { RuleFacts, type RuleFactsDeps } from './rule-facts.ts'
import { activeRule, checkChannels, prepareRule, RULES, ruleView } from './rules.ts'
import { Silences, type StoredSilence } from './silences.ts'
import { testChannel, testRule } from './test-rule.ts'

const PRUNE_MS = 60 * 60_000
/** Trial messages to all channels of one owner. */
const TESTS_PER_MINUTE = 6

/** Dependencies of the alerts on the rest of the hub. */
export interface AlertsDeps
  extends Omit<MachineSource, 'now'>,
    Pick<HubFactsDeps, 'custom' | 'onRecord'>,
    Pick<RuleFactsDeps, 'metrics'> {
  readonly store: Store
  readonly registry: { readonly servers: Pick<Registry['servers'], 'list'> }
  readonly upstreams: Pick<Upstreams, 'status'>
  readonly bus: EventBus
  readonly sealer: Sealer
  readonly log: PluginLogger
  readonly types: () => ChannelTypes
  /** Networks (CIDR) that all users may connect to. */
  readonly outboundAllow: readonly string[]
  readonly outboundProxy?: OutboundProxy | undefined
  readonly instanceId: string
  /** Called for each attempt to send a message of the outbox. */
  readonly delivered: (type: string, result: 'sent' | 'failed' | 'dead') => void
  /** Milliseconds of a monotonic clock. Default: `performance.now`. */
  readonly now?: () => number
}

type AlertLimit = 'alertRulesPerUser' | 'alertChannelsPerUser' | 'alertSilencesPerUser' | 'alertInstancesPerUser'

/** Alert rules, their results, and the channels that get the messages. */
export interface Alerts {
  readonly rules: OwnedRecords
  readonly channels: OwnedRecords
  readonly silences: {
    list(actor: Actor, ownerName?: string): Promise<readonly StoredSilence[]>
    create(actor: Actor, body: JsonObject): Promise<StoredSilence>
    remove(actor: Actor, id: string): Promise<void>
  }
  list(actor: Actor, query: IncidentQuery): Promise<Page<JsonObject>>
  /** Number of firing alerts of all owners, by severity. */
  firing(): Promise<{ readonly warning: number; readonly critical: number }>
  /** The actor's use of each limit, by the name of the limit. */
  usage(actor: Actor): Promise<Readonly<Record<AlertLimit, number>>>
  /** Ends the repeats of an alert. Throws `alert_not_found`. */
  acknowledge(actor: Actor, id: string): Promise<JsonObject>
  /** Throws `rule_not_found`, `not_owner` for `send` by another user, and `rate_limited` beyond 6 trial messages a minute. */
  test(actor: Actor, ref: string, send: boolean): Promise<JsonObject>
  /** Sends a trial message to one channel. Throws `channel_not_found`, and `rate_limited` as `test`. */
  testChannel(actor: Actor, ref: string): Promise<JsonObject>
  /** Result of a rule of the actor, now and over the last 24 hours. Throws `validation_failed`. */
  preview(actor: UserActor, body: JsonObject, records: Pick<StoredRecords, 'measure'> | undefined): Promise<JsonObject>
  /** Types of channels that an owner with this role may create. */
  channelTypes(owner: { readonly role: Role }): readonly JsonObject[]
  /** Channels of all active owners, by their type. */
  channelCounts(): Promise<ReadonlyMap<unknown, number>>
  /** Sends a message that is about no alert to a user, by the user's channels. See `PluginContext`. */
  notify(userId: string, notice: Notice): Promise<number>
  deliveries(
    actor: Actor,
    channel: string,
    query: { readonly limit: number; readonly offset: number },
  ): Promise<Page<JsonObject>>
  retry(actor: Actor, channel: string, id: string): Promise<void>
  /** Takes over the rules and channels of the settings file; see `mirrorAlerts`. */
  mirror(file: FileRecords): Promise<Mirrored>
  /** Rules and channels as they move between hubs. */
  moving(store: Store): readonly MovingRecords[]
  /** Starts to evaluate and to send. */
  begin(): Promise<void>
  dispose(): Promise<void>
}

/** Builds the alerts on an open store; `begin` starts them. */
export function createAlerts(deps: AlertsDeps): Alerts {
  const { store, sealer, types, log, now = () => performance.now() } = deps
  const outbox = new Outbox({ store, sealer, log, types, now, reachFor: ownersReach(deps), delivered: deps.delivered })
  const notices = new Notices({ store, outbox, log, types, now, delivered: deps.delivered })
  const facts = new RuleFacts({ ...deps, now, stateChanged: () => engine.stateChanged() })
  const wake = outbox.wake.bind(outbox)
  const engine: AlertEngine = new AlertEngine({ store, bus: deps.bus, log, facts, now, wake })
  const changed = (): void => engine.rulesChanged()
  const released = (): void => void outbox.wakeAll().catch((error: unknown) => log.warn('Alerts wait', { error }))
  const rules = new OwnedSettings(store, RULES, changed)
  const channels = new OwnedSettings(store, CHANNELS, released)
  const silences = new Silences(store, released)
  const unlisten = deps.bus.on('user.updated', changed)
  const tests = new TokenBuckets({ perSecond: TESTS_PER_MINUTE / 60, burst: TESTS_PER_MINUTE, now })
  let prune: ReturnType<typeof setInterval> | undefined

  const showRule = (actor: Actor, setting: OwnedSetting): JsonObject => {
    const { state, code, message } = engine.health(setting.id) ?? { state: 'ok' }
    // Subjects of others, for an administrator outside ADMIN_ADDRESSES.
    const isSeen = isAdmin(actor) || setting.owner.role !== 'admin'
    const pending = (isSeen ? engine.pending(setting.id) : []).map(({ subject, inMs }) => {
      return { subject, firesAt: new Date(Date.now() + inMs).toISOString() }
    })
    return {
      ...settingView(setting, ruleView(setting)),
      health: { state, ...(code === undefined ? {} : { code }), ...(message === undefined ? {} : { message }) },
      ...(pending.length === 0 ? {} : { pending }),
    }
  }
  const showChannel = (setting: OwnedSetting): JsonObject => settingView(setting, channelView(setting, sealer))

  const prepared = async (actor: Actor, body: JsonObject, owner?: string) => {
    const prepare = prepareRule(body, facts)
    const known = (await channels.list(actor, owner)).map(({ name }) => name)
    checkChannels(body, known)
    return prepare
  }

  return {
    rules: {
      list: async (actor, owner) => (await rules.list(actor, owner)).map(rule => showRule(actor, rule)),
      get: async (actor, ref) => showRule(actor, await rules.get(actor, ref)),
      create: async (actor, body) => showRule(actor, await rules.create(actor, undefined, await prepared(actor, body))),
      async replace(actor, ref, body, options) {
        const { owner } = await rules.get(actor, ref)
        return showRule(actor, await rules.replace(actor, ref, await prepared(actor, body, owner.name), options))
      },
      async remove(actor, ref) {
        let wakeChannels = (): void => undefined
        await rules.remove(actor, ref, async (trx, { id }) => {
          const woken = await endIncidents(trx, id)
          wakeChannels = () => outbox.wake(id, woken)
        })
        wakeChannels()
      },
    },
    channels: {
      list: async (actor, owner) => (await channels.list(actor, owner)).map(showChannel),
      get: async (actor, ref) => showChannel(await channels.get(actor, ref)),
      async create(actor, body) {
        return showChannel(await channels.create(actor, undefined, prepareChannel(actor, body, deps)))
      },
      async replace(actor, ref, body, options) {
        const prepare = prepareChannel(actor, body, deps)
        return showChannel(await channels.replace(actor, ref, prepare, options))
      },
      remove: (actor, ref) => channels.remove(actor, ref, async () => undefined),
    },
    silences,
    list: (actor, query) => listIncidents(store, actor, query),
    firing: () => countFiring(store),
    async channelCounts() {
      const all = await read(store, db => activeSettings(db, CHANNELS))
      return new Map([...Map.groupBy(all, ({ body }) => body.type)].map(([type, some]) => [type, some.length]))
    },
    async usage(actor) {
      const [ownRules, ownChannels, ownSilences] = await Promise.all([
        rules.list(actor),
        channels.list(actor),
        silences.list(actor),
      ])
      return {
        alertRulesPerUser: ownRules.length,
        alertChannelsPerUser: ownChannels.length,
        alertSilencesPerUser: ownSilences.length,
        alertInstancesPerUser: actor.kind === 'user' ? engine.subjectsOf(actor.userId) : 0,
      }
    },
    acknowledge: (actor, id) => acknowledge(store, actor, id),
    async test(actor, ref, send) {
      const [rule] = activeRule(await rules.get(actor, ref))
      if (!rule) throw new Error('A stored rule cannot be read')
      if (send && actor.kind === 'user' && actor.userId !== rule.owner.id) throw ownersOnly()
      if (send) refuseTooManyTests(tests, rule.owner.id)
      // Elsewhere than at ADMIN_ADDRESSES an administrator sees no more than an ordinary user.
      const seen = { ...rule, owner: withLimit(rule.owner, !isAdmin(actor)) }
      return testRule({ store, facts, engine, outbox, log }, seen, send)
    },
    async testChannel(actor, ref) {
      const channel = await channels.get(actor, ref)
      refuseTooManyTests(tests, channel.owner.id)
      return testChannel({ store, outbox, log }, channel)
    },
    preview: (actor, body, stored) => previewRule(facts, actor, body, stored),
    notify: (userId, notice) => notices.notify(userId, notice),
    channelTypes: owner => channelTypesFor(types(), owner),
    async deliveries(actor, channel, query) {
      return deliveriesOf(store, (await channels.get(actor, channel)).id, query)
    },
    async retry(actor, channel, id) {
      await retryDelivery(store, (await channels.get(actor, channel)).id, id)
      await outbox.wakeAll()
    },
    async mirror(file) {
      const mirrored = await mirrorAlerts({ ...deps, facts }, file)
      if (mirrored.changed) {
        changed()
        released()
      }
      return mirrored
    },
    moving: joined => movingAlerts({ ...deps, store: joined, facts, changed, released }),
    async begin() {
      await outbox.begin()
      await engine.begin()
      prune = setInterval(() => {
        pruneIncidents(store, new Date()).catch((error: unknown) => log.warn('Old alerts stay for now', { error }))
      }, PRUNE_MS)
    },
    async dispose() {
      clearInterval(prune)
      unlisten()
      await engine.dispose()
      await outbox.dispose()
      facts.dispose()
    },
  }
}

function ownersOnly(): HubError {
  return new HubError(
    'not_owner',
    'Only the owner of a rule sends trial messages by it, to channels of the same owner',
    {
      hint: 'Send "send": false to hear what the rule says now.',
    },
  )
}

/** Throws `rate_limited`. */
function refuseTooManyTests(tests: TokenBuckets, ownerId: string): void {
  const seconds = tests.take(ownerId)
  if (seconds === 0) return
  throw new HubError('rate_limited', `Trial messages are sent ${TESTS_PER_MINUTE} times a minute at most`, {
    retryAfterSeconds: Math.ceil(seconds),
  })
}

/** Clients with the address rights of an owner, which are read for each message. */
function ownersReach({ store, instanceId, ...outbound }: AlertsDeps) {
  const lookup = createLookup()
  const reachOf = (admin: boolean): Reach => {
    const rights = addressRights(outbound, admin)
    return {
      fetch: createGuardedFetch({ rights, instanceId, lookup }),
      resolve: host => resolveHost(host, rights, lookup),
    }
  }
  const reaches = { admin: reachOf(true), user: reachOf(false) }
  return async ({ owner, limited }: Pick<OwnedSetting, 'owner' | 'limited'>): Promise<Reach | undefined> => {
    const role = await read(store, db => roleOf(db, owner.id))
    return role && reaches[limited ? 'user' : role]
  }
}
