import type { PluginTables } from 'patchbay/contract'
import { type DayNumbers, dayOf } from './meter.ts'
import type { QuotaTables, UsageRow } from './tables.ts'

/** Rows of one transaction. */
const MOST_ROWS = 500
/** Longest name of a tool that is kept. */
const MOST_NAME = 128

type Place = Pick<UsageRow, 'user_id' | 'key_id' | 'server_id' | 'tool'>
type Numbers = { calls: number; failures: number; result_tokens: number }
interface Entry {
  readonly place: Place
  readonly day: string
  readonly numbers: Numbers
  dirty: boolean
}

/** The columns by which use is summed. */
export const BY = {
  day: [],
  key: ['key_id'],
  user: ['user_id'],
  server: ['server_id'],
  tool: ['server_id', 'tool'],
} as const satisfies Readonly<Record<string, readonly (keyof Place)[]>>

/** The rows of which use is summed. */
export interface UsageOf {
  readonly by: keyof typeof BY
  /** The first day. */
  readonly since: string
  readonly userId?: string
  readonly serverId?: string
  readonly keyIds?: readonly string[]
  readonly tool?: string
}

/** Sums of use; places by which they are not summed are absent. */
export type UsageSum = Numbers & { readonly day: string } & Partial<Place>

/** Counts calls of the day in memory, and writes the numbers. */
export class Usage {
  readonly #tables: PluginTables<QuotaTables>
  readonly #mostOfUser: number
  /** Entries of the day, by user. */
  readonly #users = new Map<string, Map<string, Entry>>()
  #day = ''
  /** Entries of an earlier day that are not written yet. */
  #late: Entry[] = []

  /** `mostOfUser`: entries of one user in one day. */
  constructor(tables: PluginTables<QuotaTables>, mostOfUser: number) {
    this.#tables = tables
    this.#mostOfUser = mostOfUser
  }

  /** Reads the numbers of this day. */
  async load(): Promise<void> {
    this.#day = dayOf(Date.now())
    const rows = await this.#tables.read(db =>
      db.selectFrom('usage').selectAll().where('day', '=', this.#day).execute(),
    )
    for (const { day, calls, failures, result_tokens, ...place } of rows)
      this.#of(place.user_id).set(keyOf(place), {
        ...{ place, day, dirty: false },
        numbers: { calls, failures, result_tokens },
      })
  }

  /** Counts what was sent, or came later for it. */
  count(place: Place, { calls, failures, tokens }: Record<'calls' | 'failures' | 'tokens', number>): void {
    const { numbers } = this.#entry(place)
    numbers.calls += calls
    numbers.failures += failures
    numbers.result_tokens += tokens
  }

  /** The numbers of this day of one user, or of all. */
  today(userId?: string): Omit<DayNumbers, 'day'> {
    const sum = { calls: 0, tokens: 0 }
    if (this.#day !== dayOf(Date.now())) return sum
    const all = userId === undefined ? [...this.#users.values()] : [this.#users.get(userId)]
    for (const entries of all)
      for (const { numbers } of entries?.values() ?? []) {
        sum.calls += numbers.calls
        sum.tokens += numbers.result_tokens
      }
    return sum
  }

  /** Something is not written yet. */
  get isChanged(): boolean {
    return this.#changed().length > 0
  }

  /** Writes what has changed, at most 500 rows of it. */
  async write(): Promise<void> {
    const changed = this.#changed().slice(0, MOST_ROWS)
    if (changed.length === 0) return
    for (const entry of changed) entry.dirty = false
    const rows = changed.map(({ place, day, numbers }) => ({ ...place, day, ...numbers }))
    try {
      await this.#tables.write(async db => {
        for (const row of rows) await put(db, row)
      })
    } catch (error) {
      for (const entry of changed) entry.dirty = true
      throw error
    }
    this.#late = this.#late.filter(({ dirty }) => dirty)
  }

  /** Sums, newest day first, at most 1,000. */
  async sums({ by, since, userId, serverId, keyIds, tool }: UsageOf): Promise<readonly UsageSum[]> {
    await this.write()
    const columns = BY[by]
    const rows = await this.#tables.read(db => {
      let query = db
        .selectFrom('usage')
        .select(['day', ...columns])
        .select(({ fn }) => [
          fn.sum('calls').as('calls'),
          fn.sum('failures').as('failures'),
          fn.sum('result_tokens').as('result_tokens'),
        ])
        .where('day', '>=', since)
        .groupBy(['day', ...columns])
        .orderBy('day', 'desc')
        .limit(1_000)
      if (userId !== undefined) query = query.where('user_id', '=', userId)
      if (serverId !== undefined) query = query.where('server_id', '=', serverId)
      if (keyIds !== undefined) query = query.where('key_id', 'in', keyIds)
      if (tool !== undefined) query = query.where('tool', '=', tool)
      return query.execute()
    })
    return rows.map(row => ({
      ...row,
      calls: Number(row.calls),
      failures: Number(row.failures),
      result_tokens: Number(row.result_tokens),
    }))
  }

  async prune(days: number): Promise<void> {
    const before = dayOf(Date.now() - days * 86_400_000)
    await this.#tables.write(db => db.deleteFrom('usage').where('day', '<', before).execute())
  }

  forgetUser(userId: string): void {
    this.#users.delete(userId)
    this.#late = this.#late.filter(({ place }) => place.user_id !== userId)
  }

  #changed(): Entry[] {
    const all = [...this.#late, ...[...this.#users.values()].flatMap(entries => [...entries.values()])]
    return all.filter(({ dirty }) => dirty)
  }

  #entry(wanted: Place): Entry {
    const day = dayOf(Date.now())
    if (day > this.#day) {
      this.#late.push(...[...this.#users.values()].flatMap(entries => [...entries.values()].filter(one => one.dirty)))
      this.#users.clear()
      this.#day = day
    }
    const entries = this.#of(wanted.user_id)
    const cut = { ...wanted, tool: wanted.tool.slice(0, MOST_NAME) }
    const isFull = entries.size >= this.#mostOfUser - 1 && !entries.has(keyOf(cut))
    const place = isFull ? { user_id: wanted.user_id, key_id: '', server_id: '', tool: '' } : cut
    const key = keyOf(place)
    const entry = entries.get(key) ?? {
      ...{ place, day: this.#day, dirty: true },
      numbers: { calls: 0, failures: 0, result_tokens: 0 },
    }
    entries.set(key, entry)
    entry.dirty = true
    return entry
  }

  #of(userId: string): Map<string, Entry> {
    const entries = this.#users.get(userId) ?? new Map<string, Entry>()
    this.#users.set(userId, entries)
    return entries
  }
}

type Writer = Parameters<Parameters<PluginTables<QuotaTables>['write']>[0]>[0]

async function put(db: Writer, { user_id, day, key_id, server_id, tool, ...numbers }: UsageRow): Promise<void> {
  const [updated] = await db
    .updateTable('usage')
    .set(numbers)
    .where('user_id', '=', user_id)
    .where('day', '=', day)
    .where('key_id', '=', key_id)
    .where('server_id', '=', server_id)
    .where('tool', '=', tool)
    .execute()
  if (Number(updated?.numUpdatedRows ?? 0) > 0) return
  await db
    .insertInto('usage')
    .values({ ...{ user_id, day, key_id, server_id, tool }, ...numbers })
    .execute()
}

function keyOf({ key_id, server_id, tool }: Place): string {
  return `${key_id} ${server_id} ${tool}`
}
