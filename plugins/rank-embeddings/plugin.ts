import { definePlugin, HubError } from 'patchbay/contract'
import { z } from 'zod'
import { embed } from './client.ts'
import { EmbeddingRanker } from './ranker.ts'
import { Vectors } from './vectors.ts'

const config = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      title: 'Address',
      description: 'Of an endpoint of embeddings, up to and without /embeddings. Without it nothing is sent.',
      'x-zh': { title: '地址', description: '嵌入向量端点的地址，不含末尾的 /embeddings；留空则不发送。' },
    }),
  model: z
    .string()
    .min(1)
    .max(200)
    .default('text-embedding-3-small')
    .meta({
      title: 'Model',
      description: 'As the endpoint names it.',
      'x-zh': { title: '模型', description: '端点所用的模型名称。' },
    }),
  dimensions: z
    .number()
    .int()
    .min(8)
    .max(4_096)
    .optional()
    .meta({
      title: 'Dimensions',
      description: 'Of the embeddings, for models that let one choose. By default the model’s own.',
      'x-zh': { title: '维度', description: '嵌入向量的维度，用于可选择维度的模型；默认由模型决定。' },
    }),
  withinMs: z
    .number()
    .int()
    .min(50)
    .max(2_000)
    .default(300)
    .meta({
      title: 'Longest wait, ms',
      description: 'How long a search waits for the endpoint.',
      'x-zh': { title: '最长等待（毫秒）', description: '搜索等待端点的时间。' },
    }),
})
const KEY = /^[\x21-\x7e]{1,8192}$/

/** Orders what the smart group finds by meaning too, with vectors of an OpenAI-compatible endpoint. Off without its address. */
export default definePlugin<z.infer<typeof config>>({
  name: 'rank-embeddings',
  contract: 1,
  config,
  setup(context) {
    const { url, model, dimensions, withinMs } = context.config
    const { fetch, signal } = context
    const secret = context.secrets.hub('embeddingsKey')
    let vectors: Vectors | undefined
    if (url !== undefined) {
      const options = { url, model, dimensions, key: () => secret.open(), fetch }
      vectors = new Vectors(
        (texts, until) => embed(options, texts, until),
        model,
        signal,
        () => performance.now(),
      )
      const ranker = new EmbeddingRanker(vectors)
      context.contribute('toolRanker', 'embeddings', {
        withinMs,
        rank: (query, until) => ranker.rank(query, until),
      })
    }
    context.contribute('routes', 'status', {
      path: 'status',
      access: 'admin',
      async fetch() {
        const shown = await secret.describe()
        const key = { set: shown !== undefined, ...shown }
        return Response.json({ enabled: url !== undefined, model, key, ...vectors?.state() })
      },
    })
    context.contribute('routes', 'key', {
      path: 'key',
      access: 'admin',
      async fetch(request) {
        if (request.method !== 'PUT' && request.method !== 'DELETE')
          throw new HubError('method_not_allowed', 'A key is set by PUT and removed by DELETE')
        const key = request.method === 'PUT' ? keyIn(await request.json().catch(() => undefined)) : null
        await secret.put(key)
        return new Response(null, { status: 204 })
      },
    })
    return undefined
  },
})

function keyIn(body: unknown): string {
  const { data } = z.strictObject({ key: z.string().regex(KEY) }).safeParse(body)
  if (data) return data.key
  throw new HubError('validation_failed', 'A body such as {"key": "sk-…"} is wanted', {
    errors: [{ pointer: '#/key', code: 'format', detail: 'Printable characters without spaces' }],
  })
}
