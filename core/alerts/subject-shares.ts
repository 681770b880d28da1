import { LIMITS } from '../config/limits.ts'
import type { ActiveRule } from './rules.ts'

type Rule = Pick<ActiveRule, 'id' | 'owner'>

/**
 * Number of subjects that each rule evaluates, for a common limit of all rules of one user: the cost of an evaluation is
 * subjects times tests of the condition. Administrators have only the limit of a single rule.
 */
export class SubjectShares {
  readonly #byRule = new Map<string, number>()
  readonly #byOwner = new Map<string, number>()

  /** Number of subjects that a rule may evaluate beside its owner's other rules. */
  most({ id, owner }: Rule): number {
    if (owner.role === 'admin') return LIMITS.alertInstancesPerRule
    const others = (this.#byOwner.get(owner.id) ?? 0) - (this.#byRule.get(id) ?? 0)
    return Math.max(0, Math.min(LIMITS.alertInstancesPerRule, LIMITS.alertInstancesPerUser - others))
  }

  /** Number of subjects that all rules of an owner evaluate now. */
  of(ownerId: string): number {
    return this.#byOwner.get(ownerId) ?? 0
  }

  note({ id, owner }: Rule, count: number): void {
    const all = (this.#byOwner.get(owner.id) ?? 0) - (this.#byRule.get(id) ?? 0) + count
    this.#byRule.set(id, count)
    if (all > 0) this.#byOwner.set(owner.id, all)
    else this.#byOwner.delete(owner.id)
  }

  forget(rule: Rule): void {
    this.note(rule, 0)
    this.#byRule.delete(rule.id)
  }
}
