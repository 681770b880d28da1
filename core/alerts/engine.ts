import { randomUUID } from 'node:crypto'
import { type ErrorCode, HubError } from '../contract/errors.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import { type ConditionTest, testsOf } from '../domain/alerts/condition.ts'
import { type AlertInstance, dueInMs, evaluate, INACTIVE, isForgettable } from '../domain/alerts/machine.ts'
import { nextTurn } from '../domain/next-turn.ts'
import type { EventBus } from '../events/bus.ts'
import type { Store } from '../store/open.ts'
import { read, write } from '../store/transact.ts'
import type { AlertFacts } from './facts.ts'
import { type ActiveRule, activeRules } from './rules.ts'
import { SubjectShares } from './subject-shares.ts'
import { evaluateSubjects } from './subjects.ts'
import { type StoredInstance, storeTransitions, type Transition } from './transitions.ts'

const TICK_MS = 10_000
/** An evaluation this late after the one before counts as a restart: what passed between them was not seen. */
const GAP_MS = TICK_MS + 30_000
/** Interval at which an instance that keeps firing is stored, in milliseconds. */
const STORE_MS = 60_000
/** Subjects of one transaction: each has messages for up to 20 channels, and SQLite writes in the main thread. */
const STORED_AT_ONCE = 5

/** Dependencies of the engine. */
export interface EngineDeps {
  readonly store: Store
  readonly bus: EventBus
  readonly log: PluginLogger
  readonly facts: AlertFacts & { nextInMs(): number | undefined }
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  /** Something new waits for these channels. */
  readonly wake: (ruleId: string, channelIds: readonly string[]) => void
}

/** Result of a rule's last evaluation: success, or the error. */
export interface RuleHealth {
  readonly state: 'ok' | 'error'
  /** Failed evaluations in a row. */
  readonly failures: number
  /** Code of the last error. */
  readonly code?: ErrorCode
  readonly message?: string
}

interface Kept {
  readonly instance: AlertInstance
  readonly incidentId: string | undefined
  readonly storedAtMs: number
  /** The subject's label; absent until this process has evaluated it. */
  readonly label?: string
  /** Read from the store, and not evaluated since. */
  readonly restored?: true
}

interface Run {
  readonly rule: ActiveRule
  readonly kept: Map<string, Kept>
  evaluatedAtMs: number | undefined
  health: RuleHealth
}

const HEALTHY: RuleHealth = { state: 'ok', failures: 0 }

/**
 * Evaluates all rules every 10 s, and those about states of servers at each change of one; one evaluation at a time. State
 * and messages of a subject are stored in one transaction before anything else is done with them.
 */
export class AlertEngine {
  readonly #deps: EngineDeps
  readonly #runs = new Map<string, Run>()
  readonly #shares = new SubjectShares()
  #tick: ReturnType<typeof setInterval> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #work: Promise<void> = Promise.resolve()
  #statesQueued = false
  #rulesQueued = false
  #disposed = false

  constructor(deps: EngineDeps) {
    this.#deps = deps
  }

  async begin(): Promise<void> {
    await this.#load()
    this.#tick = setInterval(() => void this.evaluateAll(), TICK_MS)
    await this.evaluateAll()
  }

