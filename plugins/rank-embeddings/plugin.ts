import { definePlugin, HubError, type PluginDefinition, type UserActor } from 'patchbay/contract'
import { z } from 'zod'
import { embed } from './client.ts'
import { EmbeddingRanker } from './ranker.ts'
import { Vectors } from './vectors.ts'

const config = z.strictObject({
  /** Up to and without `/embeddings`. Without it nothing is sent. */
  url: z.url({ protocol: /^https?$/ }).optional(),
  model: z.string().min(1).max(200).default('text-embedding-3-small'),
  dimensions: z.number().int().min(8).max(4_096).optional(),
  /** How long a search waits for it, in milliseconds. */
  withinMs: z.number().int().min(50).max(2_000).default(300),
})
const KEY = /^[\x21-\x7e]{1,8192}$/

/** What core lends this plugin alone: the sealed key of the endpoint. */
export interface RankEmbeddingsDeps {
  readonly key: () => Promise<string | undefined>
  /** null removes it. Throws `admin_only`. */
  readonly setKey: (actor: UserActor, key: string | null) => Promise<void>
  readonly shownKey: () => Promise<{ readonly last4: string; readonly setAt: string } | undefined>
}

/** Orders what the smart group finds by meaning too, with vectors of an OpenAI-compatible endpoint. Off without its address. */
export default function rankEmbeddings(deps: RankEmbeddingsDeps): PluginDefinition<z.infer<typeof config>> {
  return definePlugin<z.infer<typeof config>>({
    name: 'rank-embeddings',
    contract: 1,
    config,
    setup(context) {
      const { url, model, dimensions, withinMs } = context.config
      const { fetch, signal } = context
      let vectors: Vectors | undefined
      if (url !== undefined) {
        const options = { url, model, dimensions, key: deps.key, fetch }
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
          const shown = await deps.shownKey()
          const key = { set: shown !== undefined, ...shown }
          return Response.json({ enabled: url !== undefined, model, key, ...vectors?.state() })
        },
      })
      context.contribute('routes', 'key', {
        path: 'key',
        access: 'admin',
        async fetch(request, actor) {
          if (request.method !== 'PUT' && request.method !== 'DELETE')
            throw new HubError('method_not_allowed', 'A key is set by PUT and removed by DELETE')
          const key = request.method === 'PUT' ? keyIn(await request.json().catch(() => undefined)) : null
          await deps.setKey(actor as UserActor, key)
          return new Response(null, { status: 204 })
        },
      })
      return undefined
    },
  })
}

function keyIn(body: unknown): string {
  const { data } = z.strictObject({ key: z.string().regex(KEY) }).safeParse(body)
  if (data) return data.key
  throw new HubError('validation_failed', 'A body such as {"key": "sk-…"} is wanted', {
    errors: [{ pointer: '#/key', code: 'format', detail: 'Printable characters without spaces' }],
  })
}
