import type { ExpressionBuilder } from 'kysely'
import type { Store } from '../../store/open.ts'
import { pauses } from '../../store/pauses.ts'
import { type AnyTables, insertRows, page, type RowFilter, type StoredRow } from '../../store/rows/rows.ts'
import { BACKED_UP, type StoredTable } from '../../store/rows/tables.ts'
import { type Reader, read } from '../../store/transact.ts'
import type { CopiedRows } from './apart.ts'

/** The things that some work reads and writes. */
export interface Things {
  /** Ids of users. Everything that they own is copied. */
  readonly owners: readonly string[]
  /** Case-folded names of other users whose things are copied too. */
  readonly ownerNames: readonly string[]
  /** Case-folded names of servers and groups that others may own. */
  readonly names: readonly string[]
  /** `public`: only public ones of other owners. `all`: for an administrator, who can refer to every one. */
  readonly others: 'public' | 'all'
  /** Case-folded names of teams whose members are copied. */
  readonly teams: readonly string[]
  /** Hashes of access keys that others may own. */
  readonly keyHashes: readonly string[]
  /** Case-folded names of the owners' servers whose OpenAPI documents are read. */
  readonly documentsOf: readonly string[]
}

/** Values of one condition: SQLite and PostgreSQL take 32,766 and 65,535. */
const VALUES_AT_ONCE = 1_000
/** The scope of the system's own settings, and prefixes of the hub's. */
const SYSTEM_SCOPES = ['system', 'internal', 'internal:group-owner', 'internal:stated']

/** Tables of which all rows of a user are copied. */
const OWNED = BACKED_UP.flatMap(({ name, key, ownedBy }) => (ownedBy === undefined ? [] : [{ name, key, ownedBy }]))

/** The rows of these things, of all users, and what refers to them. */
export function rowsOf(things: Things): CopiedRows {
  return {
    fill: (store, copy) => new Filling(store, copy).fill(things),
    mark: db => markOf(db, things),
  }
}

class Filling {
  readonly #store: Store
  readonly #copy: Reader
  readonly #pause = pauses()

  constructor(store: Store, copy: Reader) {
    this.#store = store
    this.#copy = copy
  }

  async fill({ owners: ids, ownerNames, names, others, teams, keyHashes, documentsOf }: Things): Promise<void> {
    const named = new Set(ownerNames)
    const users = await this.#rows('user')
    const owners = [...new Set([...ids, ...users.flatMap(row => (named.has(nameOf(row)) ? [text(row.id)] : []))])]
    await this.#put('user', users)
    const open = others === 'public' ? [{ column: 'visibility', values: ['public'] }] : []
    const servers = await this.#byId('server', [
      [{ column: 'owner_id', values: owners }],
      [{ column: 'name_key', values: names }, ...open],
      [
        { column: 'id', values: others === 'public' ? await this.#sharedWith(ids) : [] },
        { column: 'name_key', values: names },
      ],
    ])
    const own = [...servers.values()].filter(row => owners.includes(text(row.owner_id)))
    const ownIds = own.map(row => text(row.id))
    const around = await this.#rows('group_member', [{ column: 'server_id', values: ownIds }])
    const groups = await this.#byId('server_group', [
      [{ column: 'owner_id', values: owners }],
      [{ column: 'name_key', values: names }, ...open],
      [{ column: 'id', values: around.map(row => text(row.group_id)) }],
    ])
    const inGroups: RowFilter = { column: 'group_id', values: [...groups.keys()] }
    const members = await this.#rows('group_member', [inGroups])
    const missing = new Set(members.map(row => text(row.server_id)).filter(id => !servers.has(id)))
    for (const row of await this.#rows('server', [{ column: 'id', values: [...missing] }]))
      servers.set(text(row.id), row)
    await this.#put('server', [...servers.values()])
    await this.#put('server_group', [...groups.values()])
    await this.#put('group_member', members)
    for (const table of ['group_lost_member', 'group_former_path'] as const) await this.#take(table, [inGroups])
    await this.#shares(
      teams,
      ownIds,
      [...groups.values()].filter(row => owners.includes(text(row.owner_id))),
    )
    await this.#take('setting', [{ column: 'scope', values: [...owners, ...SYSTEM_SCOPES] }])
    const keys = await this.#byId('access_key', [
      [{ column: 'owner_id', values: owners }],
      [{ column: 'hash', values: keyHashes }],
    ])
    await this.#put('access_key', [...keys.values()])
    for (const { name, ownedBy } of OWNED) await this.#take(name, [{ column: ownedBy, values: owners }])
    await this.#documents(own, new Set(documentsOf))
    await this.#records(owners)
  }

  /** Ids of the servers that are shared with these users, by name or by a team. */
  async #sharedWith(users: readonly string[]): Promise<readonly string[]> {
    const teams = await this.#rows('team_member', [{ column: 'user_id', values: users }])
    const byUser = await this.#rows('share', [{ column: 'user_id', values: users }])
    const byTeam = await this.#rows('share', [{ column: 'team_id', values: teams.map(row => text(row.team_id)) }])
    return [...byUser, ...byTeam].map(row => text(row.server_id)).filter(id => id !== '')
  }

  /** Teams, and the shares of the owners' things. */
  async #shares(named: readonly string[], servers: readonly string[], groups: readonly StoredRow[]): Promise<void> {
    const teams = await this.#rows('team')
    await this.#put('team', teams)
    const wanted = new Set(named)
    const ids = teams.filter(row => wanted.has(nameOf(row))).map(row => text(row.id))
    await this.#take('team_member', [{ column: 'team_id', values: ids }])
    await this.#take('share', [{ column: 'server_id', values: servers }])
    await this.#take('share', [{ column: 'group_id', values: groups.map(row => text(row.id)) }])
  }

  async #documents(own: readonly StoredRow[], names: ReadonlySet<string>): Promise<void> {
    const documents = await this.#rows('openapi_document', [
      { column: 'server_id', values: own.map(row => text(row.id)) },
    ])
    await this.#put('openapi_document', documents)
    const read = new Set(own.filter(row => names.has(text(row.name_key))).map(row => text(row.id)))
    const wanted = documents.filter(row => read.has(text(row.server_id))).map(row => text(row.id))
    await this.#take('openapi_document_part', [{ column: 'document_id', values: wanted }])
  }

  /** Records of all kinds, and what fires by the alert rules among them. */
  async #records(owners: readonly string[]): Promise<void> {
    const byOwner: RowFilter = { column: 'owner_id', values: owners }
    const settings = await this.#rows('owned_setting', [byOwner])
    await this.#put('owned_setting', settings)
    const ids = settings.map(row => text(row.id))
    const byRule: RowFilter = { column: 'rule_id', values: ids }
    await this.#take('alert_instance', [byRule])
    const incidents = await this.#rows('alert_incident', [byRule, { column: 'state', values: ['firing'] }])
    await this.#put('alert_incident', incidents)
    const deliveries = await this.#byId('alert_delivery', [
      [{ column: 'incident_id', values: incidents.map(row => text(row.id)) }],
      [
        { column: 'channel_id', values: ids },
        { column: 'state', values: ['waiting', 'failed'] },
      ],
    ])
    await this.#put('alert_delivery', [...deliveries.values()])
  }

  async #byId(table: StoredTable['name'], choices: readonly (readonly RowFilter[])[]): Promise<Map<string, StoredRow>> {
    const found = new Map<string, StoredRow>()
    for (const filters of choices) for (const row of await this.#rows(table, filters)) found.set(text(row.id), row)
    return found
  }

  async #take(table: StoredTable['name'], filters: readonly RowFilter[]): Promise<void> {
    await this.#put(table, await this.#rows(table, filters))
  }

  /** All rows for which every filter holds; the first one may have any number of values. */
  async #rows(name: StoredTable['name'], [first, ...rest]: readonly RowFilter[] = []): Promise<StoredRow[]> {
    const table = BACKED_UP.find(one => one.name === name) as StoredTable
    const found: StoredRow[] = []
    for (const filter of first ? parts(first) : [undefined]) {
      let last: StoredRow | undefined
      do {
        const after = last
        const filters = filter ? [filter, ...rest] : rest
        const rows = await read(this.#store, db => page(db as unknown as AnyTables, table, after, filters))
        for (const row of rows) found.push(row)
        last = rows.at(-1)
        await this.#pause()
      } while (last)
    }
    return found
  }

  async #put(table: string, rows: readonly StoredRow[]): Promise<void> {
    for (let from = 0; from < rows.length; from += ROWS_PUT_AT_ONCE) {
      await insertRows(this.#copy, table, rows.slice(from, from + ROWS_PUT_AT_ONCE))
      await this.#pause()
    }
  }
}

