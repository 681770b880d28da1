import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Alerts } from '../../../alerts/create.ts'
import { isAmount } from '../../../config/known-settings.ts'
import { membersOf } from '../../../config/shape/hub-settings.ts'
import type { FieldError } from '../../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import type { UserActor } from '../../../contract/records.ts'
import type { Dashboards } from '../../../dashboards/dashboards.ts'
import { isAdmin } from '../../../domain/ownership.ts'
import { HEALTH_CHECK } from '../../../domain/server/health-check.ts'
import { exactSize } from '../../../domain/size.ts'
import { validationError } from '../../../domain/validation-error.ts'
import type { Registry } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import { anyObject } from '../schemas.ts'
import { etag, writeOptions } from '../views.ts'
import { wrong } from '../wrong-field.ts'
import {
  type ConfigView,
  type Key,
  readSettings,
  refuseLocked,
  settingsOf,
  systemSettings,
  valueSchema,
  writtenAmount,
} from './system-settings.ts'

/** Dependencies of the route. */
export interface MonitoringConfigDeps {
  readonly alerts: Pick<Alerts, 'rules' | 'channels'>
  readonly dashboards: Pick<Dashboards, 'list'>
  readonly registry: Pick<Registry, 'settings' | 'audit'>
  readonly config: ConfigView
  /** The section `healthCheck` of the settings file. */
  readonly usualHealthCheck: () => JsonObject
  /** Errors in the rules, channels and dashboards of the settings file. */
  readonly fileProblems: () => readonly FieldError[]
}

const path = '/api/monitoring/config'
const tag = 'monitoring'
/** The whole answer, with all rules, channels and dashboards that one user may have. */
const BODY_BYTES = 8 * 1024 * 1024
const amount = z.union([z.number().int().min(1), z.string().max(32)])

const rotation = z.strictObject({
  enabled: z.boolean().optional(),
  interval: z.enum(['hourly', 'daily', 'weekly', 'none']).optional(),
  maxSize: amount.optional().meta({ description: 'Bytes, or a text such as 100MB' }),
  maxFiles: z.number().int().min(1).max(10_000).optional(),
  compress: z.boolean().optional(),
})
const ownDatabase = z.strictObject({
  enabled: z.boolean().optional(),
  table: z.string().max(63).optional(),
  retention: amount.optional().meta({ description: 'Milliseconds, or a text such as 30d' }),
  indexes: z.array(z.string().max(32)).max(16).optional(),
})

/** The section of the records, with the members that plugins define. */
function databaseOf(config: ConfigView) {
  const { ofPlugins } = settingsOf(config)
  const theirs = membersOf('logging.database', settingsOf(config)).map(([name, key]) => {
    const { takes = { type: 'bytes' } } = ofPlugins[key] ?? {}
    return [name, (takes.type === 'bytes' ? amount : valueSchema(takes)).optional()] as const
  })
  return ownDatabase.extend(Object.fromEntries(theirs))
}

function changesOf(config: ConfigView) {
  return z.strictObject({
    logRotation: rotation.optional(),
    logging: z
      .strictObject({
        level: z.enum(['error', 'warn', 'info', 'debug', 'trace']).optional(),
        database: databaseOf(config).optional(),
      })
      .optional(),
    // Parts of the answer, which stay as they are.
    healthCheck: anyObject.optional(),
    alerting: anyObject.optional(),
    notifications: anyObject.optional(),
    dashboards: z.array(anyObject).optional(),
    problems: z.array(anyObject).optional(),
  })
}

type Changes = z.output<ReturnType<typeof changesOf>>

/** Members of the answer that are changed elsewhere, and where. */
const ELSEWHERE = {
  healthCheck: 'the settings file, or the server',
  alerting: '/api/monitoring/rules',
  notifications: '/api/monitoring/channels',
  dashboards: '/api/monitoring/dashboards',
  problems: 'the settings file',
} as const

function answerOf(config: ConfigView) {
  return z.object({
    healthCheck: z.object({
      enabled: z.boolean(),
      interval: z.number(),
      timeout: z.number(),
      retries: z.number(),
      endpoints: anyObject.optional(),
    }),
    alerting: z.object({ rules: z.array(anyObject) }),
    notifications: z.record(z.string(), anyObject).meta({ description: 'Your channels by name; secrets are masked' }),
    dashboards: z.array(anyObject),
    logRotation: rotation,
    logging: z.object({ level: z.string(), database: databaseOf(config) }),
    problems: z
      .array(z.object({ pointer: z.string(), code: z.string(), detail: z.string() }))
      .optional()
      .meta({ description: 'For administrators: rules, channels and dashboards of the settings file with mistakes' }),
  })
}

