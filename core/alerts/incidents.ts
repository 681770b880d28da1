import type { ExpressionBuilder } from 'kysely'
import { HubError } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import type { Actor } from '../contract/records.ts'
import { isAdmin } from '../domain/ownership.ts'
import type { Page } from '../registry/api.ts'
import { missing, ownerFor } from '../registry/owned/place.ts'
import type { Owner } from '../registry/owners.ts'
import type { AlertDeliveryTable, AlertIncidentTable } from '../store/alert-tables.ts'
import type { Store } from '../store/open.ts'
import { pauses } from '../store/pauses.ts'
import type { Tables } from '../store/tables.ts'
import { type Reader, read, type Writer, write } from '../store/transact.ts'
import { codeOfDetail } from './delivery/delivery-fault.ts'
import { NewMessages } from './delivery/new-messages.ts'
import { resolveIncident } from './transitions.ts'

/** Filter and page of listed alerts. */
export interface IncidentQuery {
  readonly state?: 'firing' | 'resolved'
  readonly owner?: string
  readonly limit: number
  readonly offset: number
}

/** The owner's alerts, the newest first. */
export function listIncidents(store: Store, actor: Actor, query: IncidentQuery): Promise<Page<JsonObject>> {
  return read(store, async db => {
    const owner = await ownerFor(db, actor, query.owner)
    let rows = db.selectFrom('alert_incident').where('owner_id', '=', owner.id)
    if (!isAdmin(actor)) rows = rows.where(tellsOnly(owner))
    if (query.state) rows = rows.where('state', '=', query.state)
    const { total } = await rows
      .select(({ fn }) => fn.countAll<number | string>().as('total'))
      .executeTakeFirstOrThrow()
    const page = rows.selectAll().orderBy('starts_at', 'desc').orderBy('id').limit(query.limit).offset(query.offset)
    return { items: (await page.execute()).map(incidentView), total: Number(total) }
  })
}

/** Number of firing alerts of all owners, by severity. */
export async function countFiring(store: Store): Promise<{ readonly warning: number; readonly critical: number }> {
  const rows = await read(store, db =>
    db
      .selectFrom('alert_incident')
      .select(({ fn }) => ['severity', fn.countAll<number | string>().as('count')])
      .where('state', '=', 'firing')
      .groupBy('severity')
      .execute(),
  )
  const of = (severity: 'warning' | 'critical') => Number(rows.find(row => row.severity === severity)?.count ?? 0)
  return { warning: of('warning'), critical: of('critical') }
}

/** Ends the repeats of a firing alert, not the alert. Throws `alert_not_found`. */
export function acknowledge(store: Store, actor: Actor, id: string): Promise<JsonObject> {
  return write(store, async trx => {
    const row = await incidentFor(trx, actor, id)
    if (row.acked_at !== null) return incidentView(row)
    const name = actor.kind === 'user' ? actor.name : actor.purpose
    const acked = { acked_at: new Date().toISOString(), acked_by: name }
    await trx.updateTable('alert_incident').set(acked).where('id', '=', id).execute()
    return incidentView({ ...row, ...acked })
  })
}