  /** Rules were written: reads them again, and evaluates all. */
  rulesChanged(): void {
    if (this.#rulesQueued) return
    this.#rulesQueued = true
    void this.#queue(async () => {
      // Many are often written one after the other: those that were so far are read together.
      await nextTurn()
      this.#rulesQueued = false
      await this.#load()
      await this.#evaluate(() => true)
    })
  }

  /** The state of a server changed. Changes of one turn are evaluated together. */
  stateChanged(): void {
    if (this.#statesQueued) return
    this.#statesQueued = true
    void this.#queue(async () => {
      this.#statesQueued = false
      await this.#evaluate(isAboutStates)
    })
  }

  /** Evaluates every rule now; resolves when it is stored. Never rejects. */
  evaluateAll(): Promise<void> {
    return this.#queue(() => this.#evaluate(() => true))
  }

  /** Health of an enabled rule; undefined for others. */
  health(ruleId: string): RuleHealth | undefined {
    return this.#runs.get(ruleId)?.health
  }

  /** Subjects whose condition holds, but not for long enough yet, with the time in milliseconds until they fire. */
  pending(ruleId: string): readonly { readonly subject: string; readonly inMs: number }[] {
    const run = this.#runs.get(ruleId)
    if (!run) return []
    const sinceMs = run.evaluatedAtMs === undefined ? 0 : this.#deps.now() - run.evaluatedAtMs
    return [...run.kept].flatMap(([key, { instance, label = key }]) => {
      if (instance.phase !== 'pending') return []
      return [{ subject: label, inMs: Math.max(0, (dueInMs(instance, run.rule.rule) ?? 0) - sinceMs) }]
    })
  }

  /** The tests of all enabled rules. */
  tests(): readonly ConditionTest[] {
    return [...this.#runs.values()].flatMap(({ rule }) => testsOf(rule.condition))
  }

  /** Number of subjects that all rules of an owner evaluate now. */
  subjectsOf(ownerId: string): number {
    return this.#shares.of(ownerId)
  }

  /** State of a rule's instance for one subject. */
  instance(ruleId: string, subject: string): AlertInstance {
    return this.#runs.get(ruleId)?.kept.get(subject)?.instance ?? INACTIVE
  }

  async dispose(): Promise<void> {
    this.#disposed = true
    clearInterval(this.#tick)
    clearTimeout(this.#timer)
    await this.#work
  }

  #queue(work: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(async () => {
      if (this.#disposed) return
      try {
        await work()
      } catch (error) {
        this.#deps.log.error('The alert rules cannot be evaluated', { error })
      }
    })
    return this.#work
  }

  /** Loads the rules. A removed rule is dropped with its state, which the store has dropped too; known rules keep theirs. */
  async #load(): Promise<void> {
    const rules = await read(this.#deps.store, activeRules)
    const known = new Set(rules.map(({ id }) => id))
    for (const [id, run] of this.#runs) {
      if (known.has(id)) continue
      await this.#endRun(run)
      this.#shares.forget(run.rule)
      this.#runs.delete(id)
    }
    for (const rule of rules) {
      const before = this.#runs.get(rule.id)
      if (before?.rule.basis === rule.basis) this.#runs.set(rule.id, { ...before, rule })
      else {
        const run = before ? { ...before, rule } : await this.#restore(rule)
        if (before) await this.#endRun(run)
        this.#runs.set(rule.id, { rule, kept: run.kept, evaluatedAtMs: undefined, health: HEALTHY })
      }
    }
  }

  /** The instances of a rule as an earlier process left them. */
  async #restore(rule: ActiveRule): Promise<Run> {
    const rows = await read(this.#deps.store, db =>
      db.selectFrom('alert_instance').selectAll().where('rule_id', '=', rule.id).execute(),
    )
    const run: Run = { rule, kept: new Map(), evaluatedAtMs: undefined, health: HEALTHY }
    const foreign: Run = { ...run, kept: new Map() }
    for (const { subject, state, incident_id: incidentId } of rows) {
      const { instance, basis } = JSON.parse(state) as StoredInstance
      const into = basis === rule.basis ? run : foreign
      into.kept.set(subject, { instance, incidentId: incidentId ?? undefined, storedAtMs: 0, restored: true })
    }
    if (foreign.kept.size > 0) await this.#endRun(foreign)
    return run
  }

  /** Resolves the firing alerts of a rule that is switched off, or whose condition has changed. */
  async #endRun(run: Run): Promise<void> {
    const transitions = [...run.kept].map(([key, { instance, incidentId }]): Transition => {
      const { change } = evaluate(instance, 'gone', 0, run.rule.rule)
      const subject = { key, label: key }
      return { subject, instance: INACTIVE, value: undefined, change, incidentId, reason: 'changed' }
    })
    if (transitions.length > 0) await this.#store(run, transitions)
    run.kept.clear()
  }

  async #evaluate(wanted: (rule: ActiveRule) => boolean): Promise<void> {
    const { facts } = this.#deps
    const runs = [...this.#runs.values()]
    await facts.refresh(this.tests())
    for (const run of runs.filter(({ rule }) => wanted(rule))) {
      await this.#evaluateRun(run)
      await nextTurn()
    }
    this.#setTimer()
  }

  async #evaluateRun(run: Run): Promise<void> {
    try {
      const nowMs = this.#deps.now()
      const sinceMs = run.evaluatedAtMs === undefined ? Number.POSITIVE_INFINITY : nowMs - run.evaluatedAtMs
      await this.#store(run, await this.#transitions(run, sinceMs > GAP_MS ? 0 : sinceMs, nowMs), nowMs)
      run.evaluatedAtMs = nowMs
      run.health = HEALTHY
    } catch (error) {
      const failures = run.health.failures + 1
      const message = error instanceof Error ? error.message : String(error)
      run.health = { state: 'error', failures, code: error instanceof HubError ? error.code : 'internal', message }
      // The state is unchanged; the next evaluation tries again.
      if (failures === 1 || failures === 5) {
        this.#deps.log.error('An alert rule cannot be evaluated', { rule: run.rule.rule.name, failures, error })
      }
    }
  }

  async #transitions(run: Run, elapsedMs: number, nowMs: number): Promise<readonly Transition[]> {
    const { rule, kept } = run
    const evaluated = await evaluateSubjects(rule, this.#deps.facts, this.#shares.most(rule))
    this.#shares.note(rule, evaluated.size)
    return [...new Set([...evaluated.keys(), ...kept.keys()])].flatMap((key): Transition[] => {
      const now = evaluated.get(key)
      const before = kept.get(key)
      // The state of an earlier process stays until this process has enough data.
      if (before?.restored && now?.settling) return []
      const verdict = evaluateSince(before, now ? now.verdict : 'gone', elapsedMs, rule.rule)
      const { instance, change } = verdict
      if (isForgettable(instance) && !before) return []
      if (before && goesOn(verdict, before, nowMs)) {
        kept.set(key, { ...before, instance })
        return []
      }
      const incidentId = change?.kind === 'fired' ? randomUUID() : before?.incidentId
      const { subject, value } = now ?? { subject: { key, label: key }, value: undefined }
      return [{ subject, instance, value, change, incidentId }]
    })
  }

  async #store(run: Run, transitions: readonly Transition[], nowMs = this.#deps.now()): Promise<void> {
    for (let from = 0; from < transitions.length; from += STORED_AT_ONCE) {
      if (from > 0) await nextTurn()
      await this.#storeSome(run, transitions.slice(from, from + STORED_AT_ONCE), nowMs)
    }
  }

  async #storeSome(run: Run, transitions: readonly Transition[], nowMs: number): Promise<void> {
    const { store, wake } = this.#deps
    const at = new Date().toISOString()
    const woken = await write(store, trx => storeTransitions(trx, run.rule, transitions, at))
    for (const { subject, instance, incidentId } of transitions) {
      const open = instance.phase === 'firing' ? incidentId : undefined
      if (isForgettable(instance)) run.kept.delete(subject.key)
      else run.kept.set(subject.key, { instance, incidentId: open, storedAtMs: nowMs, label: subject.label })
    }
    if (woken && woken.length > 0) wake(run.rule.id, woken)
    // For a removed rule, only resolved alerts are emitted; its other results belong to nobody.
    const emitted = woken ? transitions : transitions.filter(({ change }) => change?.kind === 'resolved')
    for (const transition of emitted) this.#emit(run.rule, transition)
  }

  #emit({ owner, rule }: ActiveRule, { subject, change, incidentId }: Transition): void {
    const name = change && EVENT_OF[change.kind]
    if (!name) return
    const incident = incidentId === undefined ? {} : { incident: incidentId }
    const { severity } = rule
    this.#deps.bus.emit(name, owner.id, { rule: rule.name, severity, subject: subject.label, ...incident })
  }

  /** Evaluates states again at the moment when one of their alerts is due, or a start has had its time. */
  #setTimer(): void {
    clearTimeout(this.#timer)
    if (this.#disposed) return
    const due = [...this.#runs.values()]
      .filter(({ rule }) => isAboutStates(rule))
      .flatMap(({ rule, kept }) => [...kept.values()].flatMap(({ instance }) => dueInMs(instance, rule.rule) ?? []))
    const hasStates = [...this.#runs.values()].some(({ rule }) => isAboutStates(rule))
    const next = hasStates ? this.#deps.facts.nextInMs() : undefined
    const inMs = Math.min(...due, next ?? Number.POSITIVE_INFINITY)
    // Later ones are met by a tick.
    if (inMs <= TICK_MS) this.#timer = setTimeout(() => this.stateChanged(), Math.max(50, Math.ceil(inMs)))
  }
}

const EVENT_OF = {
  pending: 'alert.pending',
  cleared: undefined,
  fired: 'alert.fired',
  repeat: undefined,
  resolved: 'alert.resolved',
} as const

function isAboutStates({ condition }: ActiveRule): boolean {
  return testsOf(condition).some(({ query }) => query.windowMs === undefined)
}

/** The state after `elapsedMs`; time that another process counted is in the stored state. */
function evaluateSince(
  before: Kept | undefined,
  verdict: Parameters<typeof evaluate>[1],
  elapsedMs: number,
  timing: Parameters<typeof evaluate>[3],
): ReturnType<typeof evaluate> {
  return evaluate(before?.instance ?? INACTIVE, verdict, before?.restored ? 0 : elapsedMs, timing)
}

/** True for an alert that fires as before and whose stored state is recent enough. */
function goesOn({ instance, change }: ReturnType<typeof evaluate>, before: Kept, nowMs: number): boolean {
  return !before.restored && !change && instance.phase === 'firing' && nowMs - before.storedAtMs < STORE_MS
}
