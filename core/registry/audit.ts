import type { Insertable } from 'kysely'
import { LIMITS } from '../config/limits.ts'
import type { JsonObject } from '../contract/json.ts'
import type { Actor } from '../contract/records.ts'
import { nameKey } from '../domain/names.ts'
import { isAdmin } from '../domain/ownership.ts'
import { Redactor } from '../secrets/redact.ts'
import type { AuditTable } from '../store/tables.ts'
import { type Reader, read, write } from '../store/transact.ts'
import type { AuditEntry, AuditRegistry, Page } from './api.ts'
import { trimAudit } from './audit-retention.ts'
import { AuditShares, type SkippedRows } from './audit-shares.ts'
import { type RegistryDeps, timestamp } from './context.ts'
import { auditItem } from './rows.ts'

const FLUSH_MS = 500
/** Queue limit while the database does not respond: the oldest records are dropped and counted. */
const QUEUE = 10_000
const BATCH = 500

const FIRST_TRIM_MS = 60_000
const TRIM_MS = 60 * 60_000
const TARGET_CHARACTERS = 512

type Whose = Pick<Insertable<AuditTable>, 'user_id' | 'user_name' | 'owner_id'>

/** The audit log in the store. */
export class Audit implements AuditRegistry {
  readonly #deps: RegistryDeps
  /** Redacts by key only: one user's secrets must not change a record that another user reads. */
  readonly #byKey = new Redactor()
  #queue: Insertable<AuditTable>[] = []
  readonly #shares = new AuditShares<Whose>()
  #trimming: NodeJS.Timeout | undefined
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: RegistryDeps) {
    this.#deps = deps
    this.#trimLater(FIRST_TRIM_MS)
  }

  record(actor: Actor, entry: AuditEntry): void {
    const whose = {
      user_id: actor.kind === 'user' ? actor.userId : null,
      user_name: actor.kind === 'user' ? actor.name : actor.purpose,
      owner_id: entry.ownerId,
    }
    const share = whose.user_id ?? `${whose.user_name}/${whose.owner_id}`
    if (!this.#shares.take(share, whose, this.#nowMs(), skipped => this.#summarise(skipped))) return
    this.#add({
      ...{ ...whose, at: timestamp(this.#deps), action: entry.action },
      request_id: entry.request?.requestId ?? null,
      client_address: entry.request?.clientAddress ?? null,
      target: cutTarget(entry.target),
      detail: detailText(this.#byKey.record(entry.detail ?? {})),
    })
  }

  /** Deletes rows that are too old or too many of one user, and writes the counts of skipped rows. Runs every hour. */
  async trim(): Promise<number> {
    for (const skipped of this.#shares.end(this.#nowMs())) this.#summarise(skipped)
    await this.flush()
    return trimAudit(this.#deps.store, this.#nowMs())
  }

  #summarise({ first, skipped, sinceMs }: SkippedRows<Whose>): void {
    const since = new Date(sinceMs).toISOString()
    const columns = { at: timestamp(this.#deps), action: 'audit.skipped', target: first.user_name }
    const detail = JSON.stringify({ skipped, since })
    this.#add({ ...first, ...columns, request_id: null, client_address: null, detail })
  }

  #trimLater(delayMs: number): void {
    this.#trimming = setTimeout(() => {
      this.#trimLater(TRIM_MS)
      // Failed deletions are repeated an hour later.
      this.trim().catch(() => undefined)
    }, delayMs).unref()
  }

  #nowMs(): number {
    return (this.#deps.now?.() ?? new Date()).getTime()
  }

  #add(row: Insertable<AuditTable>): void {
    this.#queue.push(row)
    if (this.#queue.length > QUEUE) {
      this.#queue.shift()
      this.#dropped += 1
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      // The rows stay in the queue and are retried with the next record.
      this.flush().catch(() => undefined)
    }, FLUSH_MS).unref()
  }

  /** Records lost because the database did not respond for too long. */
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
      let filtered = seenBy(db, actor)
      if (query.action !== undefined) filtered = filtered.where('action', '=', query.action)
      if (query.user !== undefined) {
        const key = nameKey(query.user)
        const user = await db.selectFrom('user').select('id').where('name_key', '=', key).executeTakeFirst()
        const name = query.user
        // Deleted users are found by the recorded name.
        filtered = user ? filtered.where('user_id', '=', user.id) : filtered.where('user_name', '=', name)
      }
      const { total } = await filtered.select(({ fn }) => fn.countAll().as('total')).executeTakeFirstOrThrow()
      const rows = await filtered.selectAll().orderBy('id', 'desc').limit(query.limit).offset(query.offset).execute()
      return { items: rows.map(auditItem), total: Number(total) }
    })
  }

  async changer(
    actor: Actor,
    { kind, record, since }: { kind: string; record: string; since: string },
  ): Promise<string | undefined> {
    await this.flush()
    return read(this.#deps.store, async db => {
      const noted = db
        .selectFrom('audit')
        .where('at', '>=', since)
        .where('target', '=', cutTarget(record))
        .where('action', 'like', `%${kind}.%`)
      const by = await noted.select(['user_id', 'user_name']).orderBy('id').executeTakeFirst()
      // As in the audit log, only administrators see the names of other users.
      const isSeen = isAdmin(actor) || (actor.kind === 'user' && by?.user_id === actor.userId)
      return isSeen ? by?.user_name : undefined
    })
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    clearTimeout(this.#trimming)
    for (const skipped of this.#shares.end(this.#nowMs(), true)) this.#summarise(skipped)
    // The summaries have started the timer again.
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

function cutTarget(target: string): string {
  return target.length <= TARGET_CHARACTERS ? target : `${target.slice(0, TARGET_CHARACTERS)}…`
}

/** Replaces details that are too long by their size and the names of their members. */
function detailText(detail: object): string {
  const text = JSON.stringify(detail)
  if (text.length <= LIMITS.auditDetailBytes) return text
  const members = Object.keys(detail)
    .slice(0, 20)
    .map(name => name.slice(0, 40))
  return JSON.stringify({ cut: text.length, members })
}

/** Users see their own actions and those on their records; administrators see all. */
function seenBy(db: Reader, actor: Actor) {
  const all = db.selectFrom('audit')
  if (isAdmin(actor) || actor.kind !== 'user') return all
  const { userId } = actor
  return all.where(({ or, eb }) => or([eb('user_id', '=', userId), eb('owner_id', '=', userId)]))
}
