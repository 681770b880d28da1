import { z } from 'zod'
import { CHANNEL_SCHEMAS } from '../../../alerts/channels.ts'
import { RULE_SCHEMAS } from '../../../domain/alerts/rule-body.ts'
import { anyObject, shownFields, timestamp, validatedByRegistry } from '../schemas.ts'

const severity = z.enum(['warning', 'critical'])
const at = '2026-11-22T09:30:00.000Z'

const exampleRule = { name: 'down', condition: 'server_status == offline', duration: '1m', severity: 'critical' }

/** Body of a rule; the alerts validate it, with the column of a mistake in the condition. */
export const ruleBody = validatedByRegistry(
  { type: 'object', properties: RULE_SCHEMAS, required: ['name', 'condition', 'severity'] },
  exampleRule,
)
/** Some of its fields. */
export const rulePatch = validatedByRegistry({ type: 'object', properties: RULE_SCHEMAS }, { severity: 'warning' })

const recordFields = {
  id: z.string(),
  ref: z.string(),
  owner: z.string(),
  origin: z.enum(['api', 'file']).meta({ description: '`file`: held by the settings file, and changed there alone' }),
  revision: z.number().int(),
  createdAt: timestamp,
  updatedAt: timestamp,
  limited: z
    .literal(true)
    .optional()
    .meta({ description: 'It has the rights of an ordinary user, until an administrator PUTs the whole of it' }),
}
const exampleRecord = {
  ...{ id: '5c1f', ref: 'ann~down', owner: 'ann', origin: 'api', revision: 1 },
  ...{ createdAt: at, updatedAt: at },
}

/** A rule in responses. */
export const rule = z.object({
  ...shownFields(RULE_SCHEMAS, ['name', 'condition', 'severity']),
  ...recordFields,
  health: z.object({
    state: z.enum(['ok', 'error']),
    code: z.string().optional().meta({ description: 'Of the last evaluation, which failed' }),
    message: z.string().optional(),
  }),
  pending: z
    .array(z.object({ subject: z.string(), firesAt: timestamp }))
    .optional()
    .meta({ description: 'Whose condition holds, but not for long enough yet' }),
})

/** An example of {@link rule}. */
export const ruleExample = {
  ...{ ...exampleRecord, ...exampleRule, enabled: true, per: 'server', keepFiringFor: '1m', repeatInterval: '4h' },
  ...{ noData: 'keep', health: { state: 'ok' } },
}

const exampleChannel = { name: 'ops', type: 'webhook', config: { url: 'https://hooks.example.com/alerts' } }

/** Body of a channel; the alerts and the plugin of its type validate it. */
export const channelBody = validatedByRegistry(
  { type: 'object', properties: CHANNEL_SCHEMAS, required: ['name', 'type', 'config'] },
  exampleChannel,
)
/** Some of its fields. */
export const channelPatch = validatedByRegistry({ type: 'object', properties: CHANNEL_SCHEMAS }, { enabled: false })
/** A channel in responses. */
export const channel = z.object({ ...shownFields(CHANNEL_SCHEMAS, ['name', 'type', 'config']), ...recordFields })
/** An example of {@link channel}. */
export const channelExample = {
  ...{ ...exampleRecord, ref: 'ann~ops', ...exampleChannel, enabled: true },
  config: { url: '••••erts' },
}

/** A kind of channel. */
export const channelType = z.object({
  type: z.string(),
  label: z.string(),
  labels: z
    .object({ en: z.string(), zh: z.string().optional() })
    .optional()
    .meta({ description: 'The label by language, where the plugin has it in several' }),
  configSchema: anyObject.meta({ description: 'JSON Schema of `config`' }),
  withheld: z.array(z.string()).meta({ description: 'Members of `config` that only administrators may set' }),
})
/** An example of {@link channelType}. */
export const channelTypeExample = {
  ...{ type: 'webhook', label: 'Webhook', withheld: [] },
  configSchema: { type: 'object', required: ['url'], properties: { url: { type: 'string', format: 'uri' } } },
}

