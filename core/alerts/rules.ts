import { LIMITS } from '../config/limits.ts'
import { listIn } from '../config/shape/sections.ts'
import type { JsonObject } from '../contract/json.ts'
import { type Condition, parseCondition } from '../domain/alerts/condition.ts'
import { type AlertRule, parseRuleBody, ruleBody } from '../domain/alerts/rule-body.ts'
import { validationError } from '../domain/validation-error.ts'
import { activeSettings, type OwnedSetting, type Prepare } from '../registry/owned/settings.ts'
import type { Owner } from '../registry/owners.ts'
import type { RecordKind } from '../registry/record-kinds.ts'
import type { Reader } from '../store/transact.ts'
import type { AlertFacts } from './facts.ts'

/** The kind of alert rules. */
export const RULES: RecordKind = {
  ...{ kind: 'rule', label: 'rule', missing: 'rule_not_found', quota: 'quota_rules' },
  most: LIMITS.alertRulesPerUser,
  fileSection: 'alerting',
  file: { keys: ['alerting'], read: listIn('rules', 'rule') },
  fromHub: { what: 'alert rules', instead: 'POST /api/monitoring/rules makes them.' },
  acts: true,
  moved: { section: 'rules', offUnlessSeen: false, offOnRequest: false },
}

/** A rule that is evaluated. */
export interface ActiveRule {
  readonly id: string
  readonly owner: Owner
  readonly rule: AlertRule
  readonly condition: Condition
  /** Changes when the condition, threshold or scope changes; the state of an instance with another basis is dropped. */
  readonly basis: string
}

/** The parts of a rule that determine its result. */
export interface EvaluatedRule extends Pick<ActiveRule, 'rule' | 'condition'> {
  readonly owner: Pick<Owner, 'id' | 'name' | 'role'>
}

/** Prepares a rule's body for the store. Throws `validation_failed`. */
export function prepareRule(body: JsonObject, facts: Pick<AlertFacts, 'unavailable'>): Prepare {
  const { rule } = parseRuleBody(body, query => facts.unavailable(query))
  return () => ({ name: rule.name, body: rule as unknown as JsonObject, secrets: null })
}

/** The names of channels that a rule names, checked against those of its owner. Throws `validation_failed`. */
export function checkChannels(rule: JsonObject, known: readonly string[]): void {
  const named = (rule.channels ?? []) as readonly string[]
  const errors = named.flatMap((name, index) =>
    known.includes(name)
      ? []
      : [
          {
            pointer: `#/channels/${index}`,
            code: 'member_not_found' as const,
            detail: `There is no channel "${name}"; there are: ${known.join(', ') || 'none'}`,
          },
        ],
  )
  if (errors.length > 0) throw validationError(errors, 'The alert rule cannot be saved')
}

/** A rule as the API shows it. */
export function ruleView({ body }: OwnedSetting): JsonObject {
  return ruleBody(body as unknown as AlertRule)
}

/** The enabled rules of owners whose accounts are not disabled. */
export async function activeRules(db: Reader): Promise<readonly ActiveRule[]> {
  return (await activeSettings(db, RULES)).flatMap(activeRule).filter(({ rule }) => rule.enabled)
}

/** A rule ready to be evaluated; empty when its stored condition can no longer be parsed. */
export function activeRule({ id, owner, body }: OwnedSetting): readonly ActiveRule[] {
  const rule = body as unknown as AlertRule
  const read = parseCondition(rule.condition)
  if ('error' in read) return []
  const basis = JSON.stringify([rule.condition, rule.threshold ?? null, rule.per, owner.id])
  return [{ id, owner, rule, condition: read.condition, basis }]
}
