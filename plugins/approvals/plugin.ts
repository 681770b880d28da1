import { definePlugin } from 'patchbay/contract'
import type {} from 'patchbay/features'
import { z } from 'zod'
import { Access } from './access.ts'
import { Announcer } from './announcer.ts'
import { Decisions } from './decisions.ts'
import { ERRORS, LIMITS } from './errors.ts'
import { ApprovalGate } from './gate.ts'
import { Messages } from './messages.ts'
import { Policies } from './policies.ts'
import { addPolicyRoutes } from './policy-routes.ts'
import { PortableRules } from './portable.ts'
import { type RequestChanged, Requests } from './requests.ts'
import { addRoutes } from './routes.ts'
import { policySchema } from './rule-schema.ts'
import { ApprovalStore } from './store.ts'
import { type ApprovalTables, first, second, third } from './tables.ts'
import { TeamNames } from './team-names.ts'
import { Trail } from './trail.ts'
import type {} from './types.ts'
import { words } from './words.zh.ts'

const config = policySchema
  .partial()
  .extend({
    holdSeconds: z
      .number()
      .int()
      .min(1)
      .max(50)
      .default(50)
      .meta({
        title: 'Seconds for which a call is held',
        description: 'Of clients that cannot be asked; they send the call again afterwards.',
        'x-zh': { title: '调用等待的秒数', description: '适用于无法询问的客户端；之后客户端需重新发送调用。' },
      }),
  })
  .meta({
    title: 'Approvals',
    description: 'Rules for the calls of all servers.',
    'x-zh': { title: '审批', description: '适用于所有服务器调用的规则。' },
  })

const SWEEP_MS = 1_000
const CREDENTIALS_MS = 2_000
const PRUNE_MS = 60_000

/** Lets calls wait for a person, by rules of the hub, of groups and of servers. */
export default definePlugin<z.infer<typeof config> | undefined>({
  name: 'approvals',
  contract: 1,
  config: config.optional(),
  claims: ['/api/servers/{ref}/approvals', '/api/groups/{ref}/approvals', '/api/approvals/*'],
  limits: LIMITS,
  errors: ERRORS,
  words,
  events: { 'approvals.requested': { audience: 'owner' }, 'approvals.decided': { audience: 'owner' } },
  attachedSettings: { approvals: ['server', 'group'] },
  migrations: { '0001-approvals': first, '0002-decisions': second, '0003-names': third },
  async setup(context) {
    const limits = context.limits as typeof LIMITS
    const { rules = [], trustAnnotations, holdSeconds = 50 } = context.config ?? {}
    const system = { rules, ...(trustAnnotations === undefined ? {} : { trustAnnotations }) }
    const policies = new Policies(context.tables<ApprovalTables>(), system)
    const store = new ApprovalStore(context)
    const decisions = new Decisions(store)
    const trail = new Trail(context)
    const messages = new Messages(context)
    const announcer = new Announcer(context, messages)
    const [unended, kept] = await Promise.all([store.endAll(), store.decisions(), policies.load()])
    decisions.load(kept)
    await trail.found(unended)
    const changed: RequestChanged = (request, change) => {
      store.keep(request, change)
      const isOpen = request.state === 'pending'
      if (isOpen) trail.asked(request)
      else if (request.state === 'expired') trail.ended(request)
      const work = isOpen ? announcer.begun(request) : announcer.ended(request)
      work.catch(error => context.log.warn('Nobody was notified of a request', { error: String(error) }))
    }
    const most = { perUser: limits.pendingApprovalsPerUser, inAll: limits.pendingApprovals }
    const requests = new Requests(most, decisions, changed)
    const parts = { policies, requests, decisions, trail, heldMs: holdSeconds * 1_000 }
    context.contribute('callGate', 'approvals', new ApprovalGate(context, parts))
    context.contribute('builtPage', 'approvals', { access: 'user' })
    const portable = new PortableRules(policies)
    context.contribute('attachedSettings', 'approvals', portable)
    await new TeamNames(context, policies, portable, { rules }).load()
    addPolicyRoutes(context, policies, portable)
    addRoutes(context, { requests, store, trail })
    const access = new Access(context, requests)
    context.jobs.every(SWEEP_MS, async () => {
      requests.sweep()
      messages.sweep()
    })
    context.jobs.every(CREDENTIALS_MS, () => access.checkCredentials())
    context.jobs.every(PRUNE_MS, async () => store.prune())
    context.events.on('server.removed', ({ data: { serverId, transferred } }) => {
      if (!transferred) policies.forget(`server:${serverId}`)
      decisions.forget(one => one.serverId === serverId)
    })
    context.events.on('group.removed', ({ data }) => {
      if (!data.transferred) policies.forget(`group:${data.groupId}`)
    })
    context.events.on('user.removed', ({ data: { userId } }) => {
      decisions.forget(one => one.userId === userId)
    })
    return async () => {
      requests.end(() => true, 'restart')
      await store.flush()
    }
  },
})
