import { LIMITS } from '../../config/limits.ts'
import type { ServerCatalog } from '../../connections/api.ts'
import { LIST_KINDS, type ListKind } from '../../domain/mcp-methods.ts'
import type { MemberState } from './scope-types.ts'

type Counts = Record<ListKind, number>

interface Cut {
  readonly states: readonly MemberState[]
  /** Number of items beyond the limit. */
  readonly leftOut: Readonly<Counts>
}

/**
 * The members with at most `scopeItems` items of each kind together. The servers of `ownerId` come first, so that those
 * of others do not evict them. Returns the same states where the limit is not exceeded.
 */
export function cutStates(states: readonly MemberState[], ownerId: string): Cut {
  const left = countsOf(() => LIMITS.scopeItems)
  const leftOut = countsOf(() => 0)
  const totals = countsOf(kind => states.reduce((sum, { catalog }) => sum + (catalog?.[kind].length ?? 0), 0))
  if (LIST_KINDS.every(kind => totals[kind] <= LIMITS.scopeItems)) return { states, leftOut }
  const own = (state: MemberState): number => (state.member.server.ownerId === ownerId ? 0 : 1)
  const cut = new Map<MemberState, ServerCatalog>()
  for (const state of states.toSorted((one, other) => own(one) - own(other))) {
    const { catalog } = state
    if (!catalog) continue
    const kept = { ...catalog }
    for (const kind of LIST_KINDS) {
      const items = catalog[kind]
      if (items.length > left[kind]) kept[kind] = items.slice(0, left[kind])
      leftOut[kind] += items.length - kept[kind].length
      left[kind] -= kept[kind].length
    }
    cut.set(state, kept)
  }
  return { states: states.map(state => ({ ...state, catalog: cut.get(state) })), leftOut }
}

function countsOf(count: (kind: ListKind) => number): Counts {
  return {
    tools: count('tools'),
    prompts: count('prompts'),
    resources: count('resources'),
    resourceTemplates: count('resourceTemplates'),
  }
}