/** Messages sent to a channel, newest first. */
export function deliveriesOf(
  store: Store,
  channelId: string,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<Page<JsonObject>> {
  return read(store, async db => {
    const rows = db.selectFrom('alert_delivery').where('channel_id', '=', channelId)
    const { total } = await rows
      .select(({ fn }) => fn.countAll<number | string>().as('total'))
      .executeTakeFirstOrThrow()
    const page = rows.selectAll().orderBy('created_at', 'desc').orderBy('id').limit(limit).offset(offset)
    return { items: (await page.execute()).map(deliveryView), total: Number(total) }
  })
}

/**
 * Sends the message of a delivery again, with the same id, unless it already waits. Returns the id of its rule. Throws
 * `delivery_not_found`, also for a test message, which can be sent as a new one.
 */
export function retryDelivery(store: Store, channelId: string, id: string): Promise<string> {
  return write(store, async trx => {
    const row = await trx
      .selectFrom('alert_delivery')
      .selectAll()
      .where('id', '=', id)
      .where('channel_id', '=', channelId)
      .executeTakeFirst()
    if (!row) throw missing('delivery_not_found', id)
    if (row.incident_id === null) {
      throw new HubError('delivery_not_found', `The delivery "${id}" is a trial message, which is not sent again`, {
        hint: 'Send a new one with POST /api/monitoring/channels/{ref}/test.',
      })
    }
    const again = { state: 'waiting' as const, attempts: 0, updated_at: new Date().toISOString() }
    const rows = trx.updateTable('alert_delivery').set(again).where('channel_id', '=', channelId)
    const { message_id: messageId } = row
    await (messageId === null ? rows.where('id', '=', id) : rows.where('message_id', '=', messageId)).execute()
    return row.rule_id
  })
}

/**
 * Ends the firing alerts of a rule that is removed: channels that were notified of the firing are notified of the end, and
 * messages that were not sent are dropped. Returns the channels with new messages to send.
 */
export async function endIncidents(trx: Writer, ruleId: string): Promise<readonly string[]> {
  const firing = trx.selectFrom('alert_incident').select(['id', 'owner_id']).where('rule_id', '=', ruleId)
  const open = await firing.where('state', '=', 'firing').execute()
  const [first] = open
  if (!first) return []
  const at = new Date().toISOString()
  const messages = new NewMessages(trx, { ruleId, ownerId: first.owner_id }, at)
  const pause = pauses()
  for (const { id } of open) {
    await resolveIncident(trx, messages, id, { value: undefined, reason: 'rule_removed', at })
    await pause()
  }
  return messages.write()
}

async function incidentFor(db: Reader, actor: Actor, id: string): Promise<AlertIncidentTable> {
  let rows = db.selectFrom('alert_incident').selectAll().where('id', '=', id)
  if (!isAdmin(actor)) {
    const owner = await ownerFor(db, actor, undefined)
    rows = rows.where('owner_id', '=', owner.id).where(tellsOnly(owner))
  }
  const row = await rows.executeTakeFirst()
  if (!row) throw missing('alert_not_found', id)
  return row
}

/**
 * Condition for the own alerts that an ordinary user sees: those about own servers, and about all together if the rule covered
 * only own servers. An administrator who connects from outside ADMIN_ADDRESSES, and a former administrator, may
 * have alerts about all users' servers.
 */
function tellsOnly({ name, role }: Owner) {
  return ({ eb, fn, or, and, val }: ExpressionBuilder<Tables, 'alert_incident'>) => {
    const prefix = `${name}~`
    const own = eb(fn<string>('substr', ['server', val(1), val([...prefix].length)]), '=', prefix)
    if (role === 'admin') return own
    return or([own, and([eb('server', 'is', null), eb('subject', 'in', ['total', name])])])
  }
}

function incidentView(row: AlertIncidentTable): JsonObject {
  const { id, rule, severity, condition, threshold, subject, server, tool, state, reason } = row
  return present({
    ...{ id, rule, severity, condition, threshold, subject, server, tool, state, reason },
    value: JSON.parse(row.value) as JsonValue,
    flapping: row.flapping === 1,
    startsAt: row.starts_at,
    endsAt: row.ends_at,
    ackedBy: row.acked_by,
    ackedAt: row.acked_at,
  })
}

function deliveryView(row: AlertDeliveryTable): JsonObject {
  const { id, kind, state, attempts, detail } = row
  const [incident, messageId] = [row.incident_id, row.message_id]
  // The detail of a sent message is the receiver's text, without a code.
  const code = state === 'sent' || detail === null ? null : (codeOfDetail(detail) ?? null)
  const times = { createdAt: row.created_at, updatedAt: row.updated_at }
  return present({ id, kind, incident, messageId, state, attempts, code, detail, ...times })
}

/** Removes members that are null, except `value`: null there means an alert without a value. */
function present(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([name, value]) => value !== null || name === 'value'))
}
