import type { UserActor } from '../../../contract/records.ts'
import type { Unit } from '../../../domain/dashboards/sources.ts'
import type { WidgetQuery } from '../../../domain/dashboards/widget-query.ts'
import { isAdmin } from '../../../domain/ownership.ts'
import type { OverviewDeps } from '../monitoring/overview.ts'
import { shown } from '../monitoring/performance.ts'
import { serverLabels } from '../server-labels.ts'
import { storedRecords } from '../time-range.ts'
import { qualified } from '../views.ts'

/** Sources of the data of tables. */
export type TableDeps = Pick<OverviewDeps, 'logStore' | 'registry' | 'upstreams' | 'alerts'>

interface Asked {
  readonly actor: UserActor
  readonly mine: boolean
  readonly rangeMs: number
  readonly limit: number
  /** Only of this server. */
  readonly server?: string
}
type StoredRecord = Readonly<Record<string, string | number | undefined>>
type Cell = string | number | null
interface Table {
  readonly columns: readonly { readonly name: string; readonly unit?: Unit }[]
  readonly rows: readonly (readonly Cell[])[]
}

const count = (name: string) => ({ name, unit: 'count' }) as const
const ms = (name: string) => ({ name, unit: 'ms' }) as const

const TABLES: Readonly<Record<string, (deps: TableDeps, asked: Asked) => Promise<Table>>> = {
  servers: serverTable,
  tools: toolTable,
  users: userTable,
  errors: errorTable,
  calls: callTable,
  alerts: alertTable,
}

/** The table of this name. */
export function tableOf(
  deps: TableDeps,
  viewer: Omit<Asked, 'limit' | 'server'>,
  { name, limit, server }: WidgetQuery,
): Promise<Table> {
  const table = TABLES[name]
  if (!table) throw new Error(`There is no table "${name}"`)
  return table(deps, { ...viewer, limit, ...(server === undefined ? {} : { server }) })
}

async function serverTable(deps: TableDeps, { actor, mine, rangeMs, limit }: Asked): Promise<Table> {
  const all = isAdmin(actor) && !mine
  const records = await deps.registry.servers.list(actor, { scope: all ? 'all' : 'mine' })
  const query = { kinds: ['tool_execution'], by: 'server', rangeMs, limit: 10_000, mine } as const
  const { measures } = await storedRecords(deps, actor).measure(query)
  const use = new Map(measures.map(measure => [measure.serverId, measure]))
  const rows = records.map(record => {
    const { state, since, reason } = deps.upstreams.status(record.id, record)
    const calls = use.get(record.id)
    return [
      ...[qualified(record), state, since ?? null, calls?.count ?? 0, calls?.failed ?? 0, shown(calls?.p95Ms)],
      ...[reason?.code ?? '', reason?.message ?? ''],
    ]
  })
  return {
    columns: [
      ...[{ name: 'server' }, { name: 'state' }, { name: 'since' }, count('calls'), count('errors'), ms('p95')],
      ...[{ name: 'code' }, { name: 'reason' }],
    ],
    rows: rows.slice(0, limit),
  }
}

async function toolTable(deps: TableDeps, { actor, mine, rangeMs, limit, server: only }: Asked): Promise<Table> {
  const record = only === undefined ? undefined : await deps.registry.servers.resolve(actor, only, 'see')
  const of = record ? { serverId: record.id } : {}
  const query = { kinds: ['tool_execution'], by: 'tool', rangeMs, limit: limit + 1, mine, ...of } as const
  const { measures } = await storedRecords(deps, actor).measure(query)
  // Rows beyond the limits of the store are counted without a server.
  const rows = measures.filter(({ serverId }) => serverId !== '').slice(0, limit)
  const serverOf = await serverLabels(deps.registry.servers, actor, rows)
  return {
    columns: [{ name: 'server' }, { name: 'tool' }, count('calls'), count('errors'), ms('avg'), ms('p95'), ms('p99')],
    rows: rows.map(({ tool = '', count: calls, failed, avgMs, p95Ms, p99Ms, ...of }) => [
      ...[serverOf(of), tool, calls, failed],
      ...[shown(avgMs), shown(p95Ms), shown(p99Ms)],
    ]),
  }
}

async function userTable(deps: TableDeps, { actor, mine, rangeMs, limit }: Asked): Promise<Table> {
  const query = { only: 'calls', by: 'user', rangeMs, limit, mine } as const
  const { counts } = await storedRecords(deps, actor).count(query)
  const rows = counts.map(async ({ userId = '', count: calls, failed }) => {
    const user = await deps.registry.users.byId(userId)
    return [user?.name ?? userId, calls, failed]
  })
  return { columns: [{ name: 'user' }, count('calls'), count('errors')], rows: await Promise.all(rows) }
}

async function errorTable(deps: TableDeps, { actor, mine, rangeMs, limit }: Asked): Promise<Table> {
  const query = { only: 'errors', by: 'code', rangeMs, limit, mine } as const
  const { counts } = await storedRecords(deps, actor).count(query)
  return {
    columns: [{ name: 'code' }, count('error_record_count')],
    rows: counts.map(({ code = '', count: n }) => [code, n]),
  }
}

async function callTable(deps: TableDeps, { actor, mine, rangeMs, limit }: Asked): Promise<Table> {
  const page = await storedRecords(deps, actor).search({
    where: {
      and: [
        { field: 'message', op: 'eq', values: ['tools/call'] },
        { field: 'component', op: 'eq', values: ['mcp'] },
        { field: 'timestamp', op: 'gte', values: [Date.now() - rangeMs] },
      ],
    },
    ...{ order: 'desc', limit, mine },
  })
  const records = page.items.map(item => JSON.parse(item) as StoredRecord)
  const names = await namesOf(
    deps,
    records.map(({ userId }) => String(userId ?? '')),
  )
  const serverOf = await serverLabels(deps.registry.servers, actor, records.map(serverIn))
  return {
    columns: [
      ...[{ name: 'time' }, { name: 'user' }, { name: 'group' }, { name: 'server' }, { name: 'tool' }],
      ...[{ name: 'status' }, ms('duration')],
    ],
    rows: records.map(({ timestamp, userId, group, tool, status, duration, ...rest }) => [
      ...[timestamp ?? null, names.get(String(userId)) ?? null, group || null],
      ...[serverOf(serverIn(rest)) || null, tool ?? null, status ?? null, duration ?? null],
    ]),
  }
}

function serverIn({ serverId, server }: StoredRecord): { readonly serverId?: string; readonly server?: string } {
  return {
    ...(typeof serverId === 'string' ? { serverId } : {}),
    ...(typeof server === 'string' ? { server } : {}),
  }
}

async function alertTable({ alerts }: TableDeps, { actor, limit }: Asked): Promise<Table> {
  const { items } = await alerts.list(actor, { limit, offset: 0 })
  const names = ['startsAt', 'rule', 'severity', 'subject', 'state', 'value'] as const
  return {
    columns: names.map(name => ({ name })),
    rows: items.map(item => names.map(name => item[name] as Cell)),
  }
}

async function namesOf({ registry }: TableDeps, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = [...new Set(ids)].map(async id => [id, (await registry.users.byId(id))?.name ?? id] as const)
  return new Map(await Promise.all(found))
}
