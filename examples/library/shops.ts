import type { RecordKindDefinition } from 'patchbay/features'
import { z } from 'zod'

const shop = z.object({
  url: z.url().max(500).meta({ description: 'Where the shop takes orders' }),
  token: z.string().max(200).default('').meta({ description: 'The credential of the customer', writeOnly: true }),
})

/** Shops at which a user orders books. */
export const shops: RecordKindDefinition<z.infer<typeof shop>> = {
  kind: 'shops',
  title: 'shop',
  schema: shop,
  secrets: ['/token'],
  most: 2,
  acts: true,
  example: { url: 'https://books.example/orders', token: 'a-token-of-the-customer' },
  prepare: ({ url, token }) => ({ url: url.replace(/\/+$/, ''), token }),
  show: ({ fields }) => ({ host: new URL(fields.url).host }),
}
