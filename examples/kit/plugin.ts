import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'

const wish = z.object({
  name: z.string().min(1).max(40),
  token: z.string().max(200).optional(),
  planHash: z.string().optional(),
})

/** Sets up two servers, a group of them and a dashboard, after their user has seen what that makes. */
export default definePlugin({
  name: 'kit',
  contract: 1,
  setup({ routes, planned }) {
    const kit = planned('kit', (_actor, { name, token }: z.output<typeof wish>) => ({
      servers: [
        {
          body: {
            ...{ name: `${name}-notes`, url: 'https://notes.example/mcp', enabled: false },
            ...{ headers: { authorization: `Bearer ${token}` }, secrets: ['/headers/authorization'] },
          },
        },
        { body: { name: `${name}-time`, url: 'https://time.example/mcp', enabled: false } },
      ],
      groups: [{ body: { name, members: [`${name}-notes`, `${name}-time`] } }],
      records: [{ kind: 'dashboard', body: { name, widgets: [] } }],
      missing: token === undefined ? ['token'] : [],
      warnings: ['Both servers are off until you switch them on'],
    }))

    routes.add({
      method: 'POST',
      path: '/kits',
      access: 'user',
      summary: 'Set up a kit; with `dryRun=true` only say what it would make',
      query: z.object({ dryRun: z.enum(['true', 'false']).optional() }),
      body: wish,
      answers: { 200: { description: 'What it would make' }, 201: { description: 'What it made' } },
      async handle({ actor, query, body: { planHash, ...inputs } }) {
        if (query.dryRun === 'true') return { body: await kit.plan(actor, inputs) }
        return { status: 201, body: await kit.apply(actor, planHash, inputs) }
      },
    })

    routes.add({
      method: 'PUT',
      path: '/kits/{name}/note',
      access: 'user',
      summary: 'Change the description of a kit’s group and servers',
      query: z.object({ dryRun: z.enum(['true', 'false']).optional() }),
      body: z.object({ text: z.string().max(200), planHash: z.string().optional() }),
      answers: { 200: { description: 'What it would change, or changed' } },
      async handle({ actor, params: { name = '' }, query, body: { text, planHash } }) {
        const note = planned('change', () => ({
          servers: [`${name}-notes`, `${name}-time`].map(ref => ({ ref, body: { description: text } })),
          groups: [{ ref: name, body: { description: text } }],
        }))
        if (query.dryRun === 'true') return { body: await note.plan(actor, undefined) }
        return { body: await note.apply(actor, planHash, undefined) }
      },
    })
    return undefined
  },
})
