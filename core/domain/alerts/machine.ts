import type { Verdict } from './verdict.ts'

/** The times of a rule that decide about an instance, in milliseconds. */
export interface AlertTiming {
  /** Time for which the condition must hold before the alert fires, in milliseconds; 0: at once. */
  readonly durationMs: number
  /** Time for which it must be false before a firing alert is resolved, in milliseconds. */
  readonly keepFiringForMs: number
  /** Time between two messages about an alert that keeps firing, in milliseconds; 0: no second message. */
  readonly repeatIntervalMs: number
  /** Result for a subject without data: unchanged for a time, false, or true. */
  readonly noData: 'keep' | 'ok' | 'alert'
}

/** One rule for one subject. All times are spans that the hub itself saw pass, so that no clock can shift them. */
export interface AlertInstance {
  readonly phase: 'inactive' | 'pending' | 'firing'
  /** Time for which the condition has held while pending, in milliseconds. */
  readonly heldMs: number
  /** Time for which it has been false while firing, in milliseconds; absent: it holds. */
  readonly falseMs?: number
  /** Time in milliseconds, and number of evaluations, without data; absent: there is data. */
  readonly noDataMs?: number
  readonly noDataTimes?: number
  /** Times since the last three firings began, in milliseconds, newest first. */
  readonly firings: readonly number[]
  readonly flapping: boolean
  /** Milliseconds since the last message; `repeats`: number of repeated messages. */
  readonly sinceMessageMs: number
  readonly repeats: number
}

/** Change made by an evaluation, for the incident and its messages. */
export type AlertChange =
  | { readonly kind: 'pending' | 'cleared' | 'fired' }
  | { readonly kind: 'repeat'; readonly number: number }
  | { readonly kind: 'resolved'; readonly reason?: 'no_data' | 'removed' }

export const INACTIVE: AlertInstance = {
  phase: 'inactive',
  heldMs: 0,
  firings: [],
  flapping: false,
  sinceMessageMs: 0,
  repeats: 0,
}

const HOUR_MS = 60 * 60_000
/** A firing alert without data is resolved after this time. */
const NO_DATA_MS = 15 * 60_000
/** Number of firings within an hour that counts as flapping. */
const FLAPPING_FIRINGS = 3
const FLAPPING_FACTOR = 4

/** Default of `keepFiringFor`: the rule's duration, but at least 30 s and at most 5 min. */
export function usualKeepFiringFor(durationMs: number): number {
  return Math.max(30_000, Math.min(durationMs, 5 * 60_000))
}

/**
 * Returns the next state of an instance. `elapsedMs`: time since the last evaluation, 0 after a gap without evaluations. `gone`:
 * the subject no longer exists. Pure.
 */
export function evaluate(
  before: AlertInstance,
  verdict: Verdict | 'gone',
  elapsedMs: number,
  timing: AlertTiming,
): { readonly instance: AlertInstance; readonly change?: AlertChange } {
  const firings = before.firings.map(age => age + elapsedMs).filter(age => age < HOUR_MS)
  const aged: AlertInstance = { ...before, firings, sinceMessageMs: before.sinceMessageMs + elapsedMs }
  if (verdict === 'gone') return gone(aged)
  const { noDataMs: _ms, noDataTimes: _times, ...withData } = aged
  const known = verdict ?? (timing.noData === 'keep' ? undefined : timing.noData === 'alert')
  if (known === undefined) return withoutData(aged, elapsedMs)
  if (withData.phase === 'firing') return known ? goesOn(withData, timing) : ends(withData, elapsedMs, timing)
  return known ? holds(withData, elapsedMs, timing) : clear(withData)
}

/**
 * Milliseconds until an unchanged verdict changes the state; undefined: never. Used for a timer that does not wait for the next
 * tick.
 */
