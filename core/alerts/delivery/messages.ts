import { isSilenced } from '../../domain/alerts/silence.ts'
import { visibleName } from '../../domain/text/visible-text.ts'
import type { AlertMessage, AlertSubject, NoticeMessage } from '../../features/alerts.ts'
import { activeSettings, type OwnedSetting } from '../../registry/owned/settings.ts'
import type { AlertDeliveryTable, AlertIncidentTable } from '../../store/alert-tables.ts'
import type { Reader, Writer } from '../../store/transact.ts'
import { CHANNELS, channelOf } from '../channels.ts'
import { silencesOf } from '../silences.ts'
import { faultText } from './delivery-fault.ts'

/** Most alerts in one message. */
const MOST = 100

/** A message with the records that it was made from. */
export interface ReadyMessage {
  readonly channel: OwnedSetting
  readonly message: AlertMessage
  /** Ids of its deliveries. */
  readonly rows: readonly string[]
  /** Earlier ones. */
  readonly attempts: number
}

interface Waiting {
  readonly row: AlertDeliveryTable
  readonly incident: AlertIncidentTable
}

/**
 * Returns the next message of a rule for a channel, and marks its deliveries with its id: those of a message that was begun,
 * otherwise all waiting ones except those held back by silences or more severe alerts. `held`: all of them are held back.
 */
export async function readyMessage(
  trx: Writer,
  { channelId, ruleId }: { readonly channelId: string; readonly ruleId: string },
  newId: string,
  at: string,
): Promise<ReadyMessage | 'none' | 'held'> {
  const begun = await begunMessage(trx, channelId, ruleId)
  const waiting = await waitingOf(trx, channelId, ruleId, begun)
  const [first] = waiting
  if (!first) return 'none'
  const channels = await activeSettings(trx, CHANNELS, { ownerId: first.row.owner_id })
  const channel = channels.find(({ id }) => id === channelId)
  if (!channel || !channelOf(channel).enabled) {
    const { detail } = faultText('channel_off', 'The channel is off, or was deleted')
    const all = trx.updateTable('alert_delivery').set({ state: 'dead', detail, updated_at: at })
    await all.where('channel_id', '=', channelId).where('state', 'in', ['waiting', 'failed']).execute()
    return 'none'
  }
  const together = begun ? waiting : await released(trx, waiting, at)
  const [head] = together
  if (!head) return 'held'
  const rows = together.map(({ row }) => row.id)
  const id = begun ?? newId
  if (!begun) await trx.updateTable('alert_delivery').set({ message_id: id }).where('id', 'in', rows).execute()
  return { channel, message: messageOf(together, id, channel.owner.name, at), rows, attempts: head.row.attempts }
}

/**
 * Returns the message for channels: names and reasons, which may come from servers, are on one line each with hidden characters
 * shown.
 */
export function shownMessage(message: AlertMessage): AlertMessage {
  const { rule, condition, owner, instances } = message
  return {
    ...message,
    ...{ rule: visibleName(rule), condition: visibleName(condition), owner: visibleName(owner) },
    instances: instances.map(one => ({
      ...one,
      subject: visibleName(one.subject),
      ...(typeof one.value === 'string' ? { value: visibleName(one.value) } : {}),
      ...(one.server === undefined ? {} : { server: visibleName(one.server) }),
      ...(one.tool === undefined ? {} : { tool: visibleName(one.tool) }),
      // A reason may be the output of a program, in several lines.
      ...(one.reason === undefined ? {} : { reason: visibleName(one.reason.trim().replace(/\s*[\r\n\t]\s*/g, ' ')) }),
    })),
  }
}

/** The notice for channels: each text on one line, with hidden characters shown. */
export function shownNotice(message: NoticeMessage): NoticeMessage {
  const { title, lines, owner } = message
  return { ...message, title: visibleName(title), lines: lines.map(visibleName), owner: visibleName(owner) }
}