function exampleOf(config: ConfigView) {
  const { ofPlugins } = settingsOf(config)
  const theirs = membersOf('logging.database', settingsOf(config)).map(([name, key]) => {
    const value = ofPlugins[key]?.default
    return [name, typeof value === 'number' ? exactSize(value) : value] as const
  })
  return {
    healthCheck: { enabled: true, interval: 30_000, timeout: 5_000, retries: 2 },
    alerting: { rules: [{ name: 'down', condition: 'server_status == offline', severity: 'critical' }] },
    notifications: { ops: { type: 'webhook', enabled: true, config: { url: '••••erts' } } },
    dashboards: [{ name: 'system-overview', builtIn: true }],
    logRotation: { enabled: true, interval: 'daily', maxSize: '100MB', maxFiles: 14, compress: true },
    logging: {
      level: 'info',
      database: {
        ...{ enabled: true, table: 'log_record', retention: '30d' },
        ...Object.fromEntries(theirs),
        indexes: ['timestamp'],
      },
    },
  }
}

type Members = Readonly<Record<string, string>>

/** Members of the sections, and the settings of the hub that they are. */
const ROTATION: Members = {
  interval: 'logRotation',
  maxSize: 'logMaxSizeBytes',
  maxFiles: 'logMaxFiles',
  compress: 'logCompress',
} satisfies Record<string, Key>
const DATABASE: Members = {
  enabled: 'logDatabase',
  table: 'logTable',
  retention: 'logRetentionMs',
  indexes: 'logIndexes',
} satisfies Record<string, Key>

function databaseMembers(config: ConfigView): Members {
  return { ...DATABASE, ...Object.fromEntries(membersOf('logging.database', settingsOf(config))) }
}

/** Routes to show and change how this hub monitors servers and keeps records. */
export function monitoringConfigRoutes(deps: MonitoringConfigDeps): Route[] {
  const { config } = deps
  const example = exampleOf(config)
  const responses = { 200: { description: 'The configuration', schema: answerOf(config), example } }
  return [
    route({
      method: 'GET',
      path,
      access: 'user',
      tag,
      summary: 'Health checks, your rules, channels and dashboards, and how records are kept',
      responses,
      handle: ({ actor }) => reply(deps, actor),
    }),
    route({
      method: 'PUT',
      path,
      access: 'admin',
      tag,
      summary:
        'Change how records are kept, from the next start; the rest of the answer may be sent back as it was read',
      bodyLimit: BODY_BYTES,
      body: changesOf(config).meta({ examples: [{ logRotation: { interval: 'weekly' } }] }),
      responses,
      async handle({ actor, body, info, request }) {
        const stored = await deps.registry.settings.allSystem()
        const now = systemSettings(config, stored)
        refuseChanged(body, await configFor(deps, actor))
        const members = databaseMembers(config)
        const requested = requestedOf(body, members, now)
        const changed = changedOf(config, stored, requested, now)
        const settings = readSettings(config, changed, key => pointerOf(key, members))
        refuseLocked(config, Object.keys(settings))
        await deps.registry.settings.setSystem(actor, settings, writeOptions(request.headers))
        if (Object.keys(settings).length === 0) return reply(deps, actor)
        const detail = { keys: Object.keys(settings) }
        deps.registry.audit.record(actor, {
          ...{ action: 'settings.update', target: 'system', ownerId: null, request: info, detail },
        })
        return reply(deps, actor)
      },
    }),
  ]
}

/** The revision is that of the system's settings, read first, so that a change in between is noticed. */
async function reply(deps: MonitoringConfigDeps, actor: UserActor) {
  const revision = await deps.registry.settings.systemRevision()
  return { body: await configFor(deps, actor), headers: { etag: etag(revision) } }
}