/** Rows that are inserted in one turn: some milliseconds, also of servers with large configurations. */
const ROWS_PUT_AT_ONCE = 100

function* parts({ column, values }: RowFilter): Generator<RowFilter> {
  const unique = [...new Set(values)]
  for (let from = 0; from < unique.length; from += VALUES_AT_ONCE) {
    yield { column, values: unique.slice(from, from + VALUES_AT_ONCE) }
  }
}

/** State that the work depends on: the owners' records with their revisions, rights and quotas. */
async function markOf(db: Reader, { owners: ids, ownerNames }: Things): Promise<string> {
  const users = await db
    .selectFrom('user')
    .select(['id', 'revision'])
    .where(anyOf(ids, ownerNames))
    .orderBy('id')
    .execute()
  const owners = users.map(({ id }) => id)
  if (owners.length === 0) return ''
  const revised = (table: 'server' | 'server_group' | 'owned_setting') =>
    db.selectFrom(table).select(['id', 'revision']).where('owner_id', 'in', owners).orderBy('id').execute()
  const settings = db.selectFrom('setting').select(['scope', 'key', 'updated_at']).where('scope', 'in', owners)
  const keys = db.selectFrom('access_key').select(['id', 'hash']).where('owner_id', 'in', owners)
  return JSON.stringify([
    users.map(row => Object.values(row)),
    await revised('server'),
    await revised('server_group'),
    await revised('owned_setting'),
    await settings.orderBy('scope').orderBy('key').execute(),
    await keys.orderBy('id').execute(),
    ...(await ownedKeys(db, owners)),
  ])
}

/** The keys of the rows in tables that belong to users as a whole. */
async function ownedKeys(db: Reader, owners: readonly string[]): Promise<readonly unknown[]> {
  const found: unknown[] = []
  for (const { name, key, ownedBy } of OWNED) {
    let query = (db as unknown as AnyTables)
      .selectFrom(name)
      .select([...key])
      .where(ownedBy, 'in', owners)
    for (const column of key) query = query.orderBy(column)
    found.push(await query.execute())
  }
  return found
}

function anyOf(ids: readonly string[], names: readonly string[]) {
  return ({ eb, or }: ExpressionBuilder<{ user: { id: string; name_key: string | null } }, 'user'>) => {
    // An empty list is no valid SQL.
    return or([
      ...(ids.length > 0 ? [eb('id', 'in', ids)] : []),
      ...(names.length > 0 ? [eb('name_key', 'in', names)] : []),
    ])
  }
}

/** A user without a name is called by its number. */
function nameOf(row: StoredRow): string {
  return row.name_key === null ? `#${String(row.number)}` : text(row.name_key)
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
