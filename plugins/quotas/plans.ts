import type { PluginTables } from 'patchbay/contract'
import { type DayNumbers, dayOf, Meter } from './meter.ts'
import { isEmpty, keySubject, type Plan, type Quota, toolSubject } from './quota.ts'
import type { PlanRow, QuotaTables } from './tables.ts'

/** A thing with a quota, and what it has used. */
export interface Metered {
  readonly plan: Plan
  readonly meter: Meter
}

/** Quotas of the plugin's block, which every user has who has none of an administrator. */
export interface Defaults {
  readonly system?: Quota | undefined
  readonly users?: Quota | undefined
}

/** All quotas, in memory, with the numbers of the present day. */
export class Plans {
  readonly #tables: PluginTables<QuotaTables>
  readonly #defaults: Defaults
  readonly #plans = new Map<string, Metered>()
  /** Meters of users by the default quota, and numbers of things whose quota is not loaded. */
  readonly #users = new Map<string, Metered>()
  #stored = new Map<string, DayNumbers>()

  constructor(tables: PluginTables<QuotaTables>, defaults: Defaults) {
    this.#tables = tables
    this.#defaults = defaults
  }

  /** Reads the quotas and the numbers of this day. */
  async load(): Promise<void> {
    const day = dayOf(Date.now())
    const [plans, counters] = await this.#tables.read(async db => [
      await db.selectFrom('plan').selectAll().execute(),
      await db.selectFrom('counter').selectAll().where('day', '=', day).execute(),
    ])
    this.#stored = new Map(counters.map(({ id, ...numbers }) => [id, numbers]))
    for (const row of plans)
      this.#plans.set(row.id, { plan: planOf(row, JSON.parse(row.quota)), meter: this.#meter(row.id) })
    const { system } = this.#defaults
    if (system && !isEmpty(system))
      this.#plans.set('system', {
        plan: { subject: 'system', kind: 'system', quota: system },
        meter: this.#meter('system'),
      })
  }

  get(subject: string): Metered | undefined {
    return this.#plans.get(subject)
  }

  /** The quota of a user: an administrator's, or the default. */
  ofUser(userId: string): Metered | undefined {
    const subject = `user:${userId}`
    const { users } = this.#defaults
    const own = this.#plans.get(subject)
    if (own || !users || isEmpty(users)) return own
    const known = this.#users.get(subject)
    if (known) return known
    const made = { plan: { subject, kind: 'user' as const, quota: users, userId }, meter: this.#meter(subject) }
    this.#users.set(subject, made)
    return made
  }

  /** The quotas that a query of the table finds. */
  async rows(
    where: Partial<Pick<PlanRow, 'user_id' | 'server_id' | 'group_id' | 'kind'>>,
  ): Promise<readonly PlanRow[]> {
    return this.#tables.read(db => {
      let query = db.selectFrom('plan').selectAll()
      for (const column of ['user_id', 'server_id', 'group_id', 'kind'] as const) {
        const value = where[column]
        if (value !== undefined && value !== null) query = query.where(column, '=', value)
      }
      return query.orderBy('id').execute()
    })
  }

  /**
   * Sets a quota, or removes it. `used`: what the thing has used today, where it had no quota. `tables`: of a transaction of which
   * this is a part.
   */
  async set(
    row: Omit<PlanRow, 'quota'>,
    quota: Quota | null,
    used: Omit<DayNumbers, 'day'>,
    tables = this.#tables,
  ): Promise<void> {
    const { id } = row
    const removed = quota === null || isEmpty(quota)
    await tables.write(async (db, after) => {
      await db.deleteFrom('plan').where('id', '=', id).execute()
      if (!removed)
        await db
          .insertInto('plan')
          .values({ ...row, quota: JSON.stringify(quota) })
          .execute()
      after(() => {
        const former = this.#plans.get(id) ?? this.#users.get(id)
        this.#users.delete(id)
        if (removed) return void this.#plans.delete(id)
        const meter = former?.meter ?? new Meter({ day: dayOf(Date.now()), ...used })
        meter.dirty = true
        this.#plans.set(id, { plan: planOf(row, quota), meter })
      })
    })
  }

  /** The quotas of a server's tools, by the names of the server. */
  ofTools(serverId: string): Readonly<Record<string, Quota>> {
    const prefix = toolSubject(serverId, '')
    const found = [...this.#plans].filter(([subject]) => subject.startsWith(prefix))
    const named = found.map(([subject, { plan }]) => [subject.slice(prefix.length), plan.quota] as const)
    return Object.fromEntries(named.sort(([one], [other]) => (one < other ? -1 : 1)))
  }

  /** All quotas that are in use. */
  all(): readonly Metered[] {
    return [...this.#plans.values(), ...this.#users.values()]
  }

  /** Forgets the quotas of a user, server or group that is gone; their rows are gone with it. */
  forget(of: 'userId' | 'serverId' | 'groupId', id: string): void {
    for (const known of [this.#plans, this.#users])
      for (const [subject, { plan }] of known) if (plan[of] === id) known.delete(subject)
  }

  /** Users who have set quotas for keys. */
  usersWithKeys(): ReadonlySet<string> {
    return new Set(this.all().flatMap(({ plan: { kind, userId } }) => (kind === 'key' && userId ? [userId] : [])))
  }

  /** Removes the quotas of a user's keys that are not among `known`. */
  async keepKeys(userId: string, known: ReadonlySet<string>): Promise<void> {
    const living = new Set([...known].map(keySubject))
    const gone = (await this.rows({ user_id: userId, kind: 'key' })).filter(({ id }) => !living.has(id))
    for (const row of gone) await this.set(row, null, { calls: 0, tokens: 0 })
  }

  /** Writes the numbers that have changed. */
  async write(): Promise<void> {
    const changed = [...this.#plans.values(), ...this.#users.values()].filter(({ meter }) => meter.dirty)
    if (changed.length === 0) return
    const rows = changed.map(({ plan: { subject: id }, meter }) => ({ id, ...meter.numbers }))
    for (const { meter } of changed) meter.dirty = false
    try {
      await this.#tables.write(async db => {
        for (const { id, ...numbers } of rows) {
          const [updated] = await db.updateTable('counter').set(numbers).where('id', '=', id).execute()
          if (Number(updated?.numUpdatedRows ?? 0) === 0)
            await db
              .insertInto('counter')
              .values({ id, ...numbers })
              .execute()
        }
      })
    } catch (error) {
      for (const { meter } of changed) meter.dirty = true
      throw error
    }
  }

  /** Deletes numbers of earlier days. */
  async prune(): Promise<void> {
    const day = dayOf(Date.now())
    await this.#tables.write(db => db.deleteFrom('counter').where('day', '<', day).execute())
    for (const [subject, { meter }] of this.#users)
      if (meter.atOnce === 0 && meter.numbers.day < day) this.#users.delete(subject)
  }

  #meter(subject: string): Meter {
    return new Meter(this.#stored.get(subject) ?? { day: dayOf(Date.now()), calls: 0, tokens: 0 })
  }
}

function planOf({ id, kind, user_id, server_id, group_id }: Omit<PlanRow, 'quota'>, quota: Quota): Plan {
  return { subject: id, kind, quota, userId: user_id, serverId: server_id, groupId: group_id }
}
