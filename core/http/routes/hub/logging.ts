import { z } from 'zod'
import type { FieldError } from '../../../contract/errors.ts'
import type { UserActor } from '../../../contract/records.ts'
import { parseDuration } from '../../../domain/duration.ts'
import { pointerToken } from '../../../domain/json/json-pointer.ts'
import { validationError } from '../../../domain/validation-error.ts'
import type { Registry } from '../../../registry/api.ts'
import type { LevelChange, LogLevels } from '../../../telemetry/levels.ts'
import type { SinkState } from '../../../telemetry/log-feed.ts'
import { type Route, route } from '../../route.ts'
import { limitedRecord, timestamp } from '../schemas.ts'
import { qualified } from '../views.ts'

/** Log levels and destinations. */
export interface LoggingView {
  readonly levels: Pick<LogLevels, 'default' | 'setDefault' | 'set' | 'list'>
  sinks(): readonly SinkState[]
  /** Names of components whose level can be set. */
  readonly components: readonly string[]
}

/** Dependencies of the routes of `/api/admin/logging`. */
export interface LoggingDeps {
  readonly logging: LoggingView
  readonly registry: Pick<Registry, 'servers' | 'audit' | 'users'>
  /** All configured plugins, including those that do not run. */
  readonly plugins: { list(): readonly { readonly name: string }[] }
}

const tag = 'administration'
/** Most names in a message. */
const MOST_NAMED = 40
const LONGEST_MS = 24 * 60 * 60 * 1_000
const level = z.enum(['error', 'warn', 'info', 'debug', 'trace'])
const count = z.number().int()

const logging = z.object({
  level: level.meta({ description: 'LOG_LEVEL, for all that `levels` does not name' }),
  levels: z.array(z.object({ key: z.string(), level, until: timestamp.optional() })),
  sinks: z.array(
    z.object({
      id: z.string(),
      state: z.enum(['up', 'failing']),
      waiting: count,
      sent: count,
      dropped: z.object({ full: count, rejected: count, late: count }),
      losses: z
        .array(z.object({ user: z.string().optional(), component: z.string().optional(), dropped: count }))
        .meta({
          description:
            'Whose records were lost to a full queue, most first, at most 20: of a user, or of a part of the hub',
        }),
      reason: z
        .object({ code: z.string(), message: z.string() })
        .optional()
        .meta({ description: 'Why it takes no records now: the stable code and the words of the last attempt' }),
    }),
  ),
})

const example = {
  level: 'info',
  levels: [{ key: 'server:ada~time', level: 'debug', until: '2026-11-21T09:45:00.000Z' }],
  sinks: [
    { id: 'file', state: 'up', waiting: 0, sent: 8_211, dropped: { full: 0, rejected: 0, late: 0 }, losses: [] },
    {
      ...{ id: 'database', state: 'up', waiting: 12, sent: 8_199, dropped: { full: 712, rejected: 0, late: 0 } },
      losses: [{ user: 'ada', dropped: 712 }],
    },
  ],
}

function changeOf(components: readonly string[]) {
  return z.strictObject({
    level: level.optional().meta({ description: 'For all that `levels` does not name, until the hub stops' }),
    levels: limitedRecord(z.string().min(1).max(300), level.nullable(), 100)
      .optional()
      .meta({ description: `By component: ${formsOf(components)}; null removes` }),
    until: z
      .string()
      .max(64)
      .optional()
      .meta({ description: 'A duration of at most 24h; absent: until the hub stops' }),
  })
}

type Change = z.infer<ReturnType<typeof changeOf>>

function formsOf(components: readonly string[]): string {
  return `${components.join(', ')}, plugin:<name>, sink:<id> or server:<ref>`
}

