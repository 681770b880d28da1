import { randomUUID } from 'node:crypto'
import { LIMITS } from '../config/limits.ts'
import { type AlertChange, type AlertInstance, isForgettable } from '../domain/alerts/machine.ts'
import type { FactValue } from '../domain/alerts/verdict.ts'
import { activeSettings } from '../registry/owned/settings.ts'
import type { AlertDeliveryTable } from '../store/alert-tables.ts'
import type { Writer } from '../store/transact.ts'
import { channelOf, mayNotify } from './channels.ts'
import type { Subject } from './facts.ts'
import type { ActiveRule } from './rules.ts'

/** An evaluation that must be stored: the new state of one subject, and what changed. */
export interface Transition {
  readonly subject: Subject
  readonly instance: AlertInstance
  readonly value: FactValue
  readonly change: AlertChange | undefined
  /** Of the incident that is open, or that begins with this change. */
  readonly incidentId: string | undefined
  /** Why it is resolved, where neither its condition nor its subject is the reason. */
  readonly reason?: 'changed'
}

/** What is stored of an instance: its state, and by which condition it was evaluated. */
export interface StoredInstance {
  readonly instance: AlertInstance
  readonly basis: string
}

/**
 * Stores the transitions of one rule with their incidents and messages, in the caller's transaction. Returns the
 * channels that have something new to send; undefined, with nothing stored, when the rule was deleted while it was evaluated.
 */
export async function storeTransitions(
  trx: Writer,
  rule: ActiveRule,
  transitions: readonly Transition[],
  at: string,
): Promise<readonly string[] | undefined> {
  const known = await trx.selectFrom('owned_setting').select('id').where('id', '=', rule.id).executeTakeFirst()
  if (!known) return undefined
  const woken = new Set<string>()
  for (const transition of transitions) {
    await storeInstance(trx, rule, transition)
    const { change, incidentId } = transition
    if (!change || incidentId === undefined) continue
    const place = { ruleId: rule.id, ownerId: rule.owner.id, incidentId, at }
    if (change.kind === 'fired') {
      await trx
        .insertInto('alert_incident')
        .values(incidentRow(rule, transition, incidentId, at))
        .execute()
      for (const channelId of await channelsOf(trx, rule)) await add(trx, place, channelId, 'fired', 0, woken)
    }
    if (change.kind === 'repeat') await repeat(trx, place, change.number, woken)
    if (change.kind === 'resolved') {
      const reason = transition.reason ?? change.reason ?? null
      await resolveIncident(trx, place, { value: transition.value, reason }, woken)
    }
  }
  return [...woken]
}

/** An incident, and the time of what happens to it (ISO 8601 UTC). */
export interface IncidentPlace {
  readonly ruleId: string
  readonly ownerId: string
  readonly incidentId: string
  readonly at: string
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
  const channels = await activeSettings(trx, 'channel', owner.id)
  const permitted = channels.filter(channel => mayNotify({ owner }, channel))
  const wanted = permitted.filter(channel => rule.channels?.includes(channel.name) ?? true)
  return wanted.filter(channel => channelOf(channel).enabled).map(({ id }) => id)
}

/** An acknowledged alert is not repeated. */
async function repeat(trx: Writer, place: IncidentPlace, number: number, woken: Set<string>): Promise<void> {
  const query = trx.selectFrom('alert_incident').select('acked_at').where('id', '=', place.incidentId)
  if ((await query.executeTakeFirst())?.acked_at !== null) return
  for (const { channel_id: channelId } of await notifiedChannels(trx, place)) {
    await add(trx, place, channelId, 'repeat', number, woken)
  }
}

/**
 * Ends an incident unless it is over, and adds the channels that have something new to send to `woken`. A channel that was not
 * notified that it fired is not notified that it is resolved either.
 */
export async function resolveIncident(
  trx: Writer,
  place: IncidentPlace,
  { value, reason }: { readonly value: FactValue; readonly reason: string | null },
  woken: Set<string>,
): Promise<void> {
  const last = value === undefined ? {} : { value: JSON.stringify(value) }
  const { numUpdatedRows } = await trx
    .updateTable('alert_incident')
    .set({ state: 'resolved', ends_at: place.at, reason, ...last })
    .where('id', '=', place.incidentId)
    .where('state', '=', 'firing')
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return
  await trx
    .deleteFrom('alert_delivery')
    .where('incident_id', '=', place.incidentId)
    .where('state', '=', 'waiting')
    .where('message_id', 'is', null)
    .execute()
  for (const { channel_id: channelId } of await notifiedChannels(trx, place)) {
    await add(trx, place, channelId, 'resolved', 0, woken)
  }
}

/** The channels to which the message that it fired went, or may have gone. */
function notifiedChannels(trx: Writer, { incidentId }: IncidentPlace) {
  return trx
    .selectFrom('alert_delivery')
    .select('channel_id')
    .where('incident_id', '=', incidentId)
    .where('kind', '=', 'fired')
    .where('message_id', 'is not', null)
    .where('state', '!=', 'dead')
    .execute()
}

async function add(
  trx: Writer,
  { ruleId, ownerId, incidentId, at }: IncidentPlace,
  channelId: string,
  kind: AlertDeliveryTable['kind'],
  number: number,
  woken: Set<string>,
): Promise<void> {
  const { waiting } = await trx
    .selectFrom('alert_delivery')
    .select(({ fn }) => fn.countAll<number | string>().as('waiting'))
    .where('channel_id', '=', channelId)
    .where('state', 'in', ['waiting', 'failed'])
    .executeTakeFirstOrThrow()
  if (Number(waiting) >= LIMITS.alertDeliveriesWaiting) return
  const row: AlertDeliveryTable = {
    ...{ id: randomUUID(), owner_id: ownerId, channel_id: channelId, rule_id: ruleId, incident_id: incidentId },
    ...{ kind, number, message_id: null, state: 'waiting', attempts: 0, detail: null, created_at: at, updated_at: at },
  }
  await trx.insertInto('alert_delivery').values(row).execute()
  woken.add(channelId)
}
