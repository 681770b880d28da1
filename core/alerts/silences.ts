import { randomUUID } from 'node:crypto'
import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { Actor } from '../contract/records.ts'
import { parseSilence, type Silence } from '../domain/alerts/silence.ts'
import { isAdmin } from '../domain/ownership.ts'
import { missing, ownerFor } from '../registry/owned/place.ts'
import { withinStoredBytes } from '../registry/stored-bytes.ts'
import type { AlertSilenceTable } from '../store/alert-tables.ts'
import type { Store } from '../store/open.ts'
import { type Reader, read, write } from '../store/transact.ts'

/** A stored silence. */
export interface StoredSilence extends Silence {
  readonly id: string
  readonly createdAt: string
}

/** Silences in the store. Others' are answered as if they were missing. Those that are over go after a day. */
export class Silences {
  readonly #store: Store
  readonly #changed: () => void

  constructor(store: Store, changed: () => void) {
    this.#store = store
    this.#changed = changed
  }

  list(actor: Actor, ownerName?: string): Promise<readonly StoredSilence[]> {
    return read(this.#store, async db => silencesOf(db, (await ownerFor(db, actor, ownerName)).id))
  }

  /** Throws `validation_failed`, `quota_silences`, `quota_stored_bytes`. */
  create(actor: Actor, body: JsonObject): Promise<StoredSilence> {
    const now = new Date()
    const silence = parseSilence(body, now.getTime())
    return write(this.#store, async (trx, after) => {
      const owner = await ownerFor(trx, actor, undefined)
      await trx
        .deleteFrom('alert_silence')
        .where('owner_id', '=', owner.id)
        .where('ends_at', '<', new Date(now.getTime() - 24 * 60 * 60_000).toISOString())
        .execute()
      const most = LIMITS.alertSilencesPerUser
      if (owner.role !== 'admin' && (await silencesOf(trx, owner.id)).length >= most) {
        throw new HubError('quota_silences', `A user may have ${most} silences`)
      }
      const row: AlertSilenceTable = {
        ...{ id: randomUUID(), owner_id: owner.id, comment: silence.comment, created_at: now.toISOString() },
        ...{ rule: silence.rule ?? null, server: silence.server ?? null, severity: silence.severity ?? null },
        ...{ starts_at: silence.startsAt, ends_at: silence.endsAt },
      }
      await withinStoredBytes(trx, owner, () => trx.insertInto('alert_silence').values(row).execute())
      after(this.#changed)
      return silenceOf(row)
    })
  }

  /** Ends a silence now. Throws `silence_not_found`. */
  remove(actor: Actor, id: string): Promise<void> {
    return write(this.#store, async (trx, after) => {
      const row = await trx.selectFrom('alert_silence').selectAll().where('id', '=', id).executeTakeFirst()
      const isOwn = actor.kind === 'user' && row?.owner_id === actor.userId
      if (!row || !(isOwn || isAdmin(actor))) throw missing('silence_not_found', id)
      await trx.deleteFrom('alert_silence').where('id', '=', id).execute()
      after(this.#changed)
    })
  }
}

/** The silences of one owner, the earliest end first. */
export async function silencesOf(db: Reader, ownerId: string): Promise<readonly StoredSilence[]> {
  const rows = await db
    .selectFrom('alert_silence')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .orderBy('ends_at')
    .orderBy('id')
    .execute()
  return rows.map(silenceOf)
}

function silenceOf(row: AlertSilenceTable): StoredSilence {
  const { id, rule, server, severity, comment, starts_at: startsAt, ends_at: endsAt, created_at: createdAt } = row
  const matchers = { ...(rule ? { rule } : {}), ...(server ? { server } : {}), ...(severity ? { severity } : {}) }
  return { id, ...matchers, comment, startsAt, endsAt, createdAt }
}
