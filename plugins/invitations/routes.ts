import { HubError, type PluginContext } from 'patchbay/contract'
import { z } from 'zod'
import { type Invitations, thingsOf } from './invitations.ts'

const TAG = 'sharing'
const DAY_MS = 86_400_000
const DEFAULT_DAYS = 7
const MOST_DAYS = 90

const role = z.enum(['use', 'see', 'change'])
const kind = z.enum(['server', 'group'])
const thing = z.object({ kind, id: z.string(), ref: z.string(), name: z.string(), owner: z.string() })
const offer = z.object({
  by: z.string().meta({ description: 'The name of the user who invites' }),
  role,
  things: z.array(thing).meta({ description: 'What is given; things that the user no longer owns are left out' }),
  expiresAt: z.string(),
})
const invitation = z.object({
  id: z.string(),
  things: z.array(thing),
  role,
  uses: z.number(),
  used: z.number(),
  acceptedBy: z.array(z.string()),
  createdAt: z.string(),
  expiresAt: z.string(),
})
const token = z.strictObject({
  token: z.string().min(1).max(200).meta({ description: 'The part of the link behind `#`' }),
})
const exampleThing = { kind: 'server', id: '01JD7C9Q3F', ref: 'ada~notes', name: 'notes', owner: 'ada' }
const exampleOffer = { by: 'ada', role: 'use', things: [exampleThing], expiresAt: '2026-12-06T10:00:00.000Z' }
const example = {
  ...{ id: '5f0c…', things: [exampleThing], role: 'use', uses: 1, used: 1, acceptedBy: ['cleo'] },
  ...{ createdAt: '2026-11-29T10:00:00.000Z', expiresAt: '2026-12-06T10:00:00.000Z' },
}
const refusals = {
  404: { description: 'invitation_unknown' },
  410: { description: 'invitation_expired, invitation_used' },
}

/** Adds the routes of invitations. */
export function addRoutes(context: PluginContext<unknown>, invitations: Invitations): void {
  const { routes, shares, signIns } = context

  routes.add({
    ...{ method: 'GET', path: '/api/invitations', whole: true, access: 'user', tag: TAG },
    summary: 'Your invitations, without their links',
    answers: {
      200: {
        description: 'The newest first',
        schema: z.object({ items: z.array(invitation) }),
        example: { items: [example] },
      },
    },
    async handle({ actor }) {
      const rows = await invitations.list(actor.userId)
      const accepted = await invitations.acceptedBy(rows.map(({ id }) => id))
      const items = await Promise.all(
        rows.map(async row => {
          const things = await Promise.all(thingsOf(row).map(one => shares.stillOwned(actor.userId, one)))
          return {
            ...{ id: row.id, things: things.filter(one => one !== undefined), role: row.role },
            ...{ uses: row.uses, used: row.used, acceptedBy: accepted.get(row.id) ?? [] },
            ...{ createdAt: row.created_at, expiresAt: row.expires_at },
          }
        }),
      )
      return { body: { items } }
    },
  })

  routes.add({
    ...{ method: 'POST', path: '/api/invitations', whole: true, access: 'user', tag: TAG, audit: 'create' },
    summary: 'Make a link that shares servers and groups of yours with the people who accept it',
    body: z.strictObject({
      things: z
        .array(z.strictObject({ kind, ref: z.string().min(1).max(512) }))
        .min(1)
        .max(20),
      role,
      uses: z.number().int().min(1).max(100).default(1).meta({ description: 'The number of people who may accept it' }),
      expires: z
        .string()
        .max(64)
        .optional()
        .meta({
          format: 'date-time',
          description: `At most ${MOST_DAYS} days ahead; default ${DEFAULT_DAYS} days`,
        }),
    }),
    answers: {
      201: {
        description: 'The link, which is shown this once',
        schema: z.object({ id: z.string(), url: z.string(), expiresAt: z.string() }),
        example: { id: '5f0c…', url: 'https://hub.example/invite#pbi_…', expiresAt: '2026-12-06T10:00:00.000Z' },
      },
      403: { description: 'reauth_required' },
      409: { description: 'invitation_limit' },
    },
    async handle({ actor, body, baseUrl }) {
      signIns.requireProofOfSession(actor)
      const { row, token: secret } = await invitations.create(actor, body, endOf(body.expires))
      return { status: 201, body: { id: row.id, url: `${baseUrl}/invite#${secret}`, expiresAt: row.expires_at } }
    },
  })

  routes.add({
    ...{ method: 'DELETE', path: '/api/invitations/{id}', whole: true, access: 'user', tag: TAG, audit: 'delete' },
    summary: 'End an invitation; what was accepted stays shared',
    params: z.object({ id: z.string().max(64) }),
    answers: { 204: { description: 'Its link opens nothing any more' }, 404: { description: 'invitation_unknown' } },
    async handle({ actor, params }) {
      await invitations.remove(actor.userId, params.id)
      return { status: 204 }
    },
  })

  routes.add({
    ...{ method: 'POST', path: '/api/invitations/preview', whole: true, access: 'user', tag: TAG, reads: true },
    summary: 'What an invitation gives, and who invites',
    body: token,
    answers: { 200: { description: 'The offer', schema: offer, example: exampleOffer }, ...refusals },
    handle: async ({ actor, body }) => ({ body: await invitations.preview(actor, body.token) }),
  })

  routes.add({
    ...{ method: 'POST', path: '/api/invitations/accept', whole: true, access: 'user', tag: TAG, audit: 'accept' },
    summary: 'Accept an invitation; a greater role that you have stays',
    body: token,
    answers: { 200: { description: 'What is shared with you now', schema: offer, example: exampleOffer }, ...refusals },
    handle: async ({ actor, body }) => ({ body: await invitations.accept(actor, body.token) }),
  })
}

/** The end of an invitation, ISO 8601 UTC. Throws `validation_failed`. */
function endOf(expires: string | undefined): string {
  const nowMs = Date.now()
  const endMs = expires === undefined ? nowMs + DEFAULT_DAYS * DAY_MS : Date.parse(expires)
  if (endMs > nowMs && endMs <= nowMs + MOST_DAYS * DAY_MS) return new Date(endMs).toISOString()
  const detail = `must be a time within the next ${MOST_DAYS} days`
  throw new HubError('validation_failed', `"expires" ${detail}`, {
    errors: [{ pointer: '#/expires', code: 'range', detail }],
  })
}