/** Messages of a rule that wait for a channel, in order. */
function selectWaiting(db: Reader, channelId: string, ruleId: string) {
  return db
    .selectFrom('alert_delivery')
    .where('channel_id', '=', channelId)
    .where('rule_id', '=', ruleId)
    .where('incident_id', 'is not', null)
    .where('state', 'in', ['waiting', 'failed'])
    .orderBy('created_at')
    .orderBy('kind')
    .orderBy('id')
}

/** The id of the earliest message that was begun and has not arrived. */
async function begunMessage(db: Reader, channelId: string, ruleId: string): Promise<string | undefined> {
  const begun = selectWaiting(db, channelId, ruleId).select('message_id').where('message_id', 'is not', null).limit(1)
  return (await begun.executeTakeFirst())?.message_id ?? undefined
}

/** All of a message that was begun, else as much as one message holds. */
async function waitingOf(
  db: Reader,
  channelId: string,
  ruleId: string,
  begun: string | undefined,
): Promise<readonly Waiting[]> {
  const query = selectWaiting(db, channelId, ruleId).selectAll()
  const rows = await (begun === undefined ? query.limit(MOST) : query.where('message_id', '=', begun)).execute()
  const ids = [...new Set(rows.flatMap(({ incident_id: id }) => id ?? []))]
  if (ids.length === 0) return []
  const incidents = await db.selectFrom('alert_incident').selectAll().where('id', 'in', ids).execute()
  const byId = new Map(incidents.map(incident => [incident.id, incident]))
  return rows.flatMap(row => {
    const incident = byId.get(row.incident_id ?? '')
    return incident ? [{ row, incident }] : []
  })
}

/** Removes messages that are held back by a silence, or by a critical alert of the same server. */
async function released(db: Reader, waiting: readonly Waiting[], at: string): Promise<readonly Waiting[]> {
  const ownerId = waiting[0]?.row.owner_id ?? ''
  const silences = await silencesOf(db, ownerId)
  const critical = await db
    .selectFrom('alert_incident')
    .select('server')
    .where('owner_id', '=', ownerId)
    .where('state', '=', 'firing')
    .where('severity', '=', 'critical')
    .where('server', 'is not', null)
    .execute()
  const worse = new Set(critical.map(({ server }) => server))
  return waiting.filter(({ row, incident }) => {
    const { rule, severity, server } = incident
    const about = { rule, severity, ...(server === null ? {} : { server }) }
    if (silences.some(silence => isSilenced(silence, about, at))) return false
    return row.kind === 'resolved' || severity === 'critical' || server === null || !worse.has(server)
  })
}

function messageOf(together: readonly Waiting[], id: string, owner: string, at: string): AlertMessage {
  const [{ incident }] = together as [Waiting]
  const kinds = together.map(({ row }) => row.kind)
  const kind = (['fired', 'resolved', 'repeat'] as const).find(one => kinds.includes(one)) ?? 'fired'
  return {
    ...{ id, kind, rule: incident.rule, severity: incident.severity, owner, condition: incident.condition, at },
    flapping: together.some(one => one.incident.flapping === 1),
    // Repeats that waited together are merged; the last one has the present state.
    instances: [...new Map(together.map(one => [one.incident.id, one])).values()].map(subjectOf),
  }
}

function subjectOf({ row, incident }: Waiting): AlertSubject {
  const { id, subject, server, tool, value, threshold, starts_at: startsAt, ends_at: endsAt, reason } = incident
  return {
    ...{ incident: id, subject, startsAt, value: JSON.parse(value) as AlertSubject['value'] },
    state: row.kind === 'resolved' ? 'resolved' : 'firing',
    ...(server === null ? {} : { server }),
    ...(tool === null ? {} : { tool }),
    ...(threshold === null ? {} : { threshold }),
    ...(row.kind !== 'resolved' || endsAt === null ? {} : { endsAt }),
    ...(row.kind !== 'resolved' || reason === null ? {} : { reason }),
  }
}
