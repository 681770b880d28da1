import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'
import type { CheckThread } from './check/queue.ts'
import { ERRORS } from './errors.ts'
import { Guards } from './filter.ts'
import { Findings } from './findings.ts'
import { PortableRules } from './portable.ts'
import { addRoutes } from './routes.ts'
import { RuleSets } from './rule-sets.ts'
import { isSigningSecret, rules } from './rules.ts'
import { first, type GuardTables } from './tables.ts'
import type { Place } from './types.ts'
import { words } from './words.zh.ts'

const config = z.strictObject({
  rules: rules
    .refine(
      list => list.every(({ webhook }) => !webhook || isSigningSecret(webhook.secret)),
      'A secret of a webhook is "whsec_" and base64 of 24 to 64 bytes',
    )
    .default([])
    .meta({
      title: 'Rules of the hub',
      description: 'For the calls of all servers. A rule observes unless "then" is mask or refuse.',
      'x-zh': { title: 'Hub 规则', description: '对所有服务器的调用生效。除非 then 为 mask 或 refuse，规则只观察。' },
    }),
})

/** Rules about the content of calls: keys, personal data, patterns, addresses, and webhooks that look at it. */
export default definePlugin<z.infer<typeof config>>({
  name: 'guards',
  contract: 1,
  config,
  errors: ERRORS,
  words,
  claims: [
    '/api/guards',
    '/api/admin/guards',
    '/api/admin/guards/*',
    '/api/servers/{ref}/guards',
    '/api/servers/{ref}/guards/{id}/samples',
    '/api/groups/{ref}/guards',
    '/api/groups/{ref}/guards/{id}/samples',
  ],
  attachedSettings: { guards: ['server', 'group'] },
  migrations: { '0001-first': first },
  async setup(context) {
    const findings = new Findings(() => new Date().toISOString())
    const sets = new RuleSets(context.tables<GuardTables>(), context.sealing, findings, context.config.rules)
    await sets.load()
    const open = (): CheckThread => context.thread(new URL('./thread.ts', import.meta.url).href)
    const portable = new PortableRules(sets)
    // Rules of the settings file are chosen by the hub's operator.
    const hasOwnersReach = (place: Place): boolean => place.isByAdmin === true || portable.isFixed(place)
    context.contribute('contentFilter', 'guards', new Guards(context, sets, findings, open, hasOwnersReach))
    context.events.on('server.removed', ({ data }) => {
      if (!data.transferred) sets.removed({ kind: 'server', id: data.serverId })
    })
    context.events.on('group.removed', ({ data }) => {
      if (!data.transferred) sets.removed({ kind: 'group', id: data.groupId })
    })
    context.contribute('attachedSettings', 'guards', portable)
    addRoutes({ context, sets, findings, portable })
    context.contribute('builtPage', 'guards', { access: 'user' })
    return undefined
  },
})
