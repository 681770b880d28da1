import type { CheckSample } from './check/check.ts'
import type { Action } from './types.ts'

/** Samples that are kept of one rule, and rules of which anything is kept. */
const MOST_SAMPLES = 20
const MOST_RULES = 20_000

/** One place at which a rule found something. */
export interface Sample extends CheckSample {
  /** ISO 8601 UTC. */
  readonly at: string
  readonly on: 'arguments' | 'result'
  readonly server: string
  readonly tool?: string
  readonly action: Action
}

/** Calls in which a rule found something, by what was done, since `since`. */
export interface Counts extends Readonly<Record<Action, number>> {
  readonly since: string
}

interface Kept {
  readonly since: string
  readonly counts: Record<Action, number>
  readonly samples: Sample[]
}

/** Counts and samples of all rules since the hub started, in memory. */
export class Findings {
  readonly #kept = new Map<string, Kept>()
  readonly #now: () => string

  constructor(now: () => string) {
    this.#now = now
  }

  /** `samples`: without their time. */
  add(place: string, rule: string, action: Action, samples: readonly Omit<Sample, 'at' | 'action'>[]): void {
    const key = `${place} ${rule}`
    const kept = this.#kept.get(key) ?? this.#create(key)
    kept.counts[action] += 1
    const at = this.#now()
    for (const sample of samples) kept.samples.push({ ...sample, at, action })
    if (kept.samples.length > MOST_SAMPLES) kept.samples.splice(0, kept.samples.length - MOST_SAMPLES)
  }

  counts(place: string, rule: string): Counts {
    const { since, counts } = this.#kept.get(`${place} ${rule}`) ?? { since: this.#now(), counts: none() }
    return { since, ...counts }
  }

  /** The newest first. */
  samples(place: string, rule: string): readonly Sample[] {
    return (this.#kept.get(`${place} ${rule}`)?.samples ?? []).toReversed()
  }

  /** Forgets the rules of a place, but those that stay as they are. */
  forget(place: string, stays: ReadonlySet<string> = new Set()): void {
    for (const key of this.#kept.keys())
      if (key.startsWith(`${place} `) && !stays.has(key.slice(place.length + 1))) this.#kept.delete(key)
  }

  #create(key: string): Kept {
    const [oldest] = this.#kept.keys()
    if (this.#kept.size >= MOST_RULES && oldest !== undefined) this.#kept.delete(oldest)
    const kept: Kept = { since: this.#now(), counts: none(), samples: [] }
    this.#kept.set(key, kept)
    return kept
  }
}

function none(): Record<Action, number> {
  return { observed: 0, masked: 0, refused: 0, failed: 0 }
}
