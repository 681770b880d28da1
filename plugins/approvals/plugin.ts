import { definePlugin } from 'patchbay/contract'
import type {} from 'patchbay/features'
import { z } from 'zod'
import { ERRORS, LIMITS } from './errors.ts'
import { ApprovalGate } from './gate.ts'
import { Policies } from './policies.ts'
import { addPolicyRoutes } from './policy-routes.ts'
import { PortableRules } from './portable.ts'
import { type ApprovalRequest, Requests } from './requests.ts'
import { addRoutes } from './routes.ts'
import { policySchema } from './rule-schema.ts'
import { ApprovalStore } from './store.ts'
import { type ApprovalTables, first } from './tables.ts'
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
  migrations: { '0001-approvals': first },
  async setup(context) {
    const limits = context.limits as typeof LIMITS
    const { rules = [], trustAnnotations, holdSeconds = 50 } = context.config ?? {}
    const system = { rules, ...(trustAnnotations === undefined ? {} : { trustAnnotations }) }
    const policies = new Policies(context.tables<ApprovalTables>(), system)
    const store = new ApprovalStore(context)
    await Promise.all([policies.load(), store.expireAll()])
    const requests = new Requests(
      { perUser: limits.pendingApprovalsPerUser, inAll: limits.pendingApprovals },
      (request: ApprovalRequest) => {
        void store.keep(request)
        notify(request)
      },
    )
    context.contribute('callGate', 'approvals', new ApprovalGate(context, policies, requests, holdSeconds * 1_000))
    context.contribute('builtPage', 'approvals', { access: 'user' })
    const portable = new PortableRules(policies)
    context.contribute('attachedSettings', 'approvals', portable)
    addPolicyRoutes(context, policies, portable)
    addRoutes(context, requests, store)
    context.jobs.every(SWEEP_MS, async () => requests.sweep())
    context.events.on('server.removed', ({ data: { serverId } }) => {
      policies.forget(`server:${serverId}`)
      requests.end(asked => asked.serverId === serverId)
    })
    context.events.on('group.removed', ({ data }) => policies.forget(`group:${data.groupId}`))
    context.events.on('user.removed', ({ data: { userId } }) =>
      requests.end(({ callerId, ask }) => callerId === userId || ask.deciderId === userId),
    )
    return () => requests.end(() => true)

    function notify({ id: approvalId, asked, state }: ApprovalRequest): void {
      const { server, tool, caller, callerId, ask } = asked
      if (state === 'pending') {
        context.events.emit('approvals.requested', ask.deciderId, { approvalId, server, tool, caller })
        return
      }
      for (const userId of new Set([callerId, ask.deciderId]))
        context.events.emit('approvals.decided', userId, { approvalId, server, tool, state })
    }
  },
})
