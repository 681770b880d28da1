import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import { validationError } from '../domain/validation-error.ts'

const SLOT_MS = 10_000
const WINDOW_SLOTS = 360

/** Names of numbers and of labels. */
export const METRIC_NAME = /^[a-z][a-z0-9_]{0,63}$/
/** Labels that `/metrics` adds. */
export const TAKEN_LABELS: readonly string[] = ['owner', 'name']

/** One report of a number that a user counts for itself. */
export interface CustomUpdate {
  readonly name: string
  /** `counter`: `value` is added. `gauge`: `value` is the number from now on. */
  readonly kind: 'counter' | 'gauge'
  readonly value: number
  readonly labels: Readonly<Record<string, string>>
}

/** A number with its last report, in milliseconds since 1970. */
export interface CustomSeries extends CustomUpdate {
  readonly ownerId: string
  readonly updatedAtMs: number
}

interface Series {
  readonly update: CustomUpdate
  value: number
  updatedAtMs: number
  /** Values of the last hour: the amount added in a slot, or the gauge's number at its end. */
  slots: { readonly number: number; value: number }[]
}

/** Numbers that users report, each in its owner's namespace, since the start of the hub. */
export class CustomMetrics {
  readonly #owners = new Map<string, Map<string, Series>>()
  readonly #now: () => number

  /** `now`: milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /**
   * Adds all reports or none: throws `quota_custom_metrics` above 200 series of the owner, and `validation_failed` if a name
   * would be both a counter and a gauge, whose sum would be meaningless. `pointerOf` returns the place of an update.
   */
  add(
    ownerId: string,
    updates: readonly CustomUpdate[],
    pointerOf = (index: number): string => `#/metrics/${index}/kind`,
  ): void {
    const own = this.#owners.get(ownerId) ?? new Map<string, Series>()
    refuseSecondKind(own, updates, pointerOf)
    const added = new Set(updates.map(keyOf).filter(key => !own.has(key)))
    if (own.size + added.size > LIMITS.customMetricSeriesPerUser) {
      const limit = `A user may have ${LIMITS.customMetricSeriesPerUser} of them`
      throw new HubError('quota_custom_metrics', `${limit}; there are ${own.size}, and ${added.size} would be new`)
    }
    this.#owners.set(ownerId, own)
    for (const update of updates) {
      const key = keyOf(update)
      const series = own.get(key) ?? { update, value: 0, updatedAtMs: 0, slots: [] }
      own.set(key, series)
      this.#count(series, update)
    }
  }

  /** One owner's, or all. */
  list(ownerId: string | 'all'): readonly CustomSeries[] {
    return [...this.#owners]
      .filter(([id]) => ownerId === 'all' || id === ownerId)
      .flatMap(([id, own]) =>
        [...own.values()].map(({ update, value, updatedAtMs }) => ({ ...update, value, updatedAtMs, ownerId: id })),
      )
  }

  /**
   * Sum of the amounts added to the counters of this name within the window, and of the gauges' last numbers in it; `undefined`
   * if nothing was reported.
   */
  value(ownerId: string | 'all', name: string, windowMs: number): number | undefined {
    const from = Math.floor((this.#now() - windowMs) / SLOT_MS)
    const owners =
      ownerId === 'all' ? [...this.#owners.values()] : [this.#owners.get(ownerId) ?? new Map<string, Series>()]
    const found = owners
      .flatMap(own => [...own.values()])
      .filter(({ update }) => update.name === name)
      .flatMap(series => within(series, from) ?? [])
    return found.length === 0 ? undefined : found.reduce((sum, value) => sum + value, 0)
  }

  /** Forgets the reports of a removed user. */
  forget(ownerId: string): void {
    this.#owners.delete(ownerId)
  }

  #count(series: Series, { kind, value }: CustomUpdate): void {
    const nowMs = this.#now()
    const number = Math.floor(nowMs / SLOT_MS)
    const last = series.slots.at(-1)
    const slot = last?.number === number ? last : { number, value: 0 }
    if (slot !== last) series.slots.push(slot)
    slot.value = kind === 'counter' ? slot.value + value : value
    series.value = kind === 'counter' ? series.value + value : value
    series.updatedAtMs = nowMs
    if (series.slots.length > WINDOW_SLOTS) series.slots.shift()
  }
}

function refuseSecondKind(
  own: ReadonlyMap<string, Series>,
  updates: readonly CustomUpdate[],
  pointerOf: (index: number) => string,
): void {
  const kinds = new Map([...own.values()].map(({ update }) => [update.name, update.kind]))
  for (const [index, { name, kind }] of updates.entries()) {
    const known = kinds.get(name) ?? kind
    kinds.set(name, known)
    if (known === kind) continue
    const detail = `"${name}" is a ${known} of yours already; give the ${kind} another name`
    throw validationError([{ pointer: pointerOf(index), code: 'ambiguous', detail }])
  }
}

function keyOf({ name, kind, labels }: CustomUpdate): string {
  return JSON.stringify([name, kind, Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))])
}

/** A counter is 0 where nothing was added; a gauge that was not reported in the window has no number. */
function within({ update, slots }: Series, from: number): number | undefined {
  const values = slots.filter(({ number }) => number > from).map(({ value }) => value)
  return update.kind === 'counter' ? values.reduce((sum, value) => sum + value, 0) : values.at(-1)
}
