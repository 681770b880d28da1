import { z } from 'zod'
import type { Alerts } from '../../../alerts/create.ts'
import { HubError } from '../../../contract/errors.ts'
import type { JsonObject } from '../../../contract/json.ts'
import type { UserActor } from '../../../contract/records.ts'
import { quoteName } from '../../../domain/names.ts'
import type { Registry } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import { requireRecentSignIn } from '../people/recent-sign-in.ts'
import { requireSession } from '../people/session.ts'
import { anyObject, exampleList, listOf, pageQuery } from '../schemas.ts'
import { page } from '../views.ts'

/** A plugin as administrators see it. */
export interface PluginView {
  readonly name: string
  readonly state: 'running' | 'failed' | 'disabled' | 'stopped'
  readonly bundled: boolean
  /** Names of the form `point/id`. */
  readonly contributions: readonly string[]
  readonly isolated: boolean
  /** Stable code of the failure. */
  readonly code?: string
  /** The failure's reason. */
  readonly message?: string
  /** The version that the plugin states. */
  readonly version?: string
}

/** The plugin host for administrators. */
export interface PluginsView {
  list(): readonly PluginView[]
  /**
   * Stops the plugin and starts it with the change. Resolves afterwards, with state `failed` when the plugin did not start.
   * Masked secrets keep their stored values. Throws `plugin_not_found`, `validation_failed` for a configuration that the plugin
   * rejects.
   */
  configure(
    actor: UserActor,
    name: string,
    change: {
      readonly enabled?: boolean
      readonly config?: JsonObject
      readonly limits?: Readonly<Record<string, number>>
    },
  ): Promise<PluginView>
  /** Starts another plugin until the hub stops. Throws `name_taken`, `plugin_failed`, `validation_failed`. */
  install(entry: {
    readonly use: string
    readonly isolate?: boolean
    readonly config?: JsonObject
    readonly limits?: Readonly<Record<string, number>>
  }): Promise<PluginView>
  /** Throws `plugin_not_found` for a bundled one too. */
  remove(name: string): Promise<void>
}

/** Dependencies of the routes of `/api/plugins`. */
export interface PluginRoutesDeps {
  readonly plugins: PluginsView
  readonly registry: {
    readonly audit: Pick<Registry['audit'], 'record'>
    readonly servers: Pick<Registry['servers'], 'list'>
  }
  readonly alerts: Pick<Alerts, 'channelCounts'>
  readonly version: string
}

const tag = 'administration'

const plugin = z.looseObject({
  name: z.string(),
  state: z.enum(['running', 'failed', 'disabled', 'stopped']),
  bundled: z.boolean(),
  isolated: z.boolean(),
  contributions: z.array(z.string()),
  code: z.string().optional().meta({ description: 'Why it failed: the code of its error, or plugin_failed' }),
  message: z.string().optional().meta({ description: 'Why it failed, in words' }),
  stack: z.string().optional().meta({ description: 'Of the failure' }),
  needs: z.array(z.string()).optional().meta({ description: 'Plugins that start before it; with `?` it runs without' }),
  waiting: z.array(z.string()).optional().meta({ description: 'Contributions whose point has no plugin that runs' }),
  routes: z.array(z.string()).optional().meta({ description: 'With schemas, below /api/plugins/{name}' }),
  limits: z.record(z.string(), z.number()).optional().meta({ description: 'Its limits, as they hold' }),
  failedJobs: z.int().optional().meta({ description: 'How often one of its jobs has thrown' }),
  version: z.string().optional().meta({ description: 'As the plugin says; of a bundled one the hub’s' }),
  sha256: z.string().optional().meta({ description: 'Of the entry file' }),
  config: anyObject.optional().meta({ description: 'With masks in place of secrets; absent: it has none' }),
  configSchema: anyObject
    .optional()
    .meta({ description: 'JSON Schema of the configuration, once the plugin was loaded' }),
  configurable: z.boolean().optional().meta({ description: 'False: it takes no configuration' }),
  starts: z.int().meta({ description: 'Since the hub’s own start' }),
  startedAt: z.string().optional(),
  heapBytes: z.int().optional().meta({ description: 'JavaScript’s heap in the worker of an isolated plugin' }),
  middleware: z
    .object({
      refused: z.int(),
      failed: z.int(),
      skipped: z.int(),
      lastFailure: z.object({ at: z.string(), contribution: z.string(), message: z.string() }).optional(),
    })
    .optional()
    .meta({
      description:
        'What its middlewares did since the hub’s start: requests that they refused or answered themselves, that were refused since they failed, and that went on without them',
    }),
  usedBy: z
    .object({ servers: z.array(z.string()), serversTotal: z.int(), channels: z.int() })
    .optional()
    .meta({ description: 'Servers of its transports, the first 20 named, and alert channels of its kinds' }),
})

const example = {
  name: 'transport-stdio',
  state: 'running',
  bundled: true,
  isolated: false,
  contributions: ['transport/stdio'],
  ...{ version: '1.1.0', configurable: false, starts: 1, startedAt: '2026-11-24T09:30:00.000Z' },
  usedBy: { servers: ['ada~time'], serversTotal: 1, channels: 0 },
}

const limits = z
  .record(z.string().max(64), z.int().min(0))
  .optional()
  .meta({ description: 'Numbers in place of those that the plugin names as its limits' })
