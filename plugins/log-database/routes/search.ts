import type { JsonObject, PluginRoutes, RouteAnswer, UserActor } from 'patchbay/contract'
import type { LogCondition, LogStore } from 'patchbay/features'
import { CALL_OUTCOMES, isAdmin, parseDuration, severityOf } from 'patchbay/log-kit'
import { anyObject, asksForOwn, durationField, pageFields, scopeField, timestamp, wrong } from 'patchbay/plugin-kit'
import { z } from 'zod'
import { fieldCondition, parseQueryText, readTime } from '../query-text.ts'
import { asField, type NamedRecords, readConditions, withIds } from './conditions.ts'
import { type CursorSealer, openCursor, sealCursor } from './cursor.ts'

/** Dependencies of the routes that search. */
export interface SearchDeps extends NamedRecords {
  readonly store: Pick<LogStore, 'for'>
  readonly sealing: CursorSealer
}

const tag = 'logs'
const LEAST_STEP_MS = 1_000

/** Additional members of a record that represents many calls. */
export const manyCalls = {
  count: z.number().int().optional().meta({ description: 'Number of calls, where the record stands for many of them' }),
  errors: z.number().int().optional().meta({ description: 'Of these calls, those of any outcome but `ok`' }),
  outcomes: z.record(z.string(), z.number().int()).optional().meta({ description: 'The same calls by outcome' }),
  durationTotal: z
    .number()
    .int()
    .optional()
    .meta({ description: 'Milliseconds of these calls together; `duration` is that of the longest' }),
}
const record = z.looseObject({
  timestamp,
  level: z.enum(['ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE']),
  message: z.string(),
  server: z.string().optional(),
  tool: z.string().optional(),
  duration: z.number().int().optional(),
  status: z.string().optional(),
  outcome: z.enum(CALL_OUTCOMES).optional().meta({ description: 'How a call of a tool ended' }),
  error: z
    .string()
    .optional()
    .meta({ description: 'Error text that the caller of a failed call got, cut to 500 characters' }),
  note: z.string().optional().meta({ description: 'What the hub did to a call, as the arguments that it dropped' }),
  plugin: z.string().optional().meta({ description: 'The plugin that ended a call, where its outcome is `blocked`' }),
  requestId: z.string().optional(),
  userId: z.string().optional(),
  ...manyCalls,
  clientName: z.string().optional().meta({ description: 'Of the MCP client; of own calls, and for administrators' }),
  clientVersion: z.string().optional(),
  keyLabel: z.string().optional().meta({ description: 'Of the access key; of own calls, and for administrators' }),
  fields: anyObject.optional().meta({ description: 'What else the record has' }),
})

const found = z.object({
  items: z.array(record),
  total: z.number().int().meta({ description: 'All matching records, up to 10,000' }),
  totalIsExact: z.boolean().meta({ description: 'false: there are more, or not all was looked at in 150 ms' }),
  histogram: z
    .object({
      interval: z.string(),
      points: z.array(z.object({ timestamp, total: z.number().int(), counts: z.record(z.string(), z.number().int()) })),
    })
    .optional()
    .meta({
      description:
        'The counted matches over time, where it was asked for, a record of many calls as their number; steps without any are left out',
    }),
  nextCursor: z.string().optional(),
  source: z.enum(['database']),
  behind: z
    .number()
    .int()
    .optional()
    .meta({ description: 'Records of all users that were logged and are not stored yet; administrators only' }),
})

const example = {
  items: [
    {
      timestamp: '2026-11-22T09:30:00.000Z',
      level: 'INFO',
      message: 'tools/call',
      server: 'time',
      tool: 'now',
      duration: 12,
      status: 'success',
      outcome: 'ok' as const,
      requestId: '01JD7C2M8K',
      userId: '01JD7C0A11',
      component: 'mcp',
      group: 'daily',
    },
  ],
  total: 1,
  totalIsExact: true,
  source: 'database',
  behind: 0,
}
const answers = { 200: { description: 'A page of records', schema: found, example } }

