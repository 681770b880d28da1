import type { Insertable } from 'kysely'
import type { JsonObject } from '../contract/json.ts'
import type { Actor } from '../contract/records.ts'
import { nameKey } from '../domain/names.ts'
import { isAdmin } from '../domain/ownership.ts'
import type { AuditTable } from '../store/tables.ts'
import { read, write } from '../store/transact.ts'
import type { AuditEntry, AuditRegistry, Page } from './api.ts'
import { type RegistryDeps, timestamp } from './context.ts'
import { auditItem } from './rows.ts'

const FLUSH_MS = 500
/** More than this many are not kept while the database does not answer: the oldest go, and are counted. */
const QUEUE = 10_000
const BATCH = 500

export class Audit implements AuditRegistry {
  readonly #deps: RegistryDeps
  #queue: Insertable<AuditTable>[] = []
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: RegistryDeps) {
    this.#deps = deps
  }

  record(actor: Actor, entry: AuditEntry): void {
    this.#queue.push({
      at: timestamp(this.#deps),
      user_id: actor.kind === 'user' ? actor.userId : null,
      user_name: actor.kind === 'user' ? actor.name : actor.purpose,
      action: entry.action,
      owner_id: entry.ownerId,
      target: this.#deps.redactor.text(entry.target),
      request_id: entry.requestId ?? null,
      detail: JSON.stringify(this.#deps.redactor.record(entry.detail ?? {})),
    })
    if (this.#queue.length > QUEUE) {
      this.#queue.shift()
      this.#dropped += 1
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      // Kept in the queue, and tried again with the next record.
      this.flush().catch(() => undefined)
    }, FLUSH_MS).unref()
  }

  /** Records that were lost because the database did not answer for too long. */
  get dropped(): number {
    return this.#dropped
  }

  flush(): Promise<void> {
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#drain())
    return this.#writing
  }

  async list(
    actor: Actor,
    query: { limit: number; offset: number; action?: string; user?: string },
  ): Promise<Page<JsonObject>> {
    return read(this.#deps.store, async db => {
      let filtered = db.selectFrom('audit')
      if (!isAdmin(actor) && actor.kind === 'user') {
        const { userId } = actor
        filtered = filtered.where(({ or, eb }) => or([eb('user_id', '=', userId), eb('owner_id', '=', userId)]))
      }
      if (query.action !== undefined) filtered = filtered.where('action', '=', query.action)
      if (query.user !== undefined) {
        const key = nameKey(query.user)
        const user = await db.selectFrom('user').select('id').where('name_key', '=', key).executeTakeFirst()
        const name = query.user
        // Users that are gone are found by the name that was written down.
        filtered = user ? filtered.where('user_id', '=', user.id) : filtered.where('user_name', '=', name)
      }
      const { total } = await filtered.select(({ fn }) => fn.countAll().as('total')).executeTakeFirstOrThrow()
      const rows = await filtered.selectAll().orderBy('id', 'desc').limit(query.limit).offset(query.offset).execute()
      return { items: rows.map(auditItem), total: Number(total) }
    })
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.flush()
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, BATCH)
      await write(this.#deps.store, async trx => {
        await trx.insertInto('audit').values(batch).execute()
      })
      const written = new Set(batch)
      this.#queue = this.#queue.filter(record => !written.has(record))
    }
  }
}
