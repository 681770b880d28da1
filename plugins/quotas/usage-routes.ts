import { HubError, type PluginContext, type UserActor } from 'patchbay/contract'
import { z } from 'zod'
import { removeEnded } from './ended.ts'
import { foreignQuotas } from './foreign.ts'
import { dayOf } from './meter.ts'
import type { Plans } from './plans.ts'
import { quotaSchema } from './quota.ts'
import { shown } from './routes.ts'
import { BY, type Usage, type UsageSum } from './usage.ts'

const TAG = 'quotas'
const KINDS = ['system', 'user', 'key', 'grant', 'group', 'server', 'tool'] as const
const item = z.object({
  day: z.string().meta({ description: 'In UTC' }),
  key: z.string().optional().meta({ description: 'Id of the access key; `grant:…` of a client; empty for a session' }),
  user: z.string().optional(),
  server: z
    .string()
    .optional()
    .meta({ description: 'Owner and name; words for one that you do not see any more, as `unseen` says' }),
  unseen: z.literal(true).optional().meta({ description: 'The server was deleted, or you may not see it any more' }),
  tool: z.string().optional(),
  calls: z.number(),
  failures: z.number(),
  resultTokens: z.number().meta({ description: 'Four characters count as one' }),
})

/** Adds the routes that show what is used. */
export function addUsageRoutes(context: PluginContext<unknown>, plans: Plans, usage: Usage): void {
  const { routes, servers, groups } = context

  routes.add({
    ...{ method: 'GET', path: '/api/usage', whole: true, access: 'user', tag: TAG },
    summary: 'Calls, failures and tokens of results by day: your own, those of a server of yours, or of all',
    query: z.object({
      by: z.enum(Object.keys(BY) as [keyof typeof BY]).default('day'),
      range: z
        .string()
        .regex(/^([1-9]|[12]\d|3[01])d$/)
        .default('7d')
        .meta({ description: 'Days, today included: `1d` to `31d`' }),
      server: z.string().max(512).optional().meta({ description: 'All calls of a server, for its owner' }),
      all: z
        .enum(['true', 'false'])
        .default('false')
        .meta({ description: '`true`: of all users; administrators only' }),
    }),
    answers: {
      200: {
        description: 'The sums, newest day first, at most 1,000',
        schema: z.object({ items: z.array(item) }),
        example: { items: [{ day: '2026-11-29', server: 'ada~mail', calls: 41, failures: 2, resultTokens: 9_120 }] },
      },
      403: { description: 'not_owner, admin_only' },
    },
    async handle({ actor, query: { by, range, server, all } }) {
      const since = dayOf(Date.now() - (Number.parseInt(range, 10) - 1) * 86_400_000)
      const rows = await usage.sums({ by, since, ...(await whose(actor, server, all === 'true')) })
      const names = new Names(context, actor)
      return { body: { items: await Promise.all(rows.map(row => names.shown(row))) } }
    },
  })

  routes.add({
    ...{ method: 'GET', path: '/api/quotas', whole: true, access: 'user', tag: TAG },
    summary: 'All quotas that concern you, with what is used of them',
    answers: {
      200: {
        description:
          'The quotas of your account, keys, clients, groups, servers and tools, and of those of others that you may use; for administrators that of the hub',
        schema: z.object({
          items: z.array(
            z.object({
              of: z.enum(KINDS),
              id: z.string().optional(),
              name: z.string().optional(),
              owner: z.string().optional().meta({ description: 'Of a thing of somebody else' }),
              quota: quotaSchema,
              used: z.record(z.string(), z.number()).meta({
                description: 'By all callers; of things of others your own calls of the day, as far as they are known',
              }),
            }),
          ),
        }),
        example: {
          items: [
            {
              ...{ of: 'user', name: 'ada', quota: { perDay: 1_000 } },
              used: { perMinute: 2, perDay: 410, atOnce: 1, resultTokensPerDay: 52_300 },
            },
          ],
        },
      },
    },
    async handle({ actor }) {
      const found = await concerning(actor)
      const items = found.flatMap(({ subject, ...rest }) => {
        const { quota, used } = shown(rest.of === 'user' ? plans.ofUser(actor.userId) : plans.get(subject))
        return quota && used ? [{ ...rest, quota, used: { ...used } }] : []
      })
      const foreign = await foreignQuotas(context, plans, usage, actor)
      return { body: { items: [...items, ...foreign.map(one => ({ ...one, used: { ...one.used } }))] } }
    },
  })

  async function whose(actor: UserActor, server: string | undefined, all: boolean) {
    if (all && actor.role !== 'admin') throw new HubError('admin_only', 'Only administrators see the use of all users')
    if (server === undefined) return all ? {} : { userId: actor.userId }
    const found = await servers.find(actor, server, 'owner')
    return { serverId: found.id }
  }

  async function concerning(actor: UserActor) {
    await removeEnded(context.people, plans, actor.userId)
    const [own, ownKeys, clients = [], ownServers, ownGroups] = await Promise.all([
      plans.rows({ user_id: actor.userId }),
      context.people.keys(actor),
      context.people.grants(actor.userId),
      servers.list(actor),
      groups.list(actor),
    ])
    const keys = own.flatMap(({ id: subject, kind }) => {
      const id = subject.slice(subject.lastIndexOf(':') + 1)
      if (kind !== 'key' && kind !== 'grant') return []
      const name = (kind === 'key' ? ownKeys : clients).find(one => one.id === id)?.label
      return [{ of: kind, subject, id, ...(name === undefined ? {} : { name }) }]
    })
    const ofServers = await Promise.all(
      ownServers.map(async ({ id, name }) => {
        const tools = await plans.rows({ server_id: id, kind: 'tool' })
        return [
          { of: 'server' as const, subject: `server:${id}`, id, name },
          ...tools.map(({ id: subject }) => ({
            ...{ of: 'tool' as const, subject, id },
            name: subject.slice(`tool:${id}:`.length),
          })),
        ]
      }),
    )
    return [
      ...(actor.role === 'admin' ? [{ of: 'system' as const, subject: 'system' }] : []),
      { of: 'user' as const, subject: `user:${actor.userId}`, name: actor.name },
      ...keys,
      ...ownGroups.map(({ id, name }) => ({ of: 'group' as const, subject: `group:${id}`, id, name })),
      ...ofServers.flat(),
    ]
  }
}

