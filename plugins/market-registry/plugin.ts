import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'
import { registrySource } from './source.ts'

const config = z.strictObject({
  /** Of registries that speak the API v0.1 of the official MCP Registry, by the name of their source. */
  registries: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/), z.url({ protocol: /^https?$/ }))
    .default({})
    .refine(all => Object.keys(all).length <= 10, 'at most 10 registries'),
})

/** Templates from MCP registries. Without a configured one it sends nothing. */
export default definePlugin<z.infer<typeof config>>({
  name: 'market-registry',
  contract: 1,
  config,
  setup(context) {
    for (const [id, url] of Object.entries(context.config.registries))
      context.contribute('marketSource', id, registrySource(url, context.fetch))
    return undefined
  },
})
