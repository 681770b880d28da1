import { HubError, type PluginContext, type ServerRecord, type UserActor } from 'patchbay/contract'
import type {} from 'patchbay/features'
import { requireSignIn, type StatedSettings } from 'patchbay/plugin-kit'
import { z } from 'zod'
import { removeEnded } from './ended.ts'
import type { LIMITS } from './errors.ts'
import { dayOf } from './meter.ts'
import type { Metered, Plans } from './plans.ts'
import { grantSubject, isEmpty, keySubject, type Quota, quotaSchema, toolSubject } from './quota.ts'
import type { PlanRow } from './tables.ts'
import type { Usage, UsageOf } from './usage.ts'

const TAG = 'quotas'
const DAY_MS = 86_400_000
const ref = z.object({ ref: z.string().max(512) })
const user = z.object({ name: z.string().max(256) })
const id = z.object({ id: z.string().min(1).max(64) })
const nullable = quotaSchema.nullable().meta({ description: 'null: no quota' })
const body = z.object({ quota: nullable })
const toolQuotas = z.record(z.string().min(1).max(256), quotaSchema)
const serverBody = z.object({
  quota: nullable.optional().meta({ description: 'null: no quota; absent: unchanged' }),
  tools: toolQuotas.optional().meta({ description: 'By the names of the server; absent: unchanged' }),
})
const used = z.object({ perMinute: z.number(), perDay: z.number(), atOnce: z.number(), resultTokensPerDay: z.number() })
const answer = z.object({ quota: quotaSchema.nullable(), used: used.optional() })
const toolAnswer = answer.extend({
  missing: z.literal(true).optional().meta({ description: 'The server has no tool of this name at present' }),
})
const serverAnswer = answer.extend({
  tools: z.record(z.string(), toolAnswer),
  warnings: z
    .array(z.string())
    .optional()
    .meta({ description: 'Quotas of tools that the server does not have, where its list is known' }),
})
const keyAnswer = answer.extend({
  behind: z
    .array(z.object({ id: z.string(), label: z.string().optional(), quota: quotaSchema, used }))
    .optional()
    .meta({ description: 'Quotas of keys from which it descends; those without a label are deleted' }),
})
const example = {
  quota: { perMinute: 60, perDay: 1_000 },
  used: { perMinute: 2, perDay: 410, atOnce: 1, resultTokensPerDay: 52_300 },
}

