import { type AlertChange, type AlertInstance, isForgettable } from '../domain/alerts/machine.ts'
import type { FactValue } from '../domain/alerts/verdict.ts'
import { activeSettings } from '../registry/owned/settings.ts'
import type { Writer } from '../store/transact.ts'
import { CHANNELS, channelOf, mayNotify } from './channels.ts'
import { NewMessages, notifiedChannels } from './delivery/new-messages.ts'
import type { Subject } from './facts.ts'
import type { ActiveRule } from './rules.ts'

/** An evaluation that must be stored: the new state of one subject, and what changed. */
export interface Transition {
  readonly subject: Subject
  readonly instance: AlertInstance
  readonly value: FactValue
  readonly change: AlertChange | undefined
  /** Id of the incident that is open, or that begins with this change. */
  readonly incidentId: string | undefined
  /** Why it is resolved, where neither its condition nor its subject is the reason. */
  readonly reason?: 'changed'
}

/** Stored state of an instance, and the condition by which it was evaluated. */
export interface StoredInstance {
  readonly instance: AlertInstance
  readonly basis: string
}

/**
 * Stores the transitions of one rule with their incidents and messages, in the caller's transaction. Returns the channels with
 * new messages to send; undefined, with nothing stored, when the rule was deleted while it was evaluated.
 */
export async function storeTransitions(
  trx: Writer,
  rule: ActiveRule,
  transitions: readonly Transition[],
  at: string,
): Promise<readonly string[] | undefined> {
  const known = await trx.selectFrom('owned_setting').select('id').where('id', '=', rule.id).executeTakeFirst()
  if (!known) return undefined
  const messages = new NewMessages(trx, { ruleId: rule.id, ownerId: rule.owner.id }, at)
  let channels: Promise<readonly string[]> | undefined
  for (const transition of transitions) {
    await storeInstance(trx, rule, transition)
    const { change, incidentId } = transition
    if (!change || incidentId === undefined) continue
    if (change.kind === 'fired') {
      await trx
        .insertInto('alert_incident')
        .values(incidentRow(rule, transition, incidentId, at))
        .execute()
      channels ??= channelsOf(trx, rule)
      await messages.add(incidentId, await channels, 'fired')
    }
    if (change.kind === 'repeat') await repeat(trx, messages, incidentId, change.number)
    if (change.kind === 'resolved') {
      const reason = transition.reason ?? change.reason ?? null
      await resolveIncident(trx, messages, incidentId, { value: transition.value, reason, at })
    }
  }
  return messages.write()
}

async function storeInstance(trx: Writer, rule: ActiveRule, transition: Transition): Promise<void> {
  const { subject, instance, incidentId } = transition
  if (isForgettable(instance)) {
    const row = trx.deleteFrom('alert_instance').where('rule_id', '=', rule.id)
    await row.where('subject', '=', subject.key).execute()
    return
  }
  const stored: StoredInstance = { instance, basis: rule.basis }
  const change = {
    state: JSON.stringify(stored),
    incident_id: instance.phase === 'firing' ? (incidentId ?? null) : null,
  }
  await trx
    .insertInto('alert_instance')
    .values({ rule_id: rule.id, subject: subject.key, ...change })
    .onConflict(conflict => conflict.columns(['rule_id', 'subject']).doUpdateSet(change))
    .execute()
}

function incidentRow({ id, owner, rule }: ActiveRule, transition: Transition, incidentId: string, at: string) {
  const { subject, value, instance } = transition
  return {
    ...{ id: incidentId, owner_id: owner.id, rule_id: id, rule: rule.name, severity: rule.severity },
    ...{ condition: rule.condition, threshold: rule.threshold ?? null, subject: subject.label },
    ...{ server: subject.server ?? null, tool: subject.tool ?? null, state: 'firing' as const },
    ...{ value: JSON.stringify(value ?? null), flapping: instance.flapping ? 1 : 0, starts_at: at },
    ...{ ends_at: null, reason: null, acked_by: null, acked_at: null },
  }
}

/** Ids of the enabled channels that the rule names, or of all enabled ones of its owner. */
async function channelsOf(trx: Writer, { owner, rule }: ActiveRule): Promise<readonly string[]> {
  const channels = await activeSettings(trx, CHANNELS, { ownerId: owner.id })
  const permitted = channels.filter(channel => mayNotify({ owner }, channel))
  const wanted = permitted.filter(channel => rule.channels?.includes(channel.name) ?? true)
  return wanted.filter(channel => channelOf(channel).enabled).map(({ id }) => id)
}

/** An acknowledged alert is not repeated. */
async function repeat(trx: Writer, messages: NewMessages, incidentId: string, number: number): Promise<void> {
  const query = trx.selectFrom('alert_incident').select('acked_at').where('id', '=', incidentId)
  if ((await query.executeTakeFirst())?.acked_at !== null) return
  await messages.add(incidentId, await notifiedChannels(trx, incidentId), 'repeat', number)
}

/** Value and reason with which an incident ends; `at`: ISO 8601 UTC. */
interface Resolution {
  readonly value: FactValue
  readonly reason: string | null
  readonly at: string
}

/** Ends an incident unless it has ended. A channel that was not notified of the firing is not notified of the end either. */
export async function resolveIncident(
  trx: Writer,
  messages: NewMessages,
  incidentId: string,
  { value, reason, at }: Resolution,
): Promise<void> {
  const last = value === undefined ? {} : { value: JSON.stringify(value) }
  const { numUpdatedRows } = await trx
    .updateTable('alert_incident')
    .set({ state: 'resolved', ends_at: at, reason, ...last })
    .where('id', '=', incidentId)
    .where('state', '=', 'firing')
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return
  await messages.drop(incidentId)
  await messages.add(incidentId, await notifiedChannels(trx, incidentId), 'resolved')
}
