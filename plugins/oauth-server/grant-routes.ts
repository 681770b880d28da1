import type { PluginContext } from 'patchbay/contract'
import { z } from 'zod'
import { requireSession } from './consent.ts'
import type { Fail } from './errors.ts'
import { type Grants, targetOf } from './grants.ts'
import { type GrantRow, scopesOf } from './tables.ts'

const view = z.object({
  id: z.string(),
  client: z.object({ id: z.string(), name: z.string(), kind: z.string(), host: z.string().optional() }),
  redirectHost: z.string(),
  resource: z.string(),
  target: z.object({ kind: z.string(), id: z.string().optional(), name: z.string().optional() }),
  scopes: z.array(z.string()),
  createdAt: z.string(),
  lastUsedAt: z.string(),
  expiresAt: z.string(),
})
const EXAMPLE = {
  id: '8a5fd87e-14f0-4f5e-9d1b-1a0c0e5b7d11',
  client: { id: 'https://claude.ai/oauth/client', name: 'Claude', kind: 'document', host: 'claude.ai' },
  ...{ redirectHost: 'claude.ai', resource: 'https://hub.example/mcp', target: { kind: 'all' }, scopes: ['mcp:tools'] },
  ...{ createdAt: '2026-11-01T12:00:00.000Z', lastUsedAt: '2026-11-29T12:00:00.000Z' },
  expiresAt: '2027-04-30T12:00:00.000Z',
}

/** Adds the routes by which users see and end what they have agreed to. */
export function addGrantRoutes(context: PluginContext<unknown>, grants: Grants, fail: Fail): void {
  const { routes, registry } = context
  const common = { whole: true, access: 'user', tag: 'OAuth' } as const
  routes.add({
    ...common,
    method: 'GET',
    path: '/api/oauth/grants',
    summary: 'Your connected apps',
    answers: {
      200: {
        description: 'The newest first',
        schema: z.object({ items: z.array(view) }),
        example: { items: [EXAMPLE] },
      },
      403: { description: 'session_required for an access key' },
    },
    async handle({ actor }) {
      requireSession(actor)
      const rows = await grants.list(actor.userId)
      const named = rows.map(async row => {
        const target = targetOf(row)
        if (target.kind === 'all') return { ...shown(row), target }
        const found =
          target.kind === 'group' ? await registry.groupById(actor, target.id) : await registry.server(actor, target.id)
        return { ...shown(row), target: { ...target, ...(found ? { name: found.name } : {}) } }
      })
      return { body: { items: await Promise.all(named) } }
    },
  })
  routes.add({
    ...common,
    method: 'DELETE',
    path: '/api/oauth/grants/{id}',
    params: z.object({ id: z.string().max(64) }),
    summary: 'Disconnect an app: its tokens open nothing any more',
    answers: { 204: { description: 'It has ended' }, 404: { description: 'grant_not_found' } },
    async handle({ actor, params }) {
      requireSession(actor)
      const ended = await grants.end({ id: params.id, userId: actor.userId })
      if (ended === 0) throw fail('grant_not_found', `There is no connected app "${params.id.slice(0, 64)}" of yours`)
      return { status: 204 }
    },
  })
}

function shown(row: GrantRow) {
  const { client_id: clientId, client_kind: kind } = row
  const host = kind === 'document' ? { host: new URL(clientId).host } : {}
  return {
    id: row.id,
    client: { id: clientId, name: row.client_name, kind, ...host },
    redirectHost: row.redirect_host,
    resource: row.resource,
    scopes: scopesOf(row.scopes),
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  }
}
