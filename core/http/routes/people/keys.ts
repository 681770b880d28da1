import { z } from 'zod'
import type { JsonValue } from '../../../contract/json.ts'
import type { UserActor } from '../../../contract/records.ts'
import type { KeyRecord, Registry } from '../../../registry/api.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { type Route, route } from '../../route.ts'
import { anyJson, exampleList, listOf, pageFields, timestamp } from '../schemas.ts'
import { page } from '../views.ts'

/** Dependencies of the routes of access keys. */
export interface KeyRoutesDeps {
  readonly registry: Pick<Registry, 'keys' | 'audit'>
}

const tag = 'keys'
const ref = z.string().min(1).max(256)
/** 30 days. */
const LONGEST_OVERLAP_S = 30 * 24 * 60 * 60
const scope = z.union([
  z.enum(['api', 'api:read', 'mcp']),
  z.strictObject({ group: ref }),
  z.strictObject({ server: ref }),
])

const { $schema, ...scopeSchema } = z.toJSONSchema(scope)

const key = z.object({
  id: z.string(),
  label: z.string(),
  last4: z.string(),
  scopes: z.array(scope),
  createdAt: timestamp,
  expiresAt: timestamp.optional(),
  lastUsedAt: timestamp.optional(),
})
const keyWithSecret = key.extend({ secret: z.string().meta({ description: 'Shown this once' }) })

const exampleKey = {
  id: '01JD7CZZ0Q',
  label: 'laptop',
  last4: '8fQ2',
  scopes: ['mcp'],
  createdAt: '2026-11-21T09:30:00.000Z',
}
const exampleWithSecret = { ...exampleKey, secret: `pb_${'x'.repeat(39)}8fQ2` }

/** Access keys: credentials for programs, with scopes, valid until they are deleted or expire. */
export function keyRoutes(deps: KeyRoutesDeps): Route[] {
  return [listRoute(deps), createRoute(deps), rotateRoute(deps), removeRoute(deps)]
}

function listRoute({ registry }: KeyRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/keys',
    access: 'user',
    summary: 'Your access keys, without their secrets',
    tag,
    query: z.strictObject({
      owner: z.string().max(256).optional().meta({ description: 'Another user; administrators only' }),
      ...pageFields,
    }),
    responses: { 200: { description: 'A page of keys', schema: listOf(key), example: exampleList(exampleKey) } },
    async handle({ actor, query }) {
      const { items, ...cut } = page(await registry.keys.list(actor, query.owner), query)
      const shown = items.map(async record => keyView(record, await registry.keys.publicScopes(actor, record)))
      return { body: { items: await Promise.all(shown), ...cut } }
    },
  })
}

function createRoute(deps: KeyRoutesDeps): Route {
  const { registry } = deps
  return route({
    method: 'POST',
    path: '/api/keys',
    access: 'user',
    summary: 'Make an access key; its secret is in this answer and nowhere else',
    tag,
    body: z
      .strictObject({
        label: z.string(),
        // Validated by the registry, which can resolve the refs in scopes.
        scopes: z.array(anyJson).default(['mcp']).meta({
          items: scopeSchema,
          description: '`mcp` is all that you may use under /mcp; a group or server only that',
        }),
        expiresAt: z.string().max(64).optional().meta({ format: 'date-time' }),
      })
      .meta({ examples: [{ label: 'laptop', scopes: ['mcp'] }] }),
    responses: { 201: { description: 'The key', schema: keyWithSecret, example: exampleWithSecret } },
    async handle({ actor, body, info }) {
      const { label, scopes, expiresAt } = body
      const made = await registry.keys.create(actor, {
        label,
        scopes,
        ...(expiresAt === undefined ? {} : { expiresAt }),
      })
      note(deps, actor, info, 'key.create', made.key)
      return {
        status: 201,
        headers: { location: `${info.baseUrl}/api/keys/${encodeURIComponent(made.key.id)}` },
        body: { ...keyView(made.key, made.scopes), secret: made.secret },
      }
    },
  })
}

function rotateRoute(deps: KeyRoutesDeps): Route {
  const { registry } = deps
  return route({
    method: 'POST',
    path: '/api/keys/{id}/rotate',
    access: 'user',
    summary: 'A new secret for a key; the old one ends now, or after `overlapSeconds`',
    tag,
    params: z.object({ id: z.string().min(1).max(64) }),
    body: z
      .strictObject({
        overlapSeconds: z.int().min(0).max(LONGEST_OVERLAP_S).default(0).meta({
          description:
            'With more than 0 the answer is a new key with the same label, scopes and expiry, and the old one still works for this time; its open connections are closed, and may be opened again',
        }),
      })
      .default({ overlapSeconds: 0 })
      .meta({ examples: [{ overlapSeconds: 86_400 }] }),
    responses: { 200: { description: 'The key', schema: keyWithSecret, example: exampleWithSecret } },
    async handle({ actor, params, body, info }) {
      const rotated = await registry.keys.rotate(actor, params.id, body.overlapSeconds * 1000)
      note(deps, actor, info, 'key.rotate', rotated.key)
      return { body: { ...keyView(rotated.key, rotated.scopes), secret: rotated.secret } }
    },
  })
}

function removeRoute(deps: KeyRoutesDeps): Route {
  const { registry } = deps
  return route({
    method: 'DELETE',
    path: '/api/keys/{id}',
    access: 'user',
    summary: 'Delete a key; sessions and streams that it opened end within 5 s',
    tag,
    params: z.object({ id: z.string().min(1).max(64) }),
    responses: { 204: { description: 'Gone' } },
    async handle({ actor, params, info }) {
      note(deps, actor, info, 'key.delete', await registry.keys.remove(actor, params.id))
      return { status: 204 }
    },
  })
}

function keyView(record: KeyRecord, scopes: readonly JsonValue[]) {
  const { id, label, last4, createdAt, expiresAt, lastUsedAt } = record
  return {
    id,
    label,
    last4,
    scopes,
    createdAt,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt }),
  }
}

function note(
  { registry }: KeyRoutesDeps,
  actor: UserActor,
  request: RequestInfo,
  action: string,
  { id, label, ownerId }: KeyRecord,
): void {
  registry.audit.record(actor, { action, target: id, ownerId, request, detail: { label } })
}
