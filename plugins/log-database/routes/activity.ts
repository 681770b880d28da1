import type { PluginRoutes } from 'patchbay/contract'
import type { CallOutcome, LogCondition, PluginPeople } from 'patchbay/features'
import { CALL_OUTCOMES } from 'patchbay/log-kit'
import { pageFields, scopeField, timestamp } from 'patchbay/plugin-kit'
import { z } from 'zod'
import { findRecords, manyCalls, type SearchDeps, timesBetween } from './search.ts'

/** Dependencies of the route. */
export interface ActivityDeps extends SearchDeps {
  readonly people: Pick<PluginPeople, 'byName' | 'byId' | 'keys'>
}

const name = z.string().min(1).max(256).optional()
const call = z.object({
  timestamp,
  user: z.object({ id: z.string(), name: z.string() }),
  key: z
    .object({ id: z.string(), label: z.string().optional().meta({ description: 'Of your own keys' }) })
    .optional()
    .meta({ description: 'The access key that was used; of own calls, and for administrators' }),
  client: z.string().optional().meta({ description: 'The caller’s address; of own calls, and for administrators' }),
  group: z
    .string()
    .optional()
    .meta({ description: 'The group or server whose path was used; of none for a call by this API' }),
  server: z.string().optional(),
  serverId: z.string().optional(),
  tool: z.string().meta({ description: 'Empty for calls of several tools' }),
  status: z.string().meta({ description: '`success`, `error`, or the hub’s code' }),
  outcome: z.enum(CALL_OUTCOMES).optional().meta({ description: 'How it ended; absent in records of an earlier hub' }),
  error: z.string().optional().meta({ description: 'Error text that the caller got, cut to 500 characters' }),
  note: z.string().optional().meta({ description: 'What the hub did to the call, as the arguments that it dropped' }),
  plugin: z.string().optional().meta({ description: 'The plugin that ended the call, where its outcome is `blocked`' }),
  clientName: z.string().optional().meta({ description: 'The MCP client; of own calls, and for administrators' }),
  clientVersion: z.string().optional(),
  duration: z.number().int().meta({ description: 'Milliseconds; of many calls the longest' }),
  ...manyCalls,
  requestId: z.string().optional().meta({ description: 'Absent for many calls' }),
})
const activity = z.object({
  items: z.array(call),
  total: z.number().int().meta({ description: 'All matching items, up to 10,000' }),
  calls: z.number().int().meta({ description: 'The calls that these items stand for: the sum of `count`' }),
  totalIsExact: z.boolean(),
  nextCursor: z.string().optional(),
})
const example = {
  items: [
    {
      timestamp: '2026-11-22T09:30:00.000Z',
      user: { id: '01JD7C0A11', name: 'ada' },
      key: { id: '01JD7C0B22', label: 'laptop' },
      ...{
        client: '192.0.2.7',
        group: 'daily',
        server: 'time',
        serverId: '01JD7C0S11',
        tool: 'now',
        status: 'success',
        outcome: 'ok' as const,
        duration: 12,
      },
      requestId: '01JD7C2M8K',
    },
  ],
  total: 1,
  calls: 1,
  totalIsExact: true,
}

/** Adds the route that lists who called which tool. */
export function addActivityRoute(routes: PluginRoutes, deps: ActivityDeps): void {
  routes.add({
    whole: true,
    method: 'GET',
    path: '/api/monitoring/activity',
    access: 'user',
    tag: 'monitoring',
    summary: 'Who called which tool, when and for how long: your calls with address and key, and those of your servers',
    query: z.strictObject({
      from: name.meta({ description: 'A time or date' }),
      to: name.meta({ description: 'A time, or a date, which is included' }),
      user: name.meta({ description: 'A user’s name' }),
      server: name.meta({ description: '`name` or `owner~name`' }),
      tag: name.meta({ description: 'Of servers and groups, letter case ignored' }),
      tool: name,
      group: name,
      key: name.meta({ description: 'The id of an access key' }),
      status: name.meta({ description: '`success`, `failed` (any other), or one of the others' }),
      outcome: z.enum(CALL_OUTCOMES).optional(),
      limit: pageFields.limit,
      cursor: z.string().max(512).optional(),
      scope: scopeField,
    }),
    answers: { 200: { description: 'A page of calls, the newest first', schema: activity, example } },
    async handle({ actor, query: { from, to, key, status, limit, cursor, scope, ...fields } }) {
      const where: LogCondition = {
        and: [
          ...[is('component', 'mcp'), is('message', 'tools/call')],
          ...timesBetween(from, to),
          ...Object.entries({ ...fields, keyId: key }).flatMap(([field, value]) => (value ? [is(field, value)] : [])),
          ...(status === undefined ? [] : [statusOf(status)]),
        ],
      }
      const { items, total, calls, totalIsExact, nextCursor } = await findRecords(deps, actor, {
        ...{ where, order: 'desc', limit, cursor, scope },
        stated: { from, to, key, status, ...fields },
      })
      const records = items.map(item => JSON.parse(item) as Stored)
      const names = new Map<string, string>()
      for (const id of new Set(records.map(({ userId }) => userId))) {
        names.set(id, (await deps.people.byId(id))?.name ?? id)
      }
      const labels = new Map((await deps.people.keys(actor)).map(own => [own.id, own.label]))
      return {
        body: {
          items: records.map(record => shown(record, actor.userId, names, labels)),
          total,
          calls,
          totalIsExact,
          ...(nextCursor === undefined ? {} : { nextCursor }),
        },
      }
    },
  })
}

/** Fields of a record of a call. */
interface Stored {
  readonly timestamp: string
  readonly userId: string
  readonly keyId?: string
  readonly client?: string
  readonly group?: string
  readonly server?: string
  readonly serverId?: string
  readonly tool?: string
  readonly status: string
  readonly outcome?: CallOutcome
  readonly error?: string
  readonly clientName?: string
  readonly clientVersion?: string
  readonly note?: string
  readonly plugin?: string
  readonly keyLabel?: string
  readonly duration: number
  readonly count?: number
  readonly errors?: number
  readonly outcomes?: Readonly<Record<string, number>>
  readonly durationTotal?: number
  readonly requestId?: string
}

function is(field: string, value: string): LogCondition {
  return { field, op: 'eq', values: [value] }
}

function statusOf(status: string): LogCondition {
  return status === 'failed' ? { not: is('status', 'success') } : is('status', status)
}

function shown(
  record: Stored,
  readerId: string,
  names: ReadonlyMap<string, string>,
  labels: ReadonlyMap<string, string>,
) {
  const {
    timestamp: at,
    userId,
    keyId,
    client,
    group,
    server,
    serverId,
    tool = '',
    status,
    duration,
    requestId,
    count,
    errors,
    outcomes,
    durationTotal,
    outcome,
    error,
    clientName,
    clientVersion,
    keyLabel,
    note,
    plugin,
  } = record
  // Only the owner of the key sees its label; for a deleted key, the record has it.
  const label = keyId === undefined ? undefined : (labels.get(keyId) ?? (userId === readerId ? keyLabel : undefined))
  return {
    timestamp: at,
    user: { id: userId, name: names.get(userId) ?? userId },
    ...(keyId === undefined ? {} : { key: { id: keyId, ...(label === undefined ? {} : { label }) } }),
    ...present({ client, server, serverId, outcome, error, note, plugin, clientName, clientVersion }),
    ...(group ? { group } : {}),
    ...{ tool, status, duration },
    ...present({ count, errors, outcomes, durationTotal, requestId }),
  }
}

/** The members that have a value. */
function present<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<T>
}
