import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'
import { SearchSink } from './sink.ts'

const config = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      title: 'Address',
      description:
        'Of Elasticsearch 8 or OpenSearch 2, and later ones; user and password may stand in it. Without it nothing is sent.',
      'x-zh': {
        title: '地址',
        description: 'Elasticsearch 8、OpenSearch 2 或更新版本的地址，可包含用户名和密码；留空则不发送。',
      },
    }),
  index: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_.-]{0,199}$/)
    .default('patchbay-logs')
    .meta({
      title: 'Index',
      description: 'Into which the records are written.',
      'x-zh': { title: '索引', description: '写入记录的索引。' },
    }),
})

/** Sends log records to a search engine. Without its address it does nothing. */
export default definePlugin<z.infer<typeof config>>({
  name: 'sink-search',
  contract: 1,
  config,
  setup(context) {
    const { url, index } = context.config
    if (url !== undefined)
      context.contribute('logSink', 'search', new SearchSink({ url, index, fetch: context.fetch }).contribution)
    return undefined
  },
})
