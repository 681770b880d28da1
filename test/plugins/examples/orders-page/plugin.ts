import { fileURLToPath } from 'node:url'
import { definePlugin, type JsonObject } from 'patchbay/contract'

interface Config {
  readonly shop: string
  readonly most: number
  readonly apiKey?: string
}

type Verdict =
  | { readonly value: Config; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path: readonly string[] }[] }

/** The form of the console is drawn from this. */
const schema: JsonObject = {
  type: 'object',
  required: ['shop'],
  properties: {
    shop: { type: 'string', title: 'Shop', description: 'Whose orders are shown.', minLength: 1 },
    most: { type: 'integer', title: 'Most orders', default: 10, minimum: 1 },
    apiKey: { type: 'string', title: 'Key', writeOnly: true },
  },
}

/** A schema library such as zod brings all of this; here it is by hand, so that the example needs nothing else. */
function validate(given: unknown): Verdict {
  const { shop, most = 10, apiKey } = given as { shop?: unknown; most?: unknown; apiKey?: unknown }
  if (typeof shop !== 'string' || shop === '') return refused('shop', 'A name is needed')
  if (shop.toLowerCase() !== shop) return refused('shop', 'Lower-case letters are wanted')
  if (typeof most !== 'number') return refused('most', 'A number is needed')
  if (apiKey !== undefined && typeof apiKey !== 'string') return refused('apiKey', 'A text is needed')
  return { value: { shop, most, ...(apiKey === undefined ? {} : { apiKey }) } }
}

function refused(field: string, message: string): Verdict {
  return { issues: [{ message, path: [field] }] }
}

/** Adds a page for everybody, one for administrators, and the route that both read. */
export default definePlugin<Config>({
  name: 'orders-page',
  contract: 1,
  version: '0.3.0',
  config: { '~standard': { version: 1, vendor: 'orders', validate, jsonSchema: { input: () => schema } } },
  setup({ config: { shop, most, apiKey }, contribute }) {
    const module = fileURLToPath(new URL('./page.js', import.meta.url))
    contribute('page', 'orders', {
      path: 'orders',
      title: { en: 'Orders', zh: '订单' },
      icon: 'package',
      module,
      element: 'orders-page',
      access: 'user',
    })
    contribute('page', 'orders-admin', {
      path: 'all',
      title: 'All orders',
      icon: 'no-icon-of-lucide',
      module,
      element: 'orders-page',
      access: 'admin',
    })
    contribute('page', 'orders-broken', {
      path: 'broken',
      title: 'Broken page',
      icon: 'bug',
      module: fileURLToPath(new URL('./broken.js', import.meta.url)),
      element: 'orders-broken',
      access: 'admin',
    })
    contribute('routes', 'orders', {
      path: 'orders',
      access: 'user',
      fetch: async () => Response.json({ shop, most, keyLength: apiKey?.length ?? 0 }),
    })
    return undefined
  },
})
