import type { PluginContext, UserActor } from 'patchbay/contract'
import type {} from 'patchbay/features'
import { z } from 'zod'
import type { ApprovalRequest, Asked, Requests } from './requests.ts'
import type { ApprovalStore } from './store.ts'
import type { ApprovalRow } from './tables.ts'
import type { Trail } from './trail.ts'

const TAG = 'approvals'
const STATES = ['pending', 'approved', 'denied', 'expired'] as const
const id = z.object({ id: z.string().max(64) })
const approval = z.object({
  id: z.string(),
  server: z.string().optional().meta({ description: 'Its owner and name; absent where you may not see it' }),
  group: z.string().optional().meta({ description: 'Owner and name of the group at whose address it was called' }),
  tool: z.string().meta({ description: 'As its server names it; as you called it where you may not see the server' }),
  arguments: z.record(z.string(), z.unknown()).optional().meta({
    description: 'Without what looks like a secret, at most 8 KiB; absent once the request was decided',
  }),
  caller: z.string(),
  client: z.string(),
  count: z.number().meta({ description: 'Equal calls that wait; a yes is for one of them' }),
  createdAt: z.string(),
  expiresAt: z.string(),
  state: z.enum(STATES),
  decidedBy: z.string().optional(),
  decidedAt: z.string().optional(),
  note: z.string().optional(),
  reason: z.enum(['restart', 'access_ended']).optional().meta({
    description:
      '`restart`: the hub was started again while it waited. `access_ended`: its caller lost the access, or the server its owner',
  }),
  mayDecide: z.boolean().meta({ description: 'True while it waits for you; an access key cannot decide' }),
  team: z.string().optional().meta({ description: 'The team that decides, while the request waits' }),
  rememberSeconds: z.number().optional().meta({
    description: 'Time for which you may allow the same call again without a question',
  }),
})
const example = {
  ...{ id: '5f0c…', server: 'ada~mail', tool: 'send_mail', arguments: { to: 'bo@example.com', amount: 120 } },
  ...{ caller: 'bo', client: 'claude-code', count: 1, createdAt: '2026-11-29T10:00:00.000Z' },
  ...{ expiresAt: '2026-11-29T10:10:00.000Z', state: 'pending', mayDecide: true },
} as const

/** Acts as the hub where a name is shown to somebody who decides. */
const HUB = { kind: 'system', purpose: 'approvals' } as const

type Named = Readonly<Record<'ownerName' | 'name', string>>

/** The parts of the plugin that the routes use. */
interface RouteParts {
  readonly requests: Requests
  readonly store: ApprovalStore
  readonly trail: Trail
}

