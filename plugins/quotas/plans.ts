import type { PluginTables } from 'patchbay/contract'
import { type DayNumbers, dayOf, Meter } from './meter.ts'
import { isEmpty, OF_DAY, type Plan, type Quota, toolSubject } from './quota.ts'
import type { PlanRow, QuotaTables } from './tables.ts'
import type { Usage } from './usage.ts'

/** A thing with a quota, and what it has used. */
export interface Metered {
  readonly plan: Plan
  readonly meter: Meter
}

/** Quotas of the plugin's block, which every user has who has none of an administrator. */
export interface Defaults {
  readonly system?: Quota | undefined
  readonly users?: Quota | undefined
  /** Part of a quota from which its owner is notified. */
  readonly near: number
}

/** The beginning of subjects of users. */
const USER = 'user:'

/** All quotas, in memory, with the numbers of the present day. */
export class Plans {
  readonly #tables: PluginTables<QuotaTables>
  readonly #defaults: Defaults
  readonly #usage: Pick<Usage, 'today'>
  readonly #plans = new Map<string, Metered>()
  /** Meters of users by the default quota, and numbers of things whose quota is not loaded. */
  readonly #users = new Map<string, Metered>()
  #stored = new Map<string, DayNumbers>()

  constructor(tables: PluginTables<QuotaTables>, defaults: Defaults, usage: Pick<Usage, 'today'>) {
    this.#tables = tables
    this.#defaults = defaults
    this.#usage = usage
  }

  /** Reads the quotas and the numbers of this day. */
  async load(): Promise<void> {
    const day = dayOf(Date.now())
    const [plans, counters] = await this.#tables.read(async db => [
      await db.selectFrom('plan').selectAll().execute(),
      await db.selectFrom('counter').selectAll().where('day', '=', day).execute(),
    ])
    this.#stored = new Map(counters.map(({ id, ...numbers }) => [id, numbers]))
    for (const row of plans) this.#plans.set(row.id, this.#metered(planOf(row, JSON.parse(row.quota))))
    const { system } = this.#defaults
    if (system && !isEmpty(system))
      this.#plans.set(
        'system',
        this.#metered({ subject: 'system', kind: 'system', quota: system }, this.#usage.today()),
      )
    // Alerts about their use must not end with a restart.
    for (const subject of this.#stored.keys()) if (subject.startsWith(USER)) this.ofUser(subject.slice(USER.length))
  }

  get(subject: string): Metered | undefined {
    return this.#plans.get(subject)
  }

  /** The quota of a user: an administrator's, or the default. */
  ofUser(userId: string): Metered | undefined {
    const subject = `${USER}${userId}`
    const { users } = this.#defaults
    const own = this.#plans.get(subject)
    if (own || !users || isEmpty(users)) return own
    const known = this.#users.get(subject)
    if (known) return known
    const made = this.#metered({ subject, kind: 'user', quota: users, userId }, this.#usage.today(userId))
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
        this.#plans.delete(id)
        this.#users.delete(id)
        if (removed) return former && this.#toDefault(row, former)
        const meter = former?.meter ?? new Meter({ day: dayOf(Date.now()), ...used })
        meter.dirty = true
        for (const part of OF_DAY) if (former?.plan.quota[part] !== quota[part]) meter.noticed.delete(part)
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

  /** Users who have set quotas for keys or clients. */
  usersWithCredentials(): ReadonlySet<string> {
    const ids = this.all().map(({ plan: { kind, userId } }) => (kind === 'key' || kind === 'grant' ? userId : null))
    return new Set(ids.filter(id => id !== null && id !== undefined))
  }

  /** Removes a user's quotas of a kind whose subjects are not among `known`. */
  async keep(userId: string, kind: 'key' | 'grant', known: ReadonlySet<string>): Promise<void> {
    const gone = (await this.rows({ user_id: userId, kind })).filter(({ id }) => !known.has(id))
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

  /** A user whose own quota is removed has the default one, with what was used of the other. */
  #toDefault({ id, user_id: userId, kind }: Omit<PlanRow, 'quota'>, { meter }: Metered): void {
    const { users } = this.#defaults
    if (kind !== 'user' || !userId || !users || isEmpty(users)) return
    meter.noticed.clear()
    this.#users.set(id, { plan: { subject: id, kind, quota: users, userId }, meter })
  }

  /** `known`: what the thing has used today, also at times when it had no quota. */
  #metered(plan: Plan, known = { calls: 0, tokens: 0 }): Metered {
    const day = dayOf(Date.now())
    const stored = this.#stored.get(plan.subject)
    const { calls, tokens } = stored?.day === day ? stored : { calls: 0, tokens: 0 }
    const numbers = { day, calls: Math.max(calls, known.calls), tokens: Math.max(tokens, known.tokens) }
    const meter = new Meter(numbers)
    // Notified before the hub or the plugin was started again.
    const used = { perDay: calls, resultTokensPerDay: tokens }
    for (const part of OF_DAY) {
      const limit = plan.quota[part]
      if (limit && used[part] >= limit * this.#defaults.near) meter.noticed.add(part)
    }
    return { plan, meter }
  }
}

function planOf({ id, kind, user_id, server_id, group_id }: Omit<PlanRow, 'quota'>, quota: Quota): Plan {
  return { subject: id, kind, quota, userId: user_id, serverId: server_id, groupId: group_id }
}
