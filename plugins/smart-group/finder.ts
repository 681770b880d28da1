import type { ScopeTool, ScopeView, ToolRanker } from 'patchbay/features'
import { fuse } from './fusion.ts'
import type { ToolIndex } from './tool-index.ts'
import type { Turns } from './turns.ts'

const USUAL_WAIT_MS = 300
const MOST_WAIT_MS = 2_000

/** Result of a search, best first. */
export interface Found {
  readonly tools: readonly ScopeTool[]
  /** Basis of the order, if there is a ranker: `words` when it was late, or could not rank. */
  readonly ranking?: 'words' | 'words and meaning'
}

/** Finds the tools of a caller: by their words, and by a ranker's order too where a plugin offers one. */
export class Finder {
  readonly #index: ToolIndex
  readonly #turns: Turns
  readonly #ranker: () => ToolRanker | undefined

  constructor(index: ToolIndex, turns: Turns, ranker: () => ToolRanker | undefined) {
    this.#index = index
    this.#turns = turns
    this.#ranker = ranker
  }

  /** `of`: those that may be found; default all. */
  async find(scope: ScopeView, query: string, of: (tool: ScopeTool) => boolean = () => true): Promise<Found> {
    const ranker = this.#ranker()
    // Begun first, since it waits for an external service; its time does not count as the user's turn.
    const ranking = ranker && byMeaning(ranker, scope, query)
    const byWords = await this.#turns.run(scope.actor.userId, () => this.#index.search(scope, query, of))
    if (!ranking) return { tools: byWords }
    const names = await ranking
    if (!names) return { tools: byWords, ranking: 'words' }
    const known = new Map(scope.tools.map(tool => [tool.name, tool]))
    // Only the caller's own tools are taken from the ranker's answer.
    const ranked = names.flatMap(name => known.get(name) ?? []).filter(of)
    return { tools: fuse(byWords, [...new Set(ranked)]), ranking: 'words and meaning' }
  }
}

/** Undefined when it is late or fails. */
async function byMeaning(
  ranker: ToolRanker,
  { actor, tools }: ScopeView,
  query: string,
): Promise<readonly string[] | undefined> {
  const late = new AbortController()
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const waitMs = Math.min(ranker.withinMs ?? USUAL_WAIT_MS, MOST_WAIT_MS)
  const timer = setTimeout(() => {
    late.abort()
    resolve(undefined)
  }, waitMs)
  try {
    const ranking = ranker.rank({ actor, query, tools }, late.signal).catch(() => undefined)
    return await Promise.race([ranking, promise])
  } finally {
    clearTimeout(timer)
  }
}