/** Adds the routes of requests. */
export function addRoutes(context: PluginContext<unknown>, { requests, store, trail }: RouteParts): void {
  const { routes, people, registry, teams } = context

  routes.add({
    ...{ method: 'GET', path: '/api/approvals', whole: true, access: 'user', tag: TAG },
    summary: 'Calls that wait for a decision of yours or that you made, and those that were decided',
    query: z.object({
      state: z.enum(STATES).optional(),
      limit: z.coerce.number().int().min(0).max(1_000).default(1_000).meta({
        description: 'Most items; 0 returns only the number of pending requests that you may decide',
      }),
    }),
    answers: {
      200: {
        description: 'Those that wait, then at most 200 others; of either the newest first',
        schema: z.object({
          items: z.array(approval),
          waiting: z.number().meta({ description: 'Number of pending requests that you may decide' }),
        }),
        example: { items: [example], waiting: 1 },
      },
    },
    async handle({ actor, query: { state, limit } }) {
      const waiting = requests.pending.filter(({ asked }) => waitsFor(actor, asked)).length
      if (limit === 0) return { body: { items: [], waiting } }
      const rows = await store.list(actor.userId, teams.of(actor.userId), state)
      return { body: { items: await Promise.all(rows.slice(0, limit).map(row => shown(row, actor))), waiting } }
    },
  })

  routes.add({
    ...{ method: 'GET', path: '/api/approvals/{id}', whole: true, access: 'user', tag: TAG },
    summary: 'One request',
    params: id,
    answers: {
      200: { description: 'The request', schema: approval, example },
      404: { description: 'approval_not_found' },
    },
    async handle({ actor, params }) {
      return { body: await shown(await found(actor, params.id), actor) }
    },
  })

  routes.add({
    ...{ method: 'POST', path: '/api/approvals/{id}', whole: true, access: 'user', tag: TAG },
    summary: 'Allow or deny a call; a yes is for one call within ten minutes',
    params: id,
    body: z.object({
      decision: z.enum(['approve', 'deny']),
      remember: z.boolean().optional().meta({
        description: 'Allow the same call, with the same arguments, for as long as the rule permits',
      }),
      note: z.string().max(500).optional(),
    }),
    answers: {
      200: {
        description: 'The request',
        schema: approval,
        example: { ...example, state: 'approved', mayDecide: false },
      },
      403: { description: 'approval_foreign: somebody else decides, or the credential is an access key' },
      404: { description: 'approval_not_found' },
      409: { description: 'approval_decided' },
    },
    async handle({ actor, params, body: { decision, remember = false, note }, requestId, clientAddress }) {
      const row = await found(actor, params.id)
      if (!decides(actor, row)) throw context.error('approval_foreign', 'Another user decides this request')
      // An agent has the keys of its user, and would allow its own calls.
      if (actor.credential.kind !== 'session')
        throw context.error('approval_foreign', 'A request is decided with a sign-in, and not with an access key')
      const request = requests.byId(row.id)
      const state = decision === 'approve' ? 'approved' : 'denied'
      if (!request || !requests.decide(request, { state, by: actor.name, remember, note }))
        throw context.error(
          'approval_decided',
          `The request was decided before: it is ${(await found(actor, row.id)).state}`,
        )
      trail.decided(actor, request, 'console', { remember }, { requestId, clientAddress })
      return { body: await shown(await found(actor, row.id), actor) }
    },
  })

  async function found(actor: UserActor, requestId: string): Promise<ApprovalRow> {
    const row = await store.byId(requestId)
    if (!row || (row.user_id !== actor.userId && !decides(actor, row)))
      throw context.error('approval_not_found', `There is no request ${JSON.stringify(requestId)} of yours`)
    return row
  }

  /**
   * The user named by the rule decides; administrators may decide for owners. Of a team the present members do, without the one who
   * made the call.
   */
  function decides({ userId, role }: UserActor, { decider_id, user_id, team_id, who }: ApprovalRow): boolean {
    if (who === 'team') return userId !== user_id && team_id !== null && teams.of(userId).includes(team_id)
    return decider_id === userId || (role === 'admin' && who === 'owner')
  }

  /** True for a request in the list of a user who decides it; administrators find those of owners by their links. */
  function waitsFor({ userId }: UserActor, { teamId, ask, caller }: Asked): boolean {
    if (teamId === undefined) return ask.deciderId === userId
    return userId !== caller.userId && teams.of(userId).includes(teamId)
  }

  async function shown(row: ApprovalRow, actor: UserActor) {
    const request: ApprovalRequest | undefined = requests.byId(row.id)
    const isDecider = decides(actor, row)
    const [server, caller, team] = await Promise.all([
      // A member of a team decides about servers of others too, and knows their names from that. A caller who confirms does not.
      registry.server(isDecider && row.who !== 'caller' ? HUB : actor, row.server_id),
      people.byId(row.user_id),
      row.team_id === null ? undefined : teams.byId(row.team_id),
    ])
    return {
      id: row.id,
      ...namesOf(row, server),
      ...{ caller: caller?.name ?? '', client: row.client, count: request?.count ?? row.count },
      ...{ createdAt: row.created_at, expiresAt: row.expires_at, state: row.state },
      ...decisionOf(row),
      ...waitingOf(request, isDecider, team?.name),
    }
  }
}

/** The names of a request for a reader who may see the server, or else only knows what was called. */
function namesOf({ tool, called, via }: ApprovalRow, server: Named | undefined) {
  return {
    ...(server ? { server: `${server.ownerName}~${server.name}` } : {}),
    ...(via === null ? {} : { group: via }),
    tool: server ? tool : (called ?? tool),
  }
}

function decisionOf({ decided_by, decided_at, note, reason }: ApprovalRow) {
  return {
    ...(reason === null ? {} : { reason }),
    ...(decided_by === null ? {} : { decidedBy: decided_by }),
    ...(decided_at === null ? {} : { decidedAt: decided_at }),
    ...(note === null ? {} : { note }),
  }
}

/** Members of a request that waits; those who decide see the arguments, and callers their own. */
function waitingOf(request: ApprovalRequest | undefined, isDecider: boolean, team: string | undefined) {
  if (!request) return { mayDecide: false }
  const { ask, shown } = request.asked
  const mayRead = isDecider || ask.who === 'caller'
  return {
    mayDecide: isDecider,
    ...(ask.team === undefined ? {} : { team: team ?? ask.team }),
    ...(mayRead ? { arguments: shown } : {}),
    ...(isDecider && ask.rememberMs > 0 ? { rememberSeconds: ask.rememberMs / 1_000 } : {}),
  }
}