const silenceFields = z.object({
  rule: z.string().optional().meta({ description: 'A rule’s name; default any' }),
  server: z.string().optional().meta({ description: '`name` or `owner~name`; default any' }),
  severity: severity.optional(),
  comment: z.string().optional(),
  startsAt: z.string().optional().meta({ format: 'date-time', description: 'Default now' }),
  endsAt: z.string().meta({ format: 'date-time', description: 'At most 30 days later' }),
})

/** Body of a silence. */
export const silenceBody = validatedByRegistry(silenceFields, { server: 'fake', endsAt: '2126-11-22T12:00:00.000Z' })
/** A silence in responses. */
export const silence = silenceFields.extend({ id: z.string(), createdAt: timestamp })
/** An example of {@link silence}. */
export const silenceExample = { id: '5c1f', server: 'fake', comment: '', startsAt: at, endsAt: at, createdAt: at }

const value = z.union([z.number(), z.string(), z.null()])

/** An alert that fired. */
export const alert = z.object({
  id: z.string(),
  rule: z.string(),
  severity,
  condition: z.string(),
  threshold: z.number().optional(),
  subject: z.string(),
  server: z.string().optional(),
  tool: z.string().optional(),
  state: z.enum(['firing', 'resolved']),
  reason: z.string().optional().meta({ description: 'Why it ended, where its condition is not the reason' }),
  value,
  flapping: z.boolean(),
  startsAt: timestamp,
  endsAt: timestamp.optional(),
  ackedBy: z.string().optional(),
  ackedAt: timestamp.optional(),
})

/** An example of {@link alert}. */
export const alertExample = {
  ...{ id: '7d2e', rule: 'down', severity: 'critical', condition: 'server_status == offline', subject: 'ann~fake' },
  ...{ server: 'ann~fake', state: 'firing', value: 'offline', flapping: false, startsAt: at },
}

/** A message to a channel, with what became of it. */
export const delivery = z.object({
  id: z.string(),
  kind: z.enum(['fired', 'resolved', 'repeat', 'test']),
  incident: z.string().optional(),
  messageId: z.string().optional(),
  state: z.enum(['waiting', 'sent', 'failed', 'dead']),
  attempts: z.number().int(),
  code: z.string().optional().meta({ description: 'Of a failure: its stable code, with which `detail` begins' }),
  detail: z.string().optional().meta({ description: 'What the receiver answered' }),
  createdAt: timestamp,
  updatedAt: timestamp,
})

/** An example of {@link delivery}. */
export const deliveryExample = {
  ...{ id: '9a0b', kind: 'fired', incident: '7d2e', messageId: 'msg_1', state: 'sent', attempts: 1, detail: '200' },
  ...{ createdAt: at, updatedAt: at },
}

/** Result of a test message. */
export const testDelivery = z.object({
  channel: z.string(),
  ok: z.boolean(),
  code: z.string().optional().meta({ description: 'Of a failure: its stable code, with which `detail` begins' }),
  detail: z.string(),
  at: timestamp,
  durationMs: z.number().meta({ description: 'How long the receiver took' }),
})

/** An example of {@link testDelivery}. */
export const testDeliveryExample = { channel: 'ops', ok: true, detail: '200', at, durationMs: 41.5 }

/** Result of testing a rule. */
export const testResult = z.object({
  rule: z.string(),
  condition: z.string(),
  threshold: z.number().nullable(),
  durationMs: z.number().int(),
  holds: z.boolean().meta({ description: 'For one subject at least' }),
  subjects: z.array(
    z.object({
      subject: z.string(),
      server: z.string().optional(),
      value,
      holds: z.boolean().nullable().meta({ description: 'null: there is no data' }),
      phase: z.enum(['inactive', 'pending', 'firing']),
      heldMs: z.number(),
    }),
  ),
  deliveries: z.array(testDelivery).optional().meta({ description: 'One for each channel; absent with `send: false`' }),
})

/** An example of {@link testResult}. */
export const testExample = {
  ...{ rule: 'down', condition: 'server_status == offline', threshold: null, durationMs: 60_000, holds: false },
  subjects: [{ subject: 'ann~fake', value: 'online', holds: false, phase: 'inactive', heldMs: 0 }],
  deliveries: [testDeliveryExample],
}
