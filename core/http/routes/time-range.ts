import { z } from 'zod'
import { HubError } from '../../contract/errors.ts'
import type { UserActor } from '../../contract/records.ts'
import { parseDuration } from '../../domain/duration.ts'
import { isAdmin } from '../../domain/ownership.ts'
import type { LogStore, StoredRecords } from '../../features/log-store.ts'
import { wrong } from './wrong-field.ts'

const LONGEST_MS = 400 * 86_400_000
/** Numbers are kept by slots of this length; steps are put together of them. */
const SLOT_MS = 10_000
const MOST_POINTS = 10_000

/** A duration in a query, as text. */
export const durationField = z.string().min(1).max(64)
/** Administrators may request less than they may read; see `asksForOwn`. */
export const scopeField = z.enum(['mine', 'all']).optional().meta({
  description: '`mine`: what an ordinary user would see; `all`: for administrators, to whom it is the default',
})

/**
 * True when an administrator requests only the data that an ordinary user would see. Throws `admin_only` when another user
 * requests `all`.
 */
export function asksForOwn(actor: UserActor, scope: 'mine' | 'all' | undefined): boolean {
  if (scope === 'all' && !isAdmin(actor))
    throw new HubError('admin_only', 'Only administrators read what belongs to everybody (scope=all)')
  return scope === 'mine'
}

/** `?range=`, with its default. */
export function rangeField(usual: string) {
  return durationField.default(usual).meta({ description: 'How far back, such as 15m, 24h or 30d; from 10s to 400d' })
}

/** The range in milliseconds. Throws `validation_failed` with the field code `duration`. */
export function readRange(range: string): number {
  const rangeMs = parseDuration(range) ?? 0
  if (rangeMs < SLOT_MS || rangeMs > LONGEST_MS)
    throw wrong('?range', 'duration', 'range: a duration from 10s to 400d, such as 24h')
  return rangeMs
}

/**
 * The length of the steps of a range, in milliseconds; `name` is their parameter. Throws `validation_failed` with the field
 * codes `duration` for anything but a multiple of 10 s, and `range` for more than 10,000 of them.
 */
export function readStep(name: 'interval' | 'step', step: string, rangeMs: number): number {
  const stepMs = parseDuration(step) ?? 0
  if (stepMs === 0 || stepMs % SLOT_MS !== 0)
    throw wrong(`?${name}`, 'duration', `${name}: a multiple of 10s, such as 1m`)
  if (rangeMs / stepMs > MOST_POINTS)
    throw wrong(`?${name}`, 'range', `${name}: this range would have more than ${MOST_POINTS} points`)
  return stepMs
}

/** Dependency of routes that read stored records and numbers. */
export interface StoredDeps {
  /** Undefined while no plugin stores records. */
  readonly logStore: () => LogStore | undefined
}

/** The stored records and numbers that an actor may read. Throws `log_search_unavailable` while no plugin stores any. */
export function storedRecords({ logStore }: StoredDeps, actor: UserActor): StoredRecords {
  const store = logStore()
  if (store) return store.for(actor)
  throw new HubError('log_search_unavailable', 'Log records cannot be searched: no plugin that stores them runs')
}

/** The time that an answer covers, as fields. */
export function covered({ from, to }: { readonly from: number; readonly to: number }) {
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
}