async function configFor(deps: MonitoringConfigDeps, actor: UserActor) {
  const stored = await deps.registry.settings.allSystem()
  const members = databaseMembers(deps.config)
  // Values that are written with a unit are shown as they were written.
  const amounts = [...Object.values(ROTATION), ...Object.values(members)].filter(key =>
    isAmount(key, settingsOf(deps.config)),
  )
  const settings = {
    ...systemSettings(deps.config, stored),
    ...Object.fromEntries(amounts.map(key => [key, writtenAmount(deps.config, stored, key)])),
  }
  const channels = await deps.alerts.channels.list(actor)
  return {
    healthCheck: { ...HEALTH_CHECK, ...deps.usualHealthCheck() },
    alerting: { rules: await deps.alerts.rules.list(actor) },
    notifications: Object.fromEntries(
      channels.map(({ name, type, enabled, config }) => [String(name), { type, enabled, config }]),
    ),
    dashboards: await deps.dashboards.list(actor),
    logRotation: { enabled: settings.logRotation !== 'none', ...pick(settings, ROTATION) },
    logging: { level: settings.logLevel, database: pick(settings, members) },
    ...(isAdmin(actor) ? { problems: deps.fileProblems() } : {}),
  }
}

type Shown = ReturnType<typeof systemSettings>

/** Returns the settings that change. A setting that is sent unchanged, or with an equivalent value, is not included. */
function changedOf(
  config: ConfigView,
  stored: Readonly<Record<string, JsonValue>>,
  requested: Readonly<Record<string, JsonValue>>,
  now: Shown,
): Record<string, JsonValue> {
  const isSame = ([key, value]: [string, JsonValue]): boolean => {
    const shown = isAmount(key, settingsOf(config)) ? writtenAmount(config, stored, key) : now[key]
    return isDeepStrictEqual(value, shown)
  }
  return Object.fromEntries(Object.entries(requested).filter(entry => !isSame(entry)))
}

/** Throws `validation_failed` with `read_only` for each part that is sent and differs from the answer. */
function refuseChanged(body: Changes, answer: object): void {
  const shown = new Map(Object.entries(asJson(answer)))
  const errors = Object.entries(ELSEWHERE).flatMap(([member, place]): FieldError[] => {
    const sent = body[member as keyof typeof ELSEWHERE]
    if (sent === undefined || isDeepStrictEqual(withoutEvaluation(asJson(sent)), withoutEvaluation(shown.get(member))))
      return []
    const detail = `"${member}" is changed by ${place}; leave it out here, or send it as it was read`
    return [{ pointer: `#/${member}`, code: 'read_only', detail }]
  })
  if (errors.length > 0) throw validationError(errors)
}

function asJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

/** Without what changes by itself from one answer to the next: how a rule was last evaluated. */
function withoutEvaluation(part: unknown): unknown {
  if (typeof part !== 'object' || part === null || !('rules' in part) || !Array.isArray(part.rules)) return part
  return { ...part, rules: part.rules.map(({ health: _, pending: __, ...rule }) => rule) }
}

function pick(settings: Shown, keys: Members) {
  return Object.fromEntries(Object.entries(keys).map(([member, key]) => [member, settings[key]]))
}

function requestedOf(
  { logRotation = {}, logging = {} }: Changes,
  members: Members,
  now: Shown,
): Record<string, JsonValue> {
  const { enabled, ...limits } = logRotation
  return {
    ...renamed(limits, ROTATION),
    ...switched(enabled, limits.interval, now.logRotation),
    ...(logging.level === undefined ? {} : { logLevel: logging.level }),
    ...renamed(logging.database ?? {}, members),
  }
}

/** Disabled is stored as the interval `none`; enabled without an interval as the default one, unless there is one already. */
function switched(enabled: boolean | undefined, interval: string | undefined, now: unknown): Record<string, JsonValue> {
  if (enabled === false) return { logRotation: 'none' }
  if (enabled === undefined) return {}
  if (interval === 'none') {
    const detail = '"interval" is "none", which is the same as "enabled": false; leave one of them out'
    throw wrong('#/logRotation/interval', 'ambiguous', detail)
  }
  return interval === undefined && now === 'none' ? { logRotation: null } : {}
}

function pointerOf(key: string, members: Members): string {
  const of = (keys: Members) => Object.entries(keys).find(([, setting]) => setting === key)?.[0]
  if (key === 'logLevel') return '#/logging/level'
  const inRotation = of(ROTATION)
  return inRotation === undefined ? `#/logging/database/${of(members) ?? ''}` : `#/logRotation/${inRotation}`
}

function renamed(section: object, keys: Members): Record<string, JsonValue> {
  return Object.fromEntries(Object.entries(section).map(([member, value]) => [keys[member] ?? member, value]))
}