/** Routes for levels at run time, and for the state of the sinks. */
export function loggingRoutes(deps: LoggingDeps): Route[] {
  const { logging: view, registry } = deps
  const named = async ({ losses, ...sink }: SinkState) => {
    const whose = losses.map(async ({ id, dropped }) => {
      const user = await registry.users.byId(id)
      return { ...(user ? { user: user.name } : { component: id === '' ? 'hub' : id }), dropped }
    })
    return { ...sink, losses: await Promise.all(whose) }
  }
  const answer = async () => {
    const sinks = await Promise.all(view.sinks().map(named))
    return { level: view.levels.default, levels: view.levels.list(), sinks }
  }
  return [
    route({
      method: 'GET',
      path: '/api/admin/logging',
      access: 'admin',
      summary: 'Log levels, and the sinks with what they lost',
      tag,
      responses: { 200: { description: 'The present state', schema: logging, example } },
      handle: async () => ({ body: await answer() }),
    }),
    route({
      method: 'PATCH',
      path: '/api/admin/logging',
      access: 'admin',
      summary: 'Set log levels of components and servers, at once',
      tag,
      body: changeOf(view.components),
      responses: { 200: { description: 'The state after the change', schema: logging, example } },
      async handle({ actor, body, info }) {
        const changes = await readChanges(deps, actor, body)
        if (body.level !== undefined) view.levels.setDefault(body.level)
        for (const each of changes) view.levels.set(each)
        const all = body.level === undefined ? [] : [`all=${body.level}`]
        const detail = { levels: [...all, ...changes.map(each => `${each.key}=${each.level ?? 'default'}`)] }
        registry.audit.record(actor, {
          action: 'logging.update',
          target: 'logging',
          ownerId: null,
          request: info,
          detail,
        })
        return { body: await answer() }
      },
    }),
  ]
}

/** Throws `validation_failed`, and `server_not_found` for a server that is not there. */
async function readChanges(
  deps: LoggingDeps,
  actor: UserActor,
  { level: wanted, levels = {}, until }: Change,
): Promise<readonly LevelChange[]> {
  const forMs = until === undefined ? undefined : parseDuration(until)
  const problems = unknownComponents(deps, levels)
  if (until !== undefined && (forMs === undefined || forMs === 0 || forMs > LONGEST_MS)) {
    problems.unshift({ pointer: '#/until', code: 'duration', detail: 'until: a duration such as 15m, at most 24h' })
  }
  if (wanted === undefined && Object.keys(levels).length === 0)
    problems.push({
      pointer: '#/levels',
      code: 'required',
      detail: 'levels: name a component, or send "level" for all',
    })
  if (problems.length > 0) throw validationError(problems)
  const limit = forMs === undefined ? {} : { forMs }
  return Promise.all(
    Object.entries(levels).map(async ([key, to]) => {
      if (!key.startsWith('server:')) return { key, level: to, ...limit }
      const record = await deps.registry.servers.resolve(actor, key.slice('server:'.length), 'change')
      return { key: `server:${qualified(record)}`, level: to, serverId: record.id, ...limit }
    }),
  )
}

/**
 * Returns errors for unknown components. The level of a component that no longer exists can still be removed. Servers are
 * checked elsewhere.
 */
function unknownComponents({ logging, plugins }: LoggingDeps, levels: NonNullable<Change['levels']>): FieldError[] {
  const kept = new Set(logging.levels.list().map(({ key }) => key))
  const known: Readonly<Record<string, readonly string[]>> = {
    plugin: plugins.list().map(({ name }) => `plugin:${name}`),
    sink: logging.sinks().map(({ id }) => `sink:${id}`),
  }
  return Object.entries(levels).flatMap(([key, to]) => {
    if (logging.components.includes(key) || /^server:./.test(key) || (to === null && kept.has(key))) return []
    const [, kind = ''] = /^(plugin|sink):/.exec(key) ?? []
    const names = known[kind]
    if (names?.includes(key)) return []
    const detail = names
      ? `There is no ${kind} of this name: one of ${listed(names)}`
      : `There is no component of this name: one of ${formsOf(logging.components)}`
    return [{ pointer: `#/levels/${pointerToken(key)}`, code: 'enum' as const, detail }]
  })
}

function listed(names: readonly string[]): string {
  const more = names.length - MOST_NAMED
  return `${names.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