export function dueInMs(instance: AlertInstance, timing: AlertTiming): number | undefined {
  if (instance.phase === 'pending') return Math.max(0, timing.durationMs - instance.heldMs)
  if (instance.falseMs === undefined) return undefined
  return Math.max(0, keepFiringFor(instance, timing) - instance.falseMs)
}

/** True when no state of the instance needs to be kept. */
export function isForgettable(instance: AlertInstance): boolean {
  return instance.phase === 'inactive' && instance.firings.length === 0
}

function gone(instance: AlertInstance): ReturnType<typeof evaluate> {
  if (instance.phase === 'firing') return { instance: INACTIVE, change: { kind: 'resolved', reason: 'removed' } }
  return instance.phase === 'pending' ? { instance: INACTIVE, change: { kind: 'cleared' } } : { instance: INACTIVE }
}

function holds(instance: AlertInstance, elapsedMs: number, timing: AlertTiming): ReturnType<typeof evaluate> {
  const wasPending = instance.phase === 'pending'
  const heldMs = wasPending ? instance.heldMs + elapsedMs : 0
  if (heldMs >= timing.durationMs) return { instance: fired(instance, heldMs), change: { kind: 'fired' } }
  const pending: AlertInstance = { ...instance, phase: 'pending', heldMs }
  return wasPending ? { instance: pending } : { instance: pending, change: { kind: 'pending' } }
}

function fired({ firings: earlier, falseMs: _, ...instance }: AlertInstance, heldMs: number): AlertInstance {
  const firings = [0, ...earlier].slice(0, FLAPPING_FIRINGS)
  const flapping = firings.length === FLAPPING_FIRINGS
  return { ...instance, phase: 'firing', heldMs, firings, flapping, sinceMessageMs: 0, repeats: 0 }
}

function clear(instance: AlertInstance): ReturnType<typeof evaluate> {
  const inactive: AlertInstance = { ...INACTIVE, firings: instance.firings }
  return instance.phase === 'pending' ? { instance: inactive, change: { kind: 'cleared' } } : { instance: inactive }
}

function goesOn(
  { falseMs: _, ...instance }: AlertInstance,
  { repeatIntervalMs }: AlertTiming,
): ReturnType<typeof evaluate> {
  if (repeatIntervalMs === 0 || instance.sinceMessageMs < repeatIntervalMs) return { instance }
  const number = instance.repeats + 1
  return { instance: { ...instance, sinceMessageMs: 0, repeats: number }, change: { kind: 'repeat', number } }
}

function ends(instance: AlertInstance, elapsedMs: number, timing: AlertTiming): ReturnType<typeof evaluate> {
  const falseMs = instance.falseMs === undefined ? 0 : instance.falseMs + elapsedMs
  if (falseMs < keepFiringFor(instance, timing)) return { instance: { ...instance, falseMs } }
  return { instance: { ...INACTIVE, firings: instance.firings }, change: { kind: 'resolved' } }
}

/** While pending, two evaluations without data end it; while firing, it stays for 15 minutes. */
function withoutData(instance: AlertInstance, elapsedMs: number): ReturnType<typeof evaluate> {
  const noDataTimes = (instance.noDataTimes ?? 0) + 1
  const noDataMs = instance.noDataMs === undefined ? 0 : instance.noDataMs + elapsedMs
  if (instance.phase === 'inactive') return { instance }
  if (instance.phase === 'pending' && noDataTimes >= 2) return clear(instance)
  if (instance.phase === 'firing' && noDataMs >= NO_DATA_MS) {
    const inactive: AlertInstance = { ...INACTIVE, firings: instance.firings }
    return { instance: inactive, change: { kind: 'resolved', reason: 'no_data' } }
  }
  return { instance: { ...instance, noDataTimes, noDataMs } }
}

function keepFiringFor({ flapping }: AlertInstance, { keepFiringForMs }: AlertTiming): number {
  if (!flapping) return keepFiringForMs
  return Math.max(keepFiringForMs, Math.min(keepFiringForMs * FLAPPING_FACTOR, HOUR_MS))
}