const change = z.strictObject({ enabled: z.boolean().optional(), config: anyObject.optional(), limits })
/** Beside the settings file, where no user of the hub can lay a file. */
const USE = /^\.\/plugins(?:\/[\w@+-][\w.@+-]*)+$/
const installed = z.strictObject({
  use: z
    .string()
    .max(256)
    .regex(USE, 'a path such as "./plugins/library/plugin.ts" is wanted')
    .meta({
      description: 'A file below the folder `plugins` that lies beside the settings file',
      examples: ['./plugins/library/plugin.ts'],
    }),
  isolate: z
    .boolean()
    .optional()
    .meta({ description: 'False: in the main thread, where tables and secrets are. Default true' }),
  config: anyObject.optional(),
  limits,
})

/** The plugins of this hub. */
export function pluginRoutes(deps: PluginRoutesDeps): Route[] {
  const { plugins, registry } = deps
  return [
    route({
      method: 'GET',
      path: '/api/admin/plugins',
      access: 'admin',
      summary: 'Every plugin with its state',
      tag,
      query: pageQuery,
      responses: { 200: { description: 'A page of plugins', schema: listOf(plugin), example: exampleList(example) } },
      async handle({ actor, query }) {
        const view = await viewFor(deps, actor)
        return { body: page(plugins.list().map(view), query) }
      },
    }),
    route({
      method: 'POST',
      path: '/api/admin/plugins',
      access: 'admin',
      summary: 'Start a plugin whose files are on the hub’s machine, until the hub stops; needs a recent sign-in',
      tag,
      body: installed,
      responses: {
        201: {
          description: 'The plugin, which runs, or waits for one that it needs',
          schema: plugin,
          example: { ...example, bundled: false },
        },
      },
      async handle({ actor, body, info }) {
        requireRecentSignIn(actor)
        const { use, isolate, config, limits: wanted } = body
        const after = await plugins.install({
          use,
          ...(isolate === undefined ? {} : { isolate }),
          ...(config === undefined ? {} : { config: config as JsonObject }),
          ...(wanted === undefined ? {} : { limits: wanted }),
        })
        registry.audit.record(actor, { action: 'plugin.install', target: use, ownerId: null, request: info })
        return { status: 201, body: (await viewFor(deps, actor))(after) }
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/admin/plugins/{name}',
      access: 'admin',
      summary: 'Withdraw a plugin that is not bundled; its tables and its folder stay; needs a sign-in',
      tag,
      params: z.object({ name: z.string().min(1).max(256) }),
      responses: { 204: { description: 'Withdrawn' } },
      async handle({ actor, params, info }) {
        requireSession(actor)
        await plugins.remove(params.name)
        registry.audit.record(actor, { action: 'plugin.remove', target: params.name, ownerId: null, request: info })
        return { status: 204 }
      },
    }),
    route({
      method: 'PATCH',
      path: '/api/admin/plugins/{name}',
      access: 'admin',
      summary: 'Switch a plugin on or off, or configure it; needs a sign-in',
      tag,
      params: z.object({ name: z.string().min(1).max(256) }),
      body: change,
      responses: { 200: { description: 'The plugin after the change', schema: plugin, example } },
      async handle({ actor, params, body, info }) {
        // Plugins limit what keys do, so no key changes them.
        requireSession(actor)
        if (!plugins.list().some(each => each.name === params.name)) {
          throw new HubError('plugin_not_found', `There is no plugin ${quoteName(params.name)}`)
        }
        const { enabled, config, limits: numbers } = body
        const wanted = {
          ...(enabled === undefined ? {} : { enabled }),
          ...(config === undefined ? {} : { config: config as JsonObject }),
          ...(numbers === undefined ? {} : { limits: numbers }),
        }
        const after = await plugins.configure(actor, params.name, wanted)
        const detail = { fields: Object.keys(body) }
        registry.audit.record(actor, {
          action: 'plugin.update',
          target: params.name,
          ownerId: null,
          request: info,
          detail,
        })
        return { body: (await viewFor(deps, actor))(after) }
      },
    }),
  ]
}

/** Servers that are named for each plugin. */
const MOST_NAMED = 20

/** Adds to plugins what depends on them, from one reading of servers and channels. */
async function viewFor(
  { registry, alerts, version }: PluginRoutesDeps,
  actor: UserActor,
): Promise<(plugin: PluginView) => PluginView> {
  const [servers, channels] = await Promise.all([
    registry.servers.list(actor, { scope: 'all' }),
    alerts.channelCounts(),
  ])
  const byTransport = Map.groupBy(servers, ({ transport }) => transport as string)
  return one => {
    const of = (point: string): string[] =>
      one.contributions.flatMap(name => (name.startsWith(`${point}/`) ? [name.slice(point.length + 1)] : []))
    const using = of('transport').flatMap(name => byTransport.get(name) ?? [])
    const count = of('notificationChannel').reduce((sum, type) => sum + (channels.get(type) ?? 0), 0)
    const named = using.slice(0, MOST_NAMED).map(({ ownerName, name }) => `${ownerName}~${name}`)
    return {
      ...(one.bundled ? { version } : {}),
      ...one,
      ...(using.length + count === 0
        ? {}
        : { usedBy: { servers: named, serversTotal: using.length, channels: count } }),
    }
  }
}
