import { LIMITS } from '../../config/limits.ts'
import type { MergedCatalog } from './merge.ts'
import type { Target } from './scope-types.ts'
import { everyTarget } from './selector.ts'

/** Time for which a name that was exposed before a change still resolves to its item. */
const OLD_NAME_MS = 10 * 60_000

type NamedLists = Pick<MergedCatalog, 'tools' | 'prompts'>
type NamedKind = keyof NamedLists

interface OldName {
  readonly serverId: string
  readonly original: string
  readonly until: number
}

/** Names that a scope exposed a while ago: calls by clients that have not read the new list yet still find their item. */
export class OldNames {
  readonly #now: () => number
  readonly #old = { tools: new Map<string, OldName>(), prompts: new Map<string, OldName>() }

  constructor(now: () => number) {
    this.#now = now
  }

  /** Keeps the names of `before` that `now` lacks. */
  keep(before: NamedLists, now: NamedLists): void {
    this.#keep('tools', before, now)
    this.#keep('prompts', before, now)
  }

  /** An old name resolves only to an item that is listed under another name now, not to a hidden or removed one. */
  find(kind: NamedKind, name: string, now: NamedLists): Target | undefined {
    const old = this.#old[kind].get(name)
    if (!old || old.until <= this.#now()) return undefined
    for (const [, target] of everyTarget(now[kind]))
      if (target.member.server.id === old.serverId && target.original === old.original) return target
    return undefined
  }

  #keep(kind: NamedKind, before: NamedLists, now: NamedLists): void {
    const clock = this.#now()
    const old = this.#old[kind]
    for (const [name, { until }] of old) if (until <= clock) old.delete(name)
    for (const [name, { member, original, choice }] of before[kind]) {
      // A name that stood for several members is the name of none of them.
      if (choice || now[kind].has(name)) continue
      // Inserted last even if it was present: the oldest are dropped first.
      old.delete(name)
      old.set(name, { serverId: member.server.id, original, until: clock + OLD_NAME_MS })
    }
    for (const name of old.keys()) {
      if (old.size <= LIMITS.oldNames) return
      old.delete(name)
    }
  }
}
