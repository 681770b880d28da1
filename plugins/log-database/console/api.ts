import { api, inTurn } from 'patchbay/console'
import type { Level } from './levels.ts'

/** A log record with all its members side by side, in searches and in the live stream. */
export interface LogRecord {
  readonly timestamp: string
  readonly level: Level
  readonly message: string
  readonly server?: string
  readonly tool?: string
  readonly duration?: number
  readonly status?: string
  /** Outcome of a tool call. */
  readonly outcome?: string
  readonly error?: unknown
  readonly requestId?: string
  readonly userId?: string
  readonly [field: string]: unknown
}

/** A condition of `POST /api/logs/search`. */
export type LogQuery = Readonly<Record<string, unknown>>

/** A page of records that were found. */
export interface Found {
  readonly records: readonly LogRecord[]
  /** Matches, at most 10,000. */
  readonly total: number
  /** False: there are more matches, or the time for looking ended. */
  readonly totalIsExact: boolean
  readonly nextCursor?: string
  /** Records that were logged and are not stored yet. */
  readonly behind: number
  /** The counted matches over time, if requested. */
  readonly histogram?: Pick<Timeline, 'interval' | 'points'>
}

/** Most records of one answer. */
export const PAGE_RECORDS = 1000

interface SearchOptions {
  readonly limit?: number
  readonly order?: 'asc' | 'desc'
  readonly cursor?: string | undefined
  readonly scope?: 'mine' | undefined
  /** Also count the matches in steps of this duration. */
  readonly histogram?: string
  readonly signal?: AbortSignal | undefined
}

interface SearchAnswer {
  readonly items: readonly (LogRecord & { readonly fields?: Readonly<Record<string, unknown>> })[]
  readonly total: number
  readonly totalIsExact: boolean
  readonly nextCursor?: string
  readonly behind: number
  readonly histogram?: Pick<Timeline, 'interval' | 'points'>
}

/** Searches records, the newest first unless said otherwise. Throws ApiError, such as `history_unavailable`. */
export async function searchLogs(query: LogQuery, options: SearchOptions = {}): Promise<Found> {
  const { limit = PAGE_RECORDS, order = 'desc', cursor, scope, histogram, signal } = options
  const sort = [{ timestamp: order }]
  const body = { query, sort, limit, cursor, scope, histogram }
  const { items, ...rest } = await inTurn(() => api.post<SearchAnswer>('/api/logs/search', { body, signal }))
  return { ...rest, records: items.map(({ fields, ...record }) => ({ ...record, ...fields }) as LogRecord) }
}

/** The name of the user who made the call of a record; undefined where it is not known any more. */
export async function callerOf({ timestamp, userId }: LogRecord, signal: AbortSignal): Promise<string | undefined> {
  const query = { from: timestamp, to: timestamp, limit: 100 }
  const { items } = await api.get<{ readonly items: readonly { readonly user: { id: string; name: string } }[] }>(
    '/api/monitoring/activity',
    { query, signal },
  )
  return items.find(({ user }) => user.id === userId)?.user.name
}

/** Numbers of records over time. */
export interface Timeline {
  readonly from: string
  readonly to: string
  readonly interval: string
  readonly points: readonly {
    readonly timestamp: string
    readonly total: number
    readonly counts: Partial<Record<Level, number>>
  }[]
}

/** Counts records of the last `range` in steps of `interval`, both durations such as `1h`. */
export function logTimeline(
  range: string,
  interval: string,
  scope: 'mine' | undefined,
  signal: AbortSignal,
): Promise<Timeline> {
  return api.get('/api/logs/aggregations/timeline', { query: { range, interval, scope }, signal })
}
