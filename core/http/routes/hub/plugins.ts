import { z } from 'zod'
import { HubError } from '../../../contract/errors.ts'
import type { JsonObject } from '../../../contract/json.ts'
import { quoteName } from '../../../domain/names.ts'
import type { AuditRegistry } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import { anyObject, exampleList, listOf, pageQuery } from '../schemas.ts'
import { page } from '../views.ts'

/** A plugin as administrators see it. */
export interface PluginView {
  readonly name: string
  readonly state: 'running' | 'failed' | 'disabled' | 'stopped'
  readonly bundled: boolean
  readonly isolated: boolean
  /** As `point/id`. */
  readonly contributions: readonly string[]
  /** The failure's reason. */
  readonly message?: string
}

/** The plugin host for administrators. */
export interface PluginsView {
  list(): readonly PluginView[]
  /**
   * Stops the plugin and starts it with the change. Resolves afterwards, with state `failed` when the plugin did not
   * start. Throws `plugin_not_found`, `validation_failed` for a configuration that the plugin rejects.
   */
  configure(name: string, change: { readonly enabled?: boolean; readonly config?: JsonObject }): Promise<PluginView>
}

/** What the routes of `/api/plugins` need. */
export interface PluginRoutesDeps {
  readonly plugins: PluginsView
  readonly audit: Pick<AuditRegistry, 'record'>
}

const tag = 'administration'

const plugin = z.looseObject({
  name: z.string(),
  state: z.enum(['running', 'failed', 'disabled', 'stopped']),
  bundled: z.boolean(),
  isolated: z.boolean(),
  contributions: z.array(z.string()),
  message: z.string().optional(),
})

const example = {
  name: 'transport-stdio',
  state: 'running',
  bundled: true,
  isolated: false,
  contributions: ['transport/stdio'],
}

const change = z.strictObject({ enabled: z.boolean().optional(), config: anyObject.optional() })

/** The plugins of this hub. */
export function pluginRoutes({ plugins, audit }: PluginRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/admin/plugins',
      access: 'admin',
      summary: 'Every plugin with its state',
      tag,
      query: pageQuery,
      responses: { 200: { description: 'A page of plugins', schema: listOf(plugin), example: exampleList(example) } },
      handle: ({ query }) => ({ body: page(plugins.list(), query) }),
    }),
    route({
      method: 'PATCH',
      path: '/api/admin/plugins/{name}',
      access: 'admin',
      summary: 'Switch a plugin on or off, or configure it',
      tag,
      params: z.object({ name: z.string().min(1).max(256) }),
      body: change,
      responses: { 200: { description: 'The plugin after the change', schema: plugin, example } },
      async handle({ actor, params, body, info }) {
        if (!plugins.list().some(each => each.name === params.name)) {
          throw new HubError('plugin_not_found', `There is no plugin ${quoteName(params.name)}`)
        }
        const { enabled, config } = body
        const wanted = {
          ...(enabled === undefined ? {} : { enabled }),
          ...(config === undefined ? {} : { config: config as JsonObject }),
        }
        const after = await plugins.configure(params.name, wanted)
        const detail = { fields: Object.keys(body) }
        const { requestId } = info
        audit.record(actor, { action: 'plugin.update', target: params.name, ownerId: null, requestId, detail })
        return { body: after }
      },
    }),
  ]
}
