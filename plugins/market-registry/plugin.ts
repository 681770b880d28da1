import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'
import { registrySource } from './source.ts'

const config = z.strictObject({
  registries: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/), z.url({ protocol: /^https?$/ }))
    .default({})
    .refine(all => Object.keys(all).length <= 10, 'at most 10 registries')
    .meta({
      title: 'Registries',
      description:
        'Addresses of registries that speak the API v0.1 of the official MCP Registry, by the name of their source.',
      'x-zh': { title: '注册表', description: '使用官方 MCP Registry v0.1 接口的注册表地址，以来源名称为键。' },
    }),
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