/** Adds the routes by which quotas are read and set. */
export function addQuotaRoutes(
  context: PluginContext<unknown>,
  plans: Plans,
  usage: Usage,
  portable: Pick<StatedSettings, 'refuseStated'>,
): void {
  const { routes, servers, groups, people, states } = context
  const limits = context.limits as typeof LIMITS

  const ownServer = (actor: UserActor, name: string) => servers.find(actor, name, 'owner')
  const ownGroup = (actor: UserActor, name: string) => groups.find(actor, name, 'owner')

  /** The key, which may be gone while others descend from it. */
  async function ownKey(actor: UserActor, keyId: string): Promise<void> {
    if (!(await people.keysBehind(actor.userId)).has(keyId))
      throw new HubError('key_not_found', `You have no access key ${JSON.stringify(keyId)}`)
  }

  /** A client is known by its calls while no plugin keeps a record of grants. */
  async function ownGrant({ userId }: UserActor, grantId: string): Promise<string> {
    const subject = grantSubject(userId, grantId)
    const known = await people.grants(userId)
    const isKnown = known ? known.some(grant => grant.id === grantId) : await hasCalled(userId, grantId)
    if (isKnown || (!known && plans.get(subject))) return subject
    throw context.error('quota_client_unknown', `You have no connected client ${JSON.stringify(grantId)}`)
  }

  async function hasCalled(userId: string, grantId: string): Promise<boolean> {
    const since = dayOf(Date.now() - (limits.usageDays - 1) * DAY_MS)
    return (await usage.sums({ by: 'day', userId, keyIds: [`grant:${grantId}`], since })).length > 0
  }

  /** Sets the quota of a thing, which counts what was used today where that is known. */
  async function set(row: Omit<PlanRow, 'quota'>, quota: Quota | null, of?: Omit<UsageOf, 'by' | 'since'>) {
    const today = dayOf(Date.now())
    const [sum] = of && !plans.get(row.id) ? await usage.sums({ ...of, by: 'day', since: today }) : []
    await plans.set(row, quota, { calls: sum?.calls ?? 0, tokens: sum?.result_tokens ?? 0 })
    return { body: shown(plans.get(row.id)) }
  }

  async function requireRoom(user_id: string, subject: string): Promise<void> {
    await removeEnded(people, plans, user_id)
    const known = (await plans.rows({ user_id })).filter(({ kind, id }) => kind !== 'user' && id !== subject)
    if (known.length < limits.quotasPerUser) return
    const message = `You have set ${known.length} quotas for keys and clients, at most ${limits.quotasPerUser}`
    throw context.error('quota_plans', message)
  }

  routes.add({
    ...{ method: 'GET', path: '/api/servers/{ref}/quota', whole: true, access: 'user', tag: TAG },
    summary: 'Quotas of a server and its tools, for its owner',
    params: ref,
    answers: {
      200: {
        description: 'The quotas, and what is used',
        schema: serverAnswer,
        example: { ...example, tools: { send_mail: { quota: { perDay: 20 }, used: { ...example.used, perDay: 3 } } } },
      },
    },
    async handle({ actor, params }) {
      return { body: await shownServer(actor, await ownServer(actor, params.ref)) }
    },
  })

  routes.add({
    ...{ method: 'PUT', path: '/api/servers/{ref}/quota', whole: true, access: 'user', tag: TAG },
    summary: 'Set quotas of a server and its tools; they hold for all callers together',
    params: ref,
    body: serverBody,
    answers: {
      200: {
        description: 'The quotas, and what is used',
        schema: serverAnswer,
        example: { ...example, tools: {} },
      },
      409: { description: 'quota_plans: too many tools with a quota' },
    },
    audit: 'server',
    async handle({ actor, params, body: { quota, tools } }) {
      const server = await ownServer(actor, params.ref)
      const { id: serverId } = server
      requireSignIn(actor, 'Quotas')
      portable.refuseStated({ kind: 'server', id: serverId })
      const { toolQuotasPerServer: most } = limits
      const count = Object.keys(tools ?? {}).length
      if (count > most) throw context.error('quota_plans', `${count} tools have a quota, at most ${most} may`)
      const base = { user_id: null, server_id: serverId, group_id: null }
      if (quota !== undefined) await set({ ...base, id: `server:${serverId}`, kind: 'server' }, quota, { serverId })
      if (tools) await setTools(serverId, tools)
      return { body: await shownServer(actor, server) }
    },
  })

  routes.add({
    ...{ method: 'GET', path: '/api/groups/{ref}/quota', whole: true, access: 'user', tag: TAG },
    summary: 'Quota of a group, for its owner',
    params: ref,
    answers: { 200: { description: 'The quota, and what is used', schema: answer, example } },
    async handle({ actor, params }) {
      const { id: groupId } = await ownGroup(actor, params.ref)
      return { body: shown(plans.get(`group:${groupId}`)) }
    },
  })

  routes.add({
    ...{ method: 'PUT', path: '/api/groups/{ref}/quota', whole: true, access: 'user', tag: TAG },
    summary: 'Set the quota of calls at the address of a group',
    params: ref,
    body,
    answers: { 200: { description: 'The quota, and what is used', schema: answer, example } },
    audit: 'group',
    async handle({ actor, params, body: { quota } }) {
      const { id: groupId } = await ownGroup(actor, params.ref)
      requireSignIn(actor, 'Quotas')
      portable.refuseStated({ kind: 'group', id: groupId })
      return set({ id: `group:${groupId}`, kind: 'group', user_id: null, server_id: null, group_id: groupId }, quota)
    },
  })

  routes.add({
    ...{ method: 'GET', path: '/api/keys/{id}/quota', whole: true, access: 'user', tag: TAG },
    summary: 'Quota of one of your access keys, and those of keys from which it descends',
    params: id,
    answers: { 200: { description: 'The quotas, and what is used', schema: keyAnswer, example } },
    async handle({ actor, params }) {
      await ownKey(actor, params.id)
      return { body: await shownKey(actor, params.id) }
    },
  })

  routes.add({
    ...{ method: 'PUT', path: '/api/keys/{id}/quota', whole: true, access: 'user', tag: TAG },
    summary: 'Set the quota of one of your access keys',
    params: id,
    body,
    answers: {
      200: { description: 'The quotas, and what is used', schema: keyAnswer, example },
      409: { description: 'quota_plans' },
    },
    audit: 'key',
    async handle({ actor, params, body: { quota } }) {
      await ownKey(actor, params.id)
      requireSignIn(actor, 'Quotas')
      const { userId } = actor
      const row = { id: keySubject(params.id), kind: 'key', user_id: userId, server_id: null, group_id: null } as const
      await requireRoom(userId, row.id)
      const descendants = (await people.keys(actor)).filter(({ makers }) => makers.includes(params.id))
      await set(row, quota, { userId, keyIds: [params.id, ...descendants.map(key => key.id)] })
      return { body: await shownKey(actor, params.id) }
    },
  })

  routes.add({
    ...{ method: 'GET', path: '/api/grants/{id}/quota', whole: true, access: 'user', tag: TAG },
    summary: 'Quota of a client that you have agreed to',
    params: id,
    answers: {
      200: { description: 'The quota, and what is used', schema: answer, example },
      404: { description: 'quota_client_unknown' },
    },
    async handle({ actor, params }) {
      return { body: shown(plans.get(await ownGrant(actor, params.id))) }
    },
  })

  routes.add({
    ...{ method: 'PUT', path: '/api/grants/{id}/quota', whole: true, access: 'user', tag: TAG },
    summary: 'Set the quota of a client that you have agreed to, by the id of what you agreed to',
    params: id,
    body,
    answers: {
      200: { description: 'The quota, and what is used', schema: answer, example },
      404: { description: 'quota_client_unknown' },
      409: { description: 'quota_plans' },
    },
    audit: 'grant',
    async handle({ actor, params, body: { quota } }) {
      requireSignIn(actor, 'Quotas')
      const subject = await ownGrant(actor, params.id)
      const row = { id: subject, kind: 'grant', user_id: actor.userId, server_id: null, group_id: null } as const
      await requireRoom(actor.userId, subject)
      return set(row, quota, { userId: actor.userId, keyIds: [`grant:${params.id}`] })
    },
  })

  routes.add({
    ...{ method: 'GET', path: '/api/admin/users/{name}/quota', whole: true, access: 'admin', tag: TAG },
    summary: 'Quota of a user',
    params: user,
    answers: { 200: { description: 'The quota, and what is used', schema: answer, example } },
    async handle({ actor, params }) {
      return { body: shown(plans.ofUser((await people.byName(actor, params.name)).id)) }
    },
  })

  routes.add({
    ...{ method: 'PUT', path: '/api/admin/users/{name}/quota', whole: true, access: 'admin', tag: TAG },
    summary: 'Set the quota of a user, in place of the one that all users have',
    params: user,
    body,
    answers: { 200: { description: 'The quota, and what is used', schema: answer, example } },
    audit: 'user',
    async handle({ actor, params, body: { quota } }) {
      const { id: userId } = await people.byName(actor, params.name)
      requireSignIn(actor, 'Quotas')
      portable.refuseStated({ kind: 'user', id: userId })
      const row = { id: `user:${userId}`, kind: 'user', user_id: userId, server_id: null, group_id: null } as const
      await set(row, quota, { userId })
      return { body: shown(plans.ofUser(userId)) }
    },
  })

  /** Sets the quotas of all tools of a server; those of others are removed. */
  async function setTools(serverId: string, tools: Readonly<Record<string, Quota>>): Promise<void> {
    const base = { kind: 'tool', user_id: null, server_id: serverId, group_id: null } as const
    const wanted = new Map(Object.entries(tools).map(([tool, one]) => [toolSubject(serverId, tool), { tool, one }]))
    for (const { id: subject } of await plans.rows({ server_id: serverId, kind: 'tool' }))
      if (!wanted.has(subject)) await plans.set({ ...base, id: subject }, null, { calls: 0, tokens: 0 })
    for (const [subject, { tool, one }] of wanted) await set({ ...base, id: subject }, one, { serverId, tool })
  }

  /** The quota of a key, with those of the keys from which it descends, against which its calls count too. */
  async function shownKey(actor: UserActor, keyId: string) {
    const keys = await people.keys(actor)
    const behind = (keys.find(key => key.id === keyId)?.makers ?? []).flatMap(maker => {
      const { quota, used: numbers } = shown(plans.get(keySubject(maker)))
      const label = keys.find(key => key.id === maker)?.label
      return quota && numbers ? [{ id: maker, ...(label === undefined ? {} : { label }), quota, used: numbers }] : []
    })
    return { ...shown(plans.get(keySubject(keyId))), ...(behind.length === 0 ? {} : { behind }) }
  }

  async function shownServer(actor: UserActor, { id: serverId, ownerName, name }: ServerRecord) {
    const rows = await plans.rows({ server_id: serverId, kind: 'tool' })
    const prefix = toolSubject(serverId, '')
    const known = rows.length === 0 ? undefined : await states.tools(actor, `${ownerName}~${name}`)
    const isMissing = (tool: string) => known !== undefined && !known.includes(tool)
    const tools = rows.map(({ id: subject }) => {
      const tool = subject.slice(prefix.length)
      return [tool, { ...shown(plans.get(subject)), ...(isMissing(tool) ? { missing: true } : {}) }] as const
    })
    const warnings = tools.flatMap(([tool]) => (isMissing(tool) ? [noSuchTool(name, tool)] : []))
    return {
      ...shown(plans.get(`server:${serverId}`)),
      tools: Object.fromEntries(tools),
      ...(warnings.length === 0 ? {} : { warnings }),
    }
  }
}

function noSuchTool(server: string, tool: string): string {
  const [at, of] = [server, tool].map(one => JSON.stringify(one))
  return `The server ${at} has no tool ${of} at present, so that the quota of this tool limits nothing: it counts by the name that the server gives the tool, not by a name of yours`
}

/** A quota with what is used of it; without a quota nothing is counted. */
export function shown(metered: Metered | undefined) {
  if (!metered || isEmpty(metered.plan.quota)) return { quota: null }
  return { quota: metered.plan.quota, used: metered.meter.used(Date.now()) }
}
