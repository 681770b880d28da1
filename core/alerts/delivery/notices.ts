import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { TokenBuckets } from '../../auth/rate-limit.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { Notice, NoticeMessage } from '../../features/alerts.ts'
import { activeSettings, type OwnedSetting } from '../../registry/owned/settings.ts'
import type { Store } from '../../store/open.ts'
import { read } from '../../store/transact.ts'
import { CHANNELS, type ChannelTypes, channelOf } from '../channels.ts'
import type { Outbox } from './outbox.ts'

const PER_MINUTE = 6
/** Waits after failed attempts: a notice is of use for minutes, so that there are few. */
const RETRY_MS = [1_000, 10_000] as const

/** Dependencies of {@link Notices}. */
export interface NoticesDeps {
  readonly store: Store
  readonly outbox: Pick<Outbox, 'notify' | 'stopping'>
  readonly log: Pick<PluginLogger, 'warn'>
  readonly types: () => ChannelTypes
  readonly delivered: (type: string, result: 'sent' | 'failed' | 'dead') => void
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

/** Sends messages that are about no alert to users, by their own channels. A channel that fails delays no other one. */
export class Notices {
  readonly #deps: NoticesDeps
  readonly #recent: TokenBuckets

  constructor(deps: NoticesDeps) {
    this.#deps = deps
    this.#recent = new TokenBuckets({ perSecond: PER_MINUTE / 60, burst: PER_MINUTE, now: deps.now })
  }

  /** Resolves with the number of channels that took it. Never rejects. */
  async notify(userId: string, notice: Notice): Promise<number> {
    const { store, types, log } = this.#deps
    try {
      const all = await read(store, db => activeSettings(db, CHANNELS, { ownerId: userId }))
      const open = all.filter(one => channelOf(one).enabled && types().get(channelOf(one).type)?.notify)
      if (open.length === 0 || this.#recent.take(userId) > 0) return 0
      const sent = { id: `msg_${randomUUID()}`, at: new Date().toISOString(), ...notice }
      const took = await Promise.all(open.map(one => this.#deliver(one, { ...sent, owner: one.owner.name })))
      return took.filter(Boolean).length
    } catch (error) {
      log.warn('A message to a user could not be sent', { error })
      return 0
    }
  }

  /** True when the channel took it. */
  async #deliver(channel: OwnedSetting, message: NoticeMessage): Promise<boolean> {
    const { outbox, delivered, log } = this.#deps
    const { type } = channelOf(channel)
    for (let attempt = 0; ; attempt += 1) {
      const { ok, permanent, detail, retryAfterMs = 0 } = await outbox.notify(channel, message)
      const waitMs = RETRY_MS[attempt]
      const isOver = permanent === true || waitMs === undefined || retryAfterMs > waitMs || outbox.stopping.aborted
      delivered(type, ok ? 'sent' : isOver ? 'dead' : 'failed')
      if (ok) return true
      if (isOver) {
        log.warn('A message to a user was not taken', { channel: channel.name, detail })
        return false
      }
      await sleep(waitMs, undefined, { signal: outbox.stopping }).catch(() => undefined)
    }
  }
}
