import { randomUUID } from 'node:crypto'
import { type ErrorCode, HubError } from '../../contract/errors.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import { nextTurn } from '../../domain/next-turn.ts'
import { visibleText } from '../../domain/text/visible-text.ts'
import type { AlertMessage, ChannelTarget, NoticeMessage, NotificationChannel } from '../../features/alerts.ts'
import { activeSettings, type OwnedSetting } from '../../registry/owned/settings.ts'
import type { Sealer } from '../../secrets/seal.ts'
import type { Store } from '../../store/open.ts'
import { read, write } from '../../store/transact.ts'
import { CHANNELS, type ChannelTypes, channelOf, openConfig, refuseOthers } from '../channels.ts'
import { faultOf, faultText } from './delivery-fault.ts'
import { type ReadyMessage, readyMessage, shownMessage, shownNotice } from './messages.ts'

const SEND_MS = 10_000
/** Time for which the first change of a rule waits for others, and later ones after a message, in milliseconds. */
const GROUP_WAIT_MS = { first: 5_000, next: 60_000 } as const
/** Waits after failed attempts; the last one for all further ones, for about a day. */
const RETRY_MS = [1_000, 5_000, 25_000, 300_000] as const
const MOST_ATTEMPTS = 3 + 288
/** Interval at which messages that are held back are checked, in milliseconds. */
const HELD_MS = 10_000

/** Outbound access of one channel. */
export type Reach = Pick<ChannelTarget, 'fetch' | 'resolve'>

/** Dependencies of the outbox. */
export interface OutboxDeps {
  readonly store: Store
  readonly sealer: Sealer
  readonly log: PluginLogger
  readonly types: () => ChannelTypes
  readonly delivered: (type: string, result: 'sent' | 'failed' | 'dead') => void
  /**
   * Clients with the owner's present rights, limited to those of the channel. Undefined when the account does not exist or is
   * disabled.
   */
  readonly reachFor: (channel: Pick<OwnedSetting, 'owner' | 'limited'>) => Promise<Reach | undefined>
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

/** Result of one attempt. */
export interface Delivered {
  readonly ok: boolean
  /** Code of a failure; `detail` begins with it. */
  readonly code?: ErrorCode
  readonly detail: string
  readonly permanent?: boolean
  readonly retryAfterMs?: number
}

type Attempt = (kind: NotificationChannel, to: ChannelTarget, signal: AbortSignal) => Promise<string>

interface Queue {
  readonly channelId: string
  readonly ruleId: string
  dueMs: number
}

/**
 * Sends the stored messages of channels: one message at a time for each channel, later ones of a rule merged. A message that may
 * have been sent is sent again with the same id, also by the next process.
 */
export class Outbox {
  readonly #deps: OutboxDeps
  readonly #queues = new Map<string, Queue>()
  readonly #sentMs = new Map<string, number>()
  readonly #sendTimes = new Map<string, number[]>()
  readonly #busy = new Set<string>()
  readonly #running = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #turn: Promise<void> = Promise.resolve()

  constructor(deps: OutboxDeps) {
    this.#deps = deps
  }

  /** Starts sending the messages that an earlier process left. */
  async begin(): Promise<void> {
    const rows = await read(this.#deps.store, db =>
      db
        .selectFrom('alert_delivery')
        .select(['channel_id', 'rule_id'])
        .distinct()
        .where('state', 'in', ['waiting', 'failed'])
        .where('incident_id', 'is not', null)
        .execute(),
    )
    for (const { channel_id: channelId, rule_id: ruleId } of rows) this.#add(channelId, ruleId, this.#deps.now())
    this.#schedule()
  }

  /** Something new waits for these channels. */
  wake(ruleId: string, channelIds: readonly string[]): void {
    const nowMs = this.#deps.now()
    for (const channelId of channelIds) {
      const sentMs = this.#sentMs.get(keyOf(channelId, ruleId)) ?? Number.NEGATIVE_INFINITY
      this.#add(channelId, ruleId, Math.max(nowMs + GROUP_WAIT_MS.first, sentMs + GROUP_WAIT_MS.next))
    }
    this.#schedule()
  }

