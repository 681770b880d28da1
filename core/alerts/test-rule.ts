import { randomUUID } from 'node:crypto'
import { LIMITS } from '../config/limits.ts'
import { within } from '../connections/within.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import { testsOf } from '../domain/alerts/condition.ts'
import { conditionText } from '../domain/alerts/condition-text.ts'
import type { AlertMessage } from '../features/alerts.ts'
import { activeSettings, type OwnedSetting } from '../registry/owned/settings.ts'
import type { Store } from '../store/open.ts'
import { read, write } from '../store/transact.ts'
import { CHANNELS, channelOf, mayNotify } from './channels.ts'
import type { Delivered, Outbox } from './delivery/outbox.ts'
import type { AlertEngine } from './engine.ts'
import type { AlertFacts } from './facts.ts'
import type { ActiveRule } from './rules.ts'
import { evaluateSubjects } from './subjects.ts'

/** In the place of a server in a trial message. */
const MADE_UP_SUBJECT = 'TEST: example-server'

/** Longest wait of an answer for the stored record of a delivery, in milliseconds. */
const KEPT_WAIT_MS = 500

/** Sends one message of kind `test` to a channel, even if it is disabled or no rule uses it, and stores the delivery. */
export async function testChannel(deps: DeliverDeps, channel: OwnedSetting): Promise<JsonObject> {
  const at = new Date().toISOString()
  const { id, owner, name } = channel
  const message: AlertMessage = {
    ...{ id: `msg_${randomUUID()}`, kind: 'test', rule: 'test', severity: 'warning', owner: owner.name, at },
    ...{ condition: 'a trial message, by no rule', flapping: false },
    instances: [{ incident: 'test', subject: `channel ${name}`, state: 'firing', value: null, startsAt: at }],
  }
  // No rule: the place of its id is the channel's own.
  return deliver(deps, { id, owner }, channel, message)
}

interface DeliverDeps {
  readonly store: Store
  readonly outbox: Pick<Outbox, 'send'>
  readonly log: Pick<PluginLogger, 'warn'>
}

/** Dependencies of `testRule`. */
export interface TestRuleDeps extends DeliverDeps {
  readonly facts: AlertFacts
  readonly engine: Pick<AlertEngine, 'instance' | 'tests'>
}

/**
 * Returns the present result of the rule for each subject: value, verdict (null: no data), and for how long it holds. With
 * `send`, a message of kind `test` about an example subject is sent to its channels, whether or not the condition holds. Changes
 * no state.
 */
export async function testRule(deps: TestRuleDeps, rule: ActiveRule, send: boolean): Promise<JsonObject> {
  const { facts, engine } = deps
  // Includes the tests of the other rules, whose counting would end otherwise.
  await facts.refresh([...engine.tests(), ...testsOf(rule.condition)])
  const evaluated = [...(await evaluateSubjects(rule, facts, LIMITS.alertInstancesPerRule)).values()]
  const subjects = evaluated.map(({ subject, value, verdict }) => {
    const { phase, heldMs } = engine.instance(rule.id, subject.key)
    const about = { subject: subject.label, value: value ?? null, holds: verdict ?? null, phase, heldMs }
    return { ...about, ...(subject.server ? { server: subject.server } : {}) } satisfies JsonObject
  })
  const holds = evaluated.some(({ verdict }) => verdict === true)
  const { name, threshold = null, durationMs } = rule.rule
  // The condition as parsed: brackets and units show how it was understood.
  const condition = conditionText(rule.condition)
  const result = { rule: name, condition, threshold, durationMs, holds, subjects } satisfies JsonObject
  return send ? { ...result, deliveries: await sendTest(deps, rule) } : result
}

async function sendTest(deps: TestRuleDeps, rule: ActiveRule): Promise<JsonValue[]> {
  const { owner } = rule
  const channels = await read(deps.store, db => activeSettings(db, CHANNELS, { ownerId: owner.id }))
  const permitted = channels.filter(channel => mayNotify(rule, channel))
  const wanted = permitted.filter(channel => rule.rule.channels?.includes(channel.name) ?? true)
  const enabled = wanted.filter(channel => channelOf(channel).enabled)
  const at = new Date().toISOString()
  return Promise.all(enabled.map(channel => deliver(deps, rule, channel, testMessage(rule, at))))
}

async function deliver(
  { store, outbox, log }: DeliverDeps,
  rule: Pick<ActiveRule, 'id' | 'owner'>,
  channel: OwnedSetting,
  message: AlertMessage,
): Promise<JsonObject> {
  const startedAtMs = performance.now()
  const outcome = await outbox.send(channel, message)
  const durationMs = Math.round((performance.now() - startedAtMs) * 10) / 10
  const kept = keep(store, rule, { channelId: channel.id, message, at: message.at }, outcome).catch((error: unknown) =>
    log.warn('The record of a test message could not be stored', { channel: channel.name, error }),
  )
  // The message has been sent: what became of it is answered also when the store is locked.
  await within(kept, KEPT_WAIT_MS)
  const { ok, code, detail } = outcome
  return { channel: channel.name, ok, ...(code === undefined ? {} : { code }), detail, at: message.at, durationMs }
}

/**
 * The message is about a subject that does not exist: it reveals nothing about real servers, and the test does not depend on
 * one.
 */
function testMessage({ owner, rule }: ActiveRule, at: string): AlertMessage {
  return {
    ...{ id: `msg_${randomUUID()}`, kind: 'test', rule: rule.name, severity: rule.severity, owner: owner.name },
    ...{ condition: rule.condition, at, flapping: false },
    instances: [
      {
        ...{ incident: 'test', subject: MADE_UP_SUBJECT, state: 'firing', value: null, startsAt: at },
        ...(rule.threshold === undefined ? {} : { threshold: rule.threshold }),
      },
    ],
  }
}

async function keep(
  store: Store,
  { id, owner }: Pick<ActiveRule, 'id' | 'owner'>,
  { channelId, message, at }: { readonly channelId: string; readonly message: AlertMessage; readonly at: string },
  { ok, detail }: Delivered,
): Promise<void> {
  const row = {
    ...{ id: randomUUID(), owner_id: owner.id, channel_id: channelId, rule_id: id, incident_id: null },
    ...{ kind: 'test' as const, number: 0, message_id: message.id, state: ok ? ('sent' as const) : ('dead' as const) },
    ...{ attempts: 1, detail, created_at: at, updated_at: new Date().toISOString() },
  }
  await write(store, trx => trx.insertInto('alert_delivery').values(row).execute())
}
