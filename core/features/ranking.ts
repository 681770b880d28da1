import type { UserActor } from '../contract/records.ts'
import type { ScopeTool } from './tools.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    toolRanker: ToolRanker
  }
}

/** A search of one caller among the caller's own tools. */
export interface RankQuery {
  readonly actor: UserActor
  readonly query: string
  /** The same array while nothing of them has changed. */
  readonly tools: readonly ScopeTool[]
}

/** Orders tools by another measure than their words, for the search of `$smart`. */
export interface ToolRanker {
  /** Milliseconds that a search waits for it, at most 2,000; later it goes by words alone. Default 300. */
  readonly withinMs?: number
  /** The names of those that fit, best first. Rejects when it cannot rank them; the search goes by words alone then. */
  rank(asked: RankQuery, signal: AbortSignal): Promise<readonly string[]>
}
