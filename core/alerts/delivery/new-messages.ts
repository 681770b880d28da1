import { randomUUID } from 'node:crypto'
import { LIMITS } from '../../config/limits.ts'
import type { AlertDeliveryTable } from '../../store/alert-tables.ts'
import { pauses } from '../../store/pauses.ts'
import type { Writer } from '../../store/transact.ts'

/** Messages of one statement: each has 12 values. */
const WRITTEN_AT_ONCE = 100

/** The rule that the messages are about, with the id of its owner. */
export interface MessageOrigin {
  readonly ruleId: string
  readonly ownerId: string
}

/** The messages of one transaction: the data that they share is read once, and they are written together. */
export class NewMessages {
  readonly #trx: Writer
  readonly #origin: MessageOrigin
  readonly #at: string
  readonly #rows: AlertDeliveryTable[] = []
  /** Number of waiting messages by channel. */
  readonly #waiting = new Map<string, number>()

  /** `at`: ISO 8601 UTC. */
  constructor(trx: Writer, origin: MessageOrigin, at: string) {
    this.#trx = trx
    this.#origin = origin
    this.#at = at
  }

  /** Adds the message to each channel whose queue is not full. */
  async add(
    incidentId: string,
    channelIds: readonly string[],
    kind: AlertDeliveryTable['kind'],
    number = 0,
  ): Promise<void> {
    const { ruleId, ownerId } = this.#origin
    for (const channelId of channelIds) {
      const waiting = this.#waiting.get(channelId) ?? (await this.#countWaiting(channelId))
      this.#waiting.set(channelId, waiting)
      if (waiting >= LIMITS.alertDeliveriesWaiting) continue
      this.#waiting.set(channelId, waiting + 1)
      this.#rows.push({
        ...{ id: randomUUID(), owner_id: ownerId, channel_id: channelId, rule_id: ruleId, incident_id: incidentId },
        ...{ kind, number, message_id: null, state: 'waiting', attempts: 0, detail: null },
        ...{ created_at: this.#at, updated_at: this.#at },
      })
    }
  }

  /** Takes back what waits about an incident and is part of no message yet. */
  async drop(incidentId: string): Promise<void> {
    const dropped = await this.#trx
      .deleteFrom('alert_delivery')
      .where('incident_id', '=', incidentId)
      .where('state', '=', 'waiting')
      .where('message_id', 'is', null)
      .returning('channel_id')
      .execute()
    for (const { channel_id: channelId } of dropped) {
      const waiting = this.#waiting.get(channelId)
      if (waiting !== undefined) this.#waiting.set(channelId, waiting - 1)
    }
  }

  /** Returns the channels that have a new one. */
  async write(): Promise<readonly string[]> {
    const pause = pauses()
    for (let from = 0; from < this.#rows.length; from += WRITTEN_AT_ONCE) {
      const rows = this.#rows.slice(from, from + WRITTEN_AT_ONCE)
      await this.#trx.insertInto('alert_delivery').values(rows).execute()
      await pause()
    }
    return [...new Set(this.#rows.map(({ channel_id: channelId }) => channelId))]
  }

  async #countWaiting(channelId: string): Promise<number> {
    const { waiting } = await this.#trx
      .selectFrom('alert_delivery')
      .select(({ fn }) => fn.countAll<number | string>().as('waiting'))
      .where('channel_id', '=', channelId)
      .where('state', 'in', ['waiting', 'failed'])
      .executeTakeFirstOrThrow()
    return Number(waiting)
  }
}

/** Channels that got the message that an incident fired, or may have got it. */
export async function notifiedChannels(trx: Writer, incidentId: string): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom('alert_delivery')
    .select('channel_id')
    .where('incident_id', '=', incidentId)
    .where('kind', '=', 'fired')
    .where('message_id', 'is not', null)
    .where('state', '!=', 'dead')
    .execute()
  return rows.map(({ channel_id: channelId }) => channelId)
}
