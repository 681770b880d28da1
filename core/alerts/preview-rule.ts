import { LIMITS } from '../config/limits.ts'
import type { JsonObject } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import { testsOf } from '../domain/alerts/condition.ts'
import { conditionText } from '../domain/alerts/condition-text.ts'
import { parseRuleBody } from '../domain/alerts/rule-body.ts'
import type { StoredRecords } from '../features/log-store.ts'
import { pastOfRule, whyNoPast } from './preview.ts'
import type { RuleFacts } from './rule-facts.ts'
import type { EvaluatedRule } from './rules.ts'
import { evaluateSubjects } from './subjects.ts'

const SHOWN_SUBJECTS = 100

/**
 * Result of an unsaved rule for the servers that its owner sees, now and over the last 24 hours. Changes nothing. Throws
 * `validation_failed` with the column of an error, and as `StoredRecords.measure`.
 */
export async function previewRule(
  facts: Pick<RuleFacts, 'unavailable' | 'readServers' | 'readMetrics' | 'values' | 'settling' | 'refresh' | 'dispose'>,
  actor: UserActor,
  body: JsonObject,
  records: Pick<StoredRecords, 'measure'> | undefined,
): Promise<JsonObject> {
  const whole = { ...body, name: 'preview', severity: 'warning' }
  const { rule, condition } = parseRuleBody(whole, query => facts.unavailable(query))
  const active: EvaluatedRule = { owner: { id: actor.userId, name: actor.name, role: actor.role }, rule, condition }
  const servers = await facts.readServers()
  await facts.readMetrics(testsOf(condition))
  const why = whyNoPast(active) ?? (records ? undefined : 'This hub stores no log records')
  const past = why === undefined && records ? await pastOfRule(active, servers, records) : undefined
  const text = conditionText(condition)
  if (past) {
    const { now, ...rest } = past
    return { condition: text, now, past: rest } as unknown as JsonObject
  }
  // Not refreshed: that would end the counting of metrics for the saved rules.
  const evaluated = [...(await evaluateSubjects(active, facts, LIMITS.alertInstancesPerRule)).values()]
  const now = evaluated
    .toSorted((left, right) => Number(right.verdict === true) - Number(left.verdict === true))
    .slice(0, SHOWN_SUBJECTS)
    .map(({ subject, value, verdict }) => ({ subject: subject.label, value: value ?? null, holds: verdict ?? null }))
  return { condition: text, now, why: why ?? 'There are too many servers and tools to look at' } as JsonObject
}
