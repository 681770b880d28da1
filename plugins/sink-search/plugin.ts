import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'
import { SearchSink } from './sink.ts'

const config = z.strictObject({
  /** Of Elasticsearch 8 or OpenSearch 2, and later ones; user and password may stand in it. Without it nothing is sent. */
  url: z.url({ protocol: /^https?$/ }).optional(),
  index: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_.-]{0,199}$/)
    .default('patchbay-logs'),
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