const name = z.string().min(1).max(256).optional()
const order = z.enum(['asc', 'desc'])
const histogram = durationField
  .optional()
  .meta({ description: 'Also count the matches by level in steps of this duration, at least 1s, such as 1m' })

const query = z.strictObject({
  level: name.meta({ description: 'This level and worse; or a list of levels, joined by commas' }),
  from: name.meta({ description: 'A time or date, or by now: `now-1h`' }),
  to: name.meta({ description: 'A time, or a date, which is included' }),
  server: name.meta({ description: '`name` or `owner~name`' }),
  tag: name.meta({
    description: 'Of servers, and of groups whose calls are meant; as they have it now, letter case ignored',
  }),
  tool: name,
  user: name.meta({ description: 'A user’s name' }),
  requestId: name,
  outcome: name.meta({ description: `Of calls: ${CALL_OUTCOMES.join(', ')}; or a list, joined by commas` }),
  q: z.string().max(4_096).optional().meta({ description: 'word, "a phrase", field:value, -excluded' }),
  limit: pageFields.limit,
  order: order.default('desc').meta({ description: 'By arrival' }),
  cursor: z.string().max(512).optional(),
  histogram,
  scope: scopeField,
})

const body = z.strictObject({
  query: anyObject.meta({ examples: [{ and: [{ level: 'ERROR' }, { server: { in: ['time'] } }] }] }),
  sort: z
    .array(z.strictObject({ timestamp: order }))
    .max(1)
    .optional(),
  limit: z.number().int().min(1).max(1_000).default(100),
  cursor: z.string().max(512).optional(),
  histogram,
  scope: scopeField,
})

/** Adds the routes that search the log. */
export function addSearchRoutes(routes: PluginRoutes, deps: SearchDeps): void {
  routes.add({
    whole: true,
    method: 'GET',
    path: '/api/logs/search',
    access: 'user',
    summary: 'Search log records of own servers and calls',
    tag,
    query,
    answers,
    handle({ actor, query: asked }) {
      const stepMs = stepOf('?histogram', asked.histogram)
      // A cursor belongs to the conditions, independent of the page.
      const { limit: _limit, cursor: _cursor, histogram: _histogram, ...stated } = asked
      return answer(deps, actor, { ...asked, where: conditionOf(asked), stepMs, stated })
    },
  })
  routes.add({
    whole: true,
    method: 'POST',
    path: '/api/logs/search',
    access: 'user',
    summary: 'Search log records by conditions',
    tag,
    reads: true,
    body,
    answers,
    handle({ actor, body: asked }) {
      const where = readConditions(asked.query as JsonObject)
      const stepMs = stepOf('#/histogram', asked.histogram)
      const sorted = { order: asked.sort?.[0]?.timestamp ?? 'desc', askedIn: 'body', stated: asked.query } as const
      return answer(deps, actor, { ...asked, ...sorted, where, stepMs })
    },
  })
}

/** Throws `validation_failed` with the field code `duration`. */
function stepOf(pointer: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const stepMs = parseDuration(text) ?? 0
  if (stepMs < LEAST_STEP_MS) throw wrong(pointer, 'duration', 'histogram: a duration of at least 1s, such as 1m')
  return stepMs
}

function conditionOf(asked: z.infer<typeof query>): LogCondition {
  const and: LogCondition[] = []
  if (asked.level !== undefined) {
    const levels = asked.level.split(',')
    const unknown = levels.find(level => severityOf(level) === undefined)
    if (unknown !== undefined)
      throw wrong(
        '?level',
        'enum',
        `level: "${unknown}" is none of ERROR, WARN (or WARNING), INFO, DEBUG, TRACE, in any letter case`,
      )
    and.push(fieldCondition('level', levels.length > 1 ? 'in' : 'gte', levels, 'level'))
  }
  and.push(...timesBetween(asked.from, asked.to))
  for (const field of ['server', 'tag', 'tool', 'user', 'requestId'] as const) {
    const value = asked[field]
    if (value !== undefined) and.push({ field, op: 'eq', values: [value] })
  }
  if (asked.outcome !== undefined) {
    const outcomes = asked.outcome.split(',')
    const unknown = outcomes.find(each => !(CALL_OUTCOMES as readonly string[]).includes(each))
    if (unknown !== undefined)
      throw wrong('?outcome', 'enum', `outcome: "${unknown}" is none of ${CALL_OUTCOMES.join(', ')}`)
    and.push({ field: 'outcome', op: 'in', values: outcomes })
  }
  const { q } = asked
  if (q !== undefined) and.push(asField('?q', () => parseQueryText(q, Date.now())))
  return { and }
}

