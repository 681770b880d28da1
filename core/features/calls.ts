import type { UserActor } from '../contract/records.ts'
import type { CallOutcome, ToolCallRecord } from './call-records.ts'

declare module '../contract/plugin.ts' {
  interface PluginContext<Config> {
    readonly calls: PluginCalls
  }
}

/** A tools/call that ended, as plugins get it: without the texts that it carried, and without the place of its caller. */
export type FinishedCall = Pick<
  ToolCallRecord,
  | 'at'
  | 'requestId'
  | 'userId'
  | 'ownerId'
  | 'serverId'
  | 'server'
  | 'groupId'
  | 'tool'
  | 'durationMs'
  | 'outcome'
  | 'status'
  | 'resultBytes'
  | 'traceId'
>

/** The calls that a handler could not get. */
export interface CallFeed {
  /** Calls that were dropped since `on`, because 10,000 waited; of the user with the most of them. */
  readonly lost: number
}

/** A field by which calls are distinguished. `caller`: the user who called. */
export type CallField = 'owner' | 'server' | 'tool' | 'caller' | 'outcome'

/** A question about the calls of the last hour. */
export interface CallQuery {
  /** Fields that distinguish the rows of the answer; none gives one row. */
  readonly by: readonly CallField[]
  /** Time up to now, in milliseconds, in steps of 10 s; at most 3,600,000. */
  readonly range: number
  /** Only calls with these ids, this tool or outcome. `server` is the id. */
  readonly where?: Readonly<Partial<Record<CallField, string>>>
  /** Only calls that this user may know of: those that it made, and those of its servers; of an administrator all. */
  readonly for?: UserActor
  /** Most rows, those with the most calls. Default 1,000. */
  readonly limit?: number
}

/**
 * Calls with some fields in common; the others are absent. Fields are empty texts for calls that reached no server, and where the
 * hub counts no more different ones. Times are milliseconds, null where nothing was timed; a percentile is off by 0.8 % at most.
 */
export interface CallStats {
  readonly ownerId?: string
  readonly serverId?: string
  readonly server?: string
  readonly tool?: string
  readonly userId?: string
  readonly outcome?: CallOutcome
  readonly calls: number
  /** Calls with another outcome than `ok`. */
  readonly failed: number
  readonly resultBytes: number
  readonly avgMs: number | null
  readonly maxMs: number | null
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  readonly p99Ms: number | null
}

/** Calls of all users, whichever plugin asks: as with events, a plugin is trusted with them. */
export interface PluginCalls {
  /** Runs `handler` soon after each call that ended, one at a time and in order, until the plugin stops. One that throws is logged. */
  on(handler: (call: FinishedCall) => void | Promise<void>): CallFeed
  /** `from`: the beginning of the time that the rows cover, in ms since 1970; later than asked for where more is not kept. */
  stats(query: CallQuery): Promise<{ readonly from: number; readonly rows: readonly CallStats[] }>
}
