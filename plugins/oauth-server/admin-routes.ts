import { randomBytes } from 'node:crypto'
import { HubError, type PluginContext } from 'patchbay/contract'
import { z } from 'zod'
import { secretHash } from './client-proof.ts'
import { hashOf, shownName } from './clients.ts'
import type { OAuthServerConfig } from './config.ts'
import { requireSession } from './consent.ts'
import type { Fail } from './errors.ts'
import type { Grants } from './grants.ts'
import { isUsable } from './redirects.ts'
import type { ListedRow, Tables } from './tables.ts'

const name = z.string().min(1).max(60)
const redirectUris = z.array(z.string().min(1).max(512)).min(1).max(50)
const method = z.enum(['none', 'client_secret_post', 'client_secret_basic'])
const id = z.object({ id: z.string().max(64) })
const view = z.object({
  id: z.string(),
  clientId: z.string(),
  name: z.string(),
  kind: z.enum(['document', 'registered', 'listed']),
  host: z.string().optional(),
  redirectUris: z.array(z.string()).optional(),
  method: z.string().optional(),
  grants: z.number(),
  blocked: z.boolean(),
  createdAt: z.string().optional(),
})
const EXAMPLE = {
  ...{ id: 'pbl_Zm9vYmFyYmF6cXV4', clientId: 'pbl_Zm9vYmFyYmF6cXV4', name: 'ChatGPT', kind: 'listed' },
  ...{ redirectUris: ['https://chatgpt.com/connector/oauth/abc'], method: 'client_secret_post' },
  ...{ grants: 2, blocked: false, createdAt: '2026-11-29T12:00:00.000Z' },
}
type View = z.infer<typeof view>

interface AdminDeps {
  readonly tables: Tables
  readonly grants: Grants
  readonly config: OAuthServerConfig
  readonly fail: Fail
  readonly most: number
}

/** Adds the routes by which administrators list, block and remove clients. */
export function addAdminRoutes(context: PluginContext<unknown>, deps: AdminDeps): void {
  const { routes, signIns } = context
  const { tables, grants, fail } = deps
  const common = { whole: true, access: 'admin', tag: 'OAuth' } as const
  const path = '/api/admin/oauth/clients'
  const one = { ...common, path: `${path}/{id}`, params: id }
  const absent = { 404: { description: 'client_not_found' } }

  const found = async (wanted: string): Promise<View> => {
    const client = (await views(tables)).find(each => each.id === wanted)
    if (client) return client
    throw fail('client_not_found', `There is no client "${wanted.slice(0, 64)}"`)
  }

  routes.add({
    ...common,
    method: 'GET',
    path,
    summary: 'Clients that administrators have listed, that users have agreed to, and that are blocked',
    answers: {
      200: { description: 'By name', schema: z.object({ items: z.array(view) }), example: { items: [EXAMPLE] } },
    },
    async handle({ actor }) {
      requireSession(actor)
      return { body: { items: await views(tables) } }
    },
  })
  routes.add({
    ...common,
    method: 'POST',
    path,
    summary: 'List a client; a secret is shown once',
    body: z.strictObject({ name, redirectUris, method: method.default('none') }),
    answers: {
      201: {
        description: 'The client',
        schema: view.extend({ secret: z.string().optional() }),
        example: { ...EXAMPLE, secret: 'pbs_…' },
      },
      403: { description: 'reauth_required' },
      409: { description: 'quota_records' },
    },
    audit: 'client_create',
    async handle({ body, actor }) {
      requireSession(actor)
      signIns.requireProof(actor)
      checkRedirects(body.redirectUris, deps.config)
      const secret = body.method === 'none' ? undefined : `pbs_${randomBytes(32).toString('base64url')}`
      const row: ListedRow = {
        id: `pbl_${randomBytes(12).toString('base64url')}`,
        name: shownName(body.name),
        redirect_uris: JSON.stringify(body.redirectUris),
        method: body.method,
        secret_hash: secret === undefined ? null : secretHash(secret),
        created_at: new Date().toISOString(),
      }
      await tables.write(async db => {
        const { count } = await db
          .selectFrom('clients')
          .select(eb => eb.fn.countAll<number>().as('count'))
          .executeTakeFirstOrThrow()
        if (Number(count) >= deps.most)
          throw new HubError('quota_records', `There are ${deps.most} listed clients already, which is the most`)
        await db.insertInto('clients').values(row).execute()
      })
      return { status: 201, body: { ...listedView(row, 0, false), ...(secret === undefined ? {} : { secret }) } }
    },
  })
  routes.add({
    ...one,
    method: 'PATCH',
    summary: 'Change a listed client, or block any client, which ends what users have agreed to for it',
    body: z.strictObject({
      name: name.optional(),
      redirectUris: redirectUris.optional(),
      blocked: z.boolean().optional(),
    }),
    answers: {
      200: { description: 'The client', schema: view, example: EXAMPLE },
      403: { description: 'reauth_required' },
      ...absent,
    },
    audit: 'client_update',
    async handle({ params, body, actor }) {
      requireSession(actor)
      const client = await found(params.id)
      const { blocked, name: newName, redirectUris: uris } = body
      // To block a client takes rights away.
      if (newName !== undefined || uris || blocked === false) signIns.requireProof(actor)
      if (client.kind !== 'listed' && (newName !== undefined || uris))
        throw new HubError('validation_failed', 'Only a listed client has a name and addresses to change', {
          errors: [{ pointer: '#/name', code: 'read_only', detail: 'The client itself says this' }],
        })
      if (uris) checkRedirects(uris, deps.config)
      await tables.write(async db => {
        const change = {
          ...(newName === undefined ? {} : { name: shownName(newName) }),
          ...(uris ? { redirect_uris: JSON.stringify(uris) } : {}),
        }
        if (Object.keys(change).length > 0)
          await db.updateTable('clients').set(change).where('id', '=', client.id).execute()
        const hash = hashOf(client.clientId)
        if (blocked !== undefined) await db.deleteFrom('blocks').where('hash', '=', hash).execute()
        if (blocked === true) {
          const row = { hash, client_id: client.clientId, name: client.name, created_at: new Date().toISOString() }
          await db.insertInto('blocks').values(row).execute()
        }
      })
      if (blocked === true) await grants.end({ clientId: client.clientId })
      const after = (await views(tables)).find(each => each.id === client.id)
      return { body: after ?? { ...client, blocked: false, grants: 0 } }
    },
  })
  routes.add({
    ...one,
    method: 'DELETE',
    summary: 'Remove a listed client, or end what users have agreed to for another one',
    answers: { 204: { description: 'It is gone' }, ...absent },
    audit: 'client_delete',
    async handle({ params, actor }) {
      requireSession(actor)
      const client = await found(params.id)
      await tables.write(db => db.deleteFrom('clients').where('id', '=', client.id).execute())
      await grants.end({ clientId: client.clientId })
      return { status: 204 }
    },
  })
}