/** The conditions of `from` and `to`, times or dates. Throws `validation_failed`. */
export function timesBetween(from: string | undefined, to: string | undefined): readonly LogCondition[] {
  const time = (edge: 'from' | 'to', text: string | undefined) =>
    text === undefined ? undefined : asField(`?${edge}`, () => readTime(text, edge, edge, Date.now()))
  const [first, last] = [time('from', from), time('to', to)]
  if (first !== undefined && last !== undefined && last < first)
    throw wrong('?to', 'range_order', 'to: lies before from')
  return [
    ...(first === undefined ? [] : [{ field: 'timestamp', op: 'gte' as const, values: [first] }]),
    ...(last === undefined ? [] : [{ field: 'timestamp', op: 'lte' as const, values: [last] }]),
  ]
}

/** One search request. */
export interface AskedRecords {
  readonly where: LogCondition
  /** The conditions as they were sent, to which a cursor belongs: `now-1h` is another time for each page. Default: `where`. */
  readonly stated?: unknown
  readonly order: 'asc' | 'desc'
  readonly limit: number
  readonly cursor?: string | undefined
  readonly scope?: 'mine' | 'all' | undefined
  /** Place of the condition in the request, for the pointers of errors. Default `query`. */
  readonly askedIn?: 'query' | 'body'
  /** See `RecordQuery`. */
  readonly stepMs?: number | undefined
}

async function answer(deps: SearchDeps, actor: UserActor, asked: AskedRecords): Promise<RouteAnswer> {
  const { items, histogram: steps, calls: _calls, ...found } = await findRecords(deps, actor, asked)
  // The records are texts already: parsing a thousand of them would hold up the main thread.
  const rest = JSON.stringify(found)
  const counted = steps === undefined ? '' : `"histogram":${steps},`
  return { text: `{"items":[${items.join(',')}],${counted}${rest.slice(1)}` }
}

/** A page of records as JSON texts, and their histogram as one. Throws as `StoredRecords.search`, and `validation_failed` for a foreign cursor. */
export async function findRecords(deps: SearchDeps, actor: UserActor, asked: AskedRecords) {
  const { sealing } = deps
  const { order: wanted, limit, cursor, scope: extent, stepMs } = asked
  const mine = asksForOwn(actor, extent)
  const records = deps.store.for(actor)
  const [queryAt, cursorAt] = asked.askedIn === 'body' ? ['#/query', '#/cursor'] : ['?q', '?cursor']
  const where = await withIds(asked.where, actor, deps, queryAt)
  const place = [asked.stated ?? where, wanted, extent ?? '']
  const after = cursor === undefined ? undefined : openCursor(sealing, actor.userId, place, cursor)
  if (cursor !== undefined && after === undefined)
    throw wrong(cursorAt, 'cursor_invalid', 'cursor: of another search, or none')
  const page = await records.search({
    where,
    order: wanted,
    limit,
    ...(after === undefined ? {} : { after }),
    ...(mine ? { mine } : {}),
    ...(stepMs === undefined ? {} : { stepMs }),
  })
  const { items, total, calls, totalIsExact, behind, next } = page
  const nextCursor = next === undefined ? {} : { nextCursor: sealCursor(sealing, actor.userId, place, next) }
  // Totals over all users are for administrators only.
  const waiting = isAdmin(actor) ? { behind } : {}
  return {
    items,
    histogram: page.histogram,
    total,
    calls,
    totalIsExact,
    ...nextCursor,
    source: 'database' as const,
    ...waiting,
  }
}