  /** Checks all waiting messages now, because a silence ended or a delivery was requested again. */
  async wakeAll(): Promise<void> {
    const nowMs = this.#deps.now()
    for (const queue of this.#queues.values()) queue.dueMs = Math.min(queue.dueMs, nowMs + HELD_MS)
    await this.begin()
  }

  /** Sends a message at once, bypassing the queue. Never rejects. */
  send(channel: OwnedSetting, message: AlertMessage): Promise<Delivered> {
    return this.#attempt(channel, (kind, to, signal) => kind.send(shownMessage(message), to, signal))
  }

  /** The same for a message about something else. */
  notify(channel: OwnedSetting, message: NoticeMessage): Promise<Delivered> {
    return this.#attempt(channel, (kind, to, signal) => {
      if (kind.notify) return kind.notify(shownNotice(message), to, signal)
      throw new HubError('delivery_failed', 'Channels of this type send alerts alone', { data: { permanent: true } })
    })
  }

  /** Aborts when the hub stops. */
  get stopping(): AbortSignal {
    return this.#stop.signal
  }

  async #attempt(channel: OwnedSetting, send: Attempt): Promise<Delivered> {
    try {
      const { type } = channelOf(channel)
      const kind = this.#deps.types().get(type)
      if (!kind)
        return {
          ok: false,
          ...faultText('channel_type_unavailable', `No plugin offers channels of the type "${type}"`),
        }
      refuseOthers(kind, channel.owner, channelOf(channel).config)
      const reach = await this.#deps.reachFor(channel)
      if (!reach)
        return { ok: false, ...faultText('owner_disabled', 'The account of its owner is disabled'), permanent: true }
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(SEND_MS)])
      const config = openConfig(channel, this.#deps.sealer)
      const answer = await withAbort(send(kind, { config, ...reach }, signal), signal)
      return { ok: true, detail: visibleText(answer) }
    } catch (error) {
      return failure(error)
    }
  }

  async dispose(): Promise<void> {
    clearTimeout(this.#timer)
    this.#stop.abort(new HubError('draining', 'The hub is stopping'))
    await Promise.all(this.#running)
  }

  #add(channelId: string, ruleId: string, dueMs: number): void {
    const key = keyOf(channelId, ruleId)
    const known = this.#queues.get(key)
    if (known) known.dueMs = Math.min(known.dueMs, dueMs)
    else this.#queues.set(key, { channelId, ruleId, dueMs })
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    if (this.#stop.signal.aborted) return
    const free = [...this.#queues.values()].filter(({ channelId }) => !this.#busy.has(channelId))
    if (free.length === 0) return
    const inMs = Math.max(0, Math.min(...free.map(({ dueMs }) => dueMs)) - this.#deps.now())
    this.#timer = setTimeout(() => this.#run(), Math.min(Math.ceil(inMs), 60_000))
  }

  #run(): void {
    const nowMs = this.#deps.now()
    for (const queue of [...this.#queues.values()].toSorted((a, b) => a.dueMs - b.dueMs)) {
      if (queue.dueMs > nowMs || this.#busy.has(queue.channelId)) continue
      this.#busy.add(queue.channelId)
      const work = this.#sendNext(queue)
        .catch((error: unknown) => {
          this.#deps.log.error('Messages about alerts cannot be sent', { error })
          queue.dueMs = this.#deps.now() + HELD_MS
        })
        .then(() => {
          this.#busy.delete(queue.channelId)
          this.#running.delete(work)
          this.#schedule()
        })
      this.#running.add(work)
    }
    this.#schedule()
  }

  async #sendNext(queue: Queue): Promise<void> {
    const { store, now } = this.#deps
    await this.#ownTurn()
    const waitMs = await this.#paceMs(queue)
    if (waitMs > 0) {
      queue.dueMs = now() + waitMs
      return
    }
    // From here on a wake makes the queue due again.
    queue.dueMs = Number.POSITIVE_INFINITY
    const found = await write(store, trx => readyMessage(trx, queue, `msg_${randomUUID()}`, new Date().toISOString()))
    if (found === 'none' || found === 'held') {
      if (found === 'none' && queue.dueMs === Number.POSITIVE_INFINITY)
        this.#queues.delete(keyOf(queue.channelId, queue.ruleId))
      else queue.dueMs = Math.min(queue.dueMs, now() + HELD_MS)
      return
    }
    const outcome = await this.send(found.channel, found.message)
    // Cut off by the end of the hub: the next process sends it again under the same id.
    if (this.#stop.signal.aborted && !outcome.ok) return
    await this.#ownTurn()
    await this.#settle(found, outcome)
    this.#sentMs.set(keyOf(queue.channelId, queue.ruleId), now())
    queue.dueMs = Math.min(queue.dueMs, now() + waitAfter(outcome, found.attempts))
  }

  /**
   * Waits for a turn of the event loop of its own, so that due messages of many channels, or their results, are handled one
   * channel per turn.
   */
  #ownTurn(): Promise<void> {
    this.#turn = this.#turn.then(nextTurn)
    return this.#turn
  }

  async #settle({ rows, attempts, channel }: ReadyMessage, outcome: Delivered): Promise<void> {
    const isOver = outcome.permanent === true || attempts + 1 >= MOST_ATTEMPTS
    const state: 'sent' | 'failed' | 'dead' = outcome.ok ? 'sent' : isOver ? 'dead' : 'failed'
    const change = { state, attempts: attempts + 1, detail: outcome.detail, updated_at: new Date().toISOString() }
    await write(this.#deps.store, trx =>
      trx
        .updateTable('alert_delivery')
        .set(change)
        .where('id', 'in', [...rows])
        .execute(),
    )
    this.#deps.delivered(channelOf(channel).type, state)
    if (state === 'dead' || (state === 'failed' && attempts === 0)) {
      const { log } = this.#deps
      log.warn('A message about an alert was not taken', { channel: channel.name, state, detail: outcome.detail })
    }
  }

  /** Milliseconds that the channel must wait because of its own rate limit. */
  async #paceMs({ channelId }: Queue): Promise<number> {
    const [channel] = await read(this.#deps.store, db => activeSettings(db, CHANNELS, { id: channelId }))
    const most = channel && this.#deps.types().get(channelOf(channel).type)?.maxPerMinute
    if (most === undefined) return 0
    const nowMs = this.#deps.now()
    const times = (this.#sendTimes.get(channelId) ?? []).filter(at => at > nowMs - 60_000)
    this.#sendTimes.set(channelId, times)
    const [oldest = nowMs] = times
    if (times.length >= most) return oldest + 60_000 - nowMs
    times.push(nowMs)
    return 0
  }
}

/** After a success or a permanent failure, the next waiting message is handled at once. */
function waitAfter(outcome: Delivered, attempts: number): number {
  if (outcome.ok || outcome.permanent) return 0
  const usual = RETRY_MS[Math.min(attempts, RETRY_MS.length - 1)] ?? 0
  return Math.max(usual, Math.min(outcome.retryAfterMs ?? 0, 60 * 60_000))
}

function failure(error: unknown): Delivered {
  const failed = { ok: false, ...faultOf(error) }
  if (!(error instanceof HubError)) return failed
  const refused = ['url_address_blocked', 'admin_only', 'config_invalid'].includes(error.code)
  const { retryAfterMs } = error.data ?? {}
  const wait = typeof retryAfterMs === 'number' ? { retryAfterMs } : {}
  const permanent = refused || error.data?.permanent === true
  return { ...failed, ...(permanent ? { permanent } : {}), ...wait }
}

/** A channel that does not heed its signal is not waited for. */
function withAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new HubError('delivery_failed', `No outcome within ${SEND_MS / 1_000} s`))
    signal.addEventListener('abort', late, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', late))
  })
}

function keyOf(channelId: string, ruleId: string): string {
  return `${channelId} ${ruleId}`
}