/** Names of users and servers, each looked up once. */
class Names {
  readonly #context: PluginContext<unknown>
  readonly #actor: UserActor
  readonly #known = new Map<string, Promise<string>>()

  constructor(context: PluginContext<unknown>, actor: UserActor) {
    this.#context = context
    this.#actor = actor
  }

  async shown({ day, calls, failures, result_tokens: resultTokens, ...place }: UsageSum) {
    const { key_id: key, user_id: user, server_id: server, tool } = place
    return {
      day,
      ...(key === undefined ? {} : { key }),
      ...(user === undefined ? {} : { user: await this.#once(`u ${user}`, () => this.#user(user)) }),
      ...(server === undefined ? {} : await this.#serverOf(server)),
      ...(tool === undefined ? {} : { tool }),
      ...{ calls, failures, resultTokens },
    }
  }

  async #user(id: string): Promise<string> {
    return (await this.#context.people.byId(id))?.name ?? id
  }

  /** The part of its id keeps two servers that the reader does not see apart. */
  async #serverOf(id: string): Promise<{ readonly server: string; readonly unseen?: true }> {
    const name = await this.#once(`s ${id}`, () => this.#server(id))
    if (name !== '' || id === '') return { server: name }
    return { server: `a server that you no longer see (${id.slice(0, 8)})`, unseen: true }
  }

  /** Empty for one that is gone, or that the reader may not see. */
  async #server(id: string): Promise<string> {
    const found = id === '' ? undefined : await this.#context.registry.server(this.#actor, id)
    return found ? `${found.ownerName}~${found.name}` : ''
  }

  #once(key: string, find: () => Promise<string>): Promise<string> {
    const known = this.#known.get(key) ?? find()
    this.#known.set(key, known)
    return known
  }
}
