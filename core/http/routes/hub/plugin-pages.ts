import { z } from 'zod'
import { HubError } from '../../../contract/errors.ts'
import { type Route, route } from '../../route.ts'

/** A page of a plugin that runs. */
export interface PluginPage {
  readonly plugin: string
  readonly path: string
  readonly title: string | { readonly en: string; readonly zh?: string }
  readonly icon: string
  readonly element: string
  readonly access: 'user' | 'admin'
  /** SHA-256 of the script, hex. */
  readonly sha256: string
  readonly script: Uint8Array<ArrayBuffer>
}

/** Dependencies of the routes of plugins' pages. */
export interface PluginPageDeps {
  /** The pages that there are now. */
  readonly pages: () => readonly PluginPage[]
  /** The pages of the console's own that it has now. */
  readonly builtPages: () => readonly Readonly<{ id: string; access: 'user' | 'admin' }>[]
  /** Chinese for texts of plugins, by the text. */
  readonly words: () => Readonly<Record<string, string>>
}

const FOR_EVER = 'public, max-age=31536000, immutable'
const item = z.object({
  plugin: z.string(),
  path: z.string(),
  title: z.union([z.string(), z.object({ en: z.string(), zh: z.string().optional() })]),
  icon: z.string(),
  element: z.string(),
  access: z.enum(['user', 'admin']),
  script: z.string().meta({ description: 'Path of the module that defines the element' }),
})
const example = {
  ...{ plugin: 'orders', path: 'orders', title: { en: 'Orders', zh: '订单' }, icon: 'package', element: 'orders-page' },
  ...{ access: 'user', script: '/plugins/orders/9f2a61c07d4be853/orders.js' },
}

/** The pages that plugins add to the console, and their scripts. */
export function pluginPageRoutes({ pages, builtPages, words }: PluginPageDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/plugins/pages',
      access: 'user',
      summary: 'The pages of plugins that you may see in the console, and Chinese for what plugins say',
      tag: 'console',
      responses: {
        200: {
          description: 'The pages',
          schema: z.object({
            items: z.array(item),
            built: z
              .array(z.string())
              .meta({ description: 'Pages that are built with the console, and shown while their plugin runs' }),
            words: z.record(z.string(), z.string()).meta({ description: 'Chinese for texts of plugins, by the text' }),
          }),
          example: { items: [example], built: [], words: { 'No such order': '没有此订单' } },
        },
      },
      handle: ({ actor }) => ({
        body: {
          items: pages()
            .filter(({ access }) => access === 'user' || actor.role === 'admin')
            .map(({ script: _, sha256, ...page }) => ({ ...page, script: scriptPath({ ...page, sha256 }) })),
          built: builtPages()
            .filter(({ access }) => access === 'user' || actor.role === 'admin')
            .map(({ id }) => id),
          words: words(),
        },
      }),
    }),
    route({
      method: 'GET',
      path: '/plugins/{plugin}/{digest}/{file}',
      access: 'public',
      summary: 'The script of a plugin’s page; a browser loads it without a credential, and may keep it',
      tag: 'console',
      params: z.object({ plugin: z.string().max(64), digest: z.string().max(64), file: z.string().max(80) }),
      responses: {
        200: {
          description: 'The module',
          contentType: 'text/javascript',
          schema: z.string(),
          example: "customElements.define('acme-orders', class extends HTMLElement {})",
        },
      },
      handle({ params: { plugin, digest, file } }) {
        const page = pages().find(
          each => each.plugin === plugin && digestOf(each.sha256) === digest && `${each.path}.js` === file,
        )
        if (!page) throw new HubError('route_not_found', 'No plugin that runs has this script')
        return new Response(page.script, {
          headers: { 'content-type': 'text/javascript; charset=utf-8', 'cache-control': FOR_EVER },
        })
      },
    }),
  ]
}

function scriptPath({ plugin, path, sha256 }: Pick<PluginPage, 'plugin' | 'path' | 'sha256'>): string {
  return `/plugins/${plugin}/${digestOf(sha256)}/${path}.js`
}

/** Enough of the digest that no other content has it. */
function digestOf(sha256: string): string {
  return sha256.slice(0, 32)
}