/** Throws `validation_failed` at each address to which no answer may go. */
function checkRedirects(uris: readonly string[], config: OAuthServerConfig): void {
  const errors = uris.flatMap((uri, index) =>
    isUsable(uri, config)
      ? []
      : [
          {
            pointer: `#/redirectUris/${index}`,
            code: 'format' as const,
            detail: 'It is neither https, nor of this device, nor of a known scheme',
          },
        ],
  )
  if (errors.length > 0) throw new HubError('validation_failed', 'The redirect URIs cannot be used', { errors })
}

async function views(tables: Tables): Promise<readonly View[]> {
  const { listed, granted, blocks } = await tables.read(async db => ({
    listed: await db.selectFrom('clients').selectAll().execute(),
    granted: await db
      .selectFrom('grants')
      .select(['client_id', 'client_name', 'client_kind', eb => eb.fn.countAll<number>().as('count')])
      .where('generation', '>', 0)
      .groupBy(['client_id', 'client_name', 'client_kind'])
      .execute(),
    blocks: await db.selectFrom('blocks').selectAll().execute(),
  }))
  const blocked = new Set(blocks.map(({ hash }) => hash))
  const counts = new Map<string, number>()
  for (const { client_id, count } of granted) counts.set(client_id, (counts.get(client_id) ?? 0) + Number(count))
  const all = new Map<string, View>()
  for (const row of listed) all.set(row.id, listedView(row, counts.get(row.id) ?? 0, blocked.has(hashOf(row.id))))
  const others = [
    ...granted.map(row => ({ clientId: row.client_id, name: row.client_name })),
    ...blocks.map(row => ({ clientId: row.client_id, name: row.name })),
  ]
  for (const { clientId, name: shown } of others) {
    if (all.has(clientId)) continue
    const isDocument = clientId.startsWith('https:')
    all.set(clientId, {
      ...{ id: hashOf(clientId), clientId, name: shown, kind: isDocument ? 'document' : 'registered' },
      ...(isDocument ? { host: new URL(clientId).host } : {}),
      ...{ grants: counts.get(clientId) ?? 0, blocked: blocked.has(hashOf(clientId)) },
    })
  }
  return [...all.values()].sort((a, b) => a.name.localeCompare(b.name, 'en') || a.id.localeCompare(b.id, 'en'))
}

function listedView(row: ListedRow, grants: number, blocked: boolean): View {
  return {
    ...{ id: row.id, clientId: row.id, name: row.name, kind: 'listed', method: row.method, grants, blocked },
    ...{ redirectUris: JSON.parse(row.redirect_uris) as string[], createdAt: row.created_at },
  }
}
