import { definePlugin } from 'patchbay/contract'
import type {} from 'patchbay/features'
import { z } from 'zod'
import { removeEnded } from './ended.ts'
import { ERRORS, LIMITS } from './errors.ts'
import { QuotaGate } from './gate.ts'
import { type Metered, Plans } from './plans.ts'
import { PortableQuotas } from './portable.ts'
import { quotaSchema } from './quota.ts'
import { addQuotaRoutes } from './routes.ts'
import { first, type QuotaTables } from './tables.ts'
import type {} from './types.ts'
import { Usage } from './usage.ts'
import { addUsageRoutes } from './usage-routes.ts'
import { UsedMetric } from './used-metric.ts'
import { words } from './words.zh.ts'

const config = z.strictObject({
  quota: quotaSchema.optional().meta({
    title: 'Quota of the hub',
    description: 'Most calls of all users together.',
    'x-zh': { title: 'hub 的配额', description: '所有用户合计的最大调用数。' },
  }),
  users: quotaSchema.optional().meta({
    title: 'Quota of each user',
    description: 'For users without a quota of their own.',
    'x-zh': { title: '每个用户的配额', description: '适用于没有单独配额的用户。' },
  }),
  nearPercent: z
    .number()
    .int()
    .min(1)
    .max(100)
    .default(90)
    .meta({
      title: 'Nearly used up',
      description: 'Percent of a quota of the day from which its owner is notified.',
      'x-zh': { title: '即将用完', description: '当日配额使用到该百分比时通知其所有者。' },
    }),
})

/** Between two writes, in milliseconds; with the time of a write less than 2 s. */
const WRITE_MS = 1_500
const PRUNE_MS = 3_600_000

/** Limits calls of tools per minute and day, at once, and by the tokens of their results. */
export default definePlugin<z.infer<typeof config> | undefined>({
  name: 'quotas',
  contract: 1,
  config: config.optional(),
  claims: [
    '/api/servers/{ref}/quota',
    '/api/groups/{ref}/quota',
    '/api/keys/{id}/quota',
    '/api/grants/{id}/quota',
    '/api/admin/users/{name}/quota',
    '/api/usage',
    '/api/quotas',
  ],
  limits: LIMITS,
  errors: ERRORS,
  words,
  events: { 'quotas.near': { audience: 'owner' } },
  attachedSettings: { quota: ['server', 'group', 'user', 'key'] },
  migrations: { '0001-quotas': first },
  async setup(context) {
    const limits = context.limits as typeof LIMITS
    const { quota, users, nearPercent = 90 } = context.config ?? {}
    const tables = context.tables<QuotaTables>()
    const near = nearPercent / 100
    const usage = new Usage(tables, limits.usageRowsPerUserDay)
    const plans = new Plans(tables, { system: quota, users, near }, usage)
    await usage.load()
    await plans.load()
    const metric = new UsedMetric(context, plans)
    const labelOf = (metered: Metered) => metric.labelOf(metered)
    const gate = new QuotaGate(context, plans, usage, { near, labelOf })
    context.contribute('callGate', 'quotas', gate)
    context.contribute('alertMetric', 'quotas.used', metric)
    context.contribute('builtPage', 'usage', { access: 'user' })
    const portable = new PortableQuotas(context, plans, usage)
    context.contribute('attachedSettings', 'quota', portable)
    addQuotaRoutes(context, plans, usage, portable)
    addUsageRoutes(context, plans, usage)
    context.events.on('server.removed', ({ data }) => {
      if (!data.transferred) plans.forget('serverId', data.serverId)
    })
    context.events.on('group.removed', ({ data }) => {
      if (!data.transferred) plans.forget('groupId', data.groupId)
    })
    context.events.on('user.removed', ({ data }) => {
      plans.forget('userId', data.userId)
      usage.forgetUser(data.userId)
    })
    const write = async () => {
      await plans.write()
      await usage.write()
    }
    context.jobs.every(WRITE_MS, write)
    context.jobs.every(PRUNE_MS, async () => {
      await plans.prune()
      for (const userId of plans.usersWithCredentials()) await removeEnded(context.people, plans, userId)
      await usage.prune(limits.usageDays)
    })
    return async () => {
      gate.stop()
      do await write()
      while (usage.isChanged)
    }
  },
})
