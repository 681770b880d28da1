import { HubError, type PluginContext, type UserActor } from 'patchbay/contract'
import { formatRef, refParams, type StatedSettings, timestamp } from 'patchbay/plugin-kit'
import { z } from 'zod'
import { ERRORS } from './errors.ts'
import type { Findings } from './findings.ts'
import { type RuleSets, shownRule, type Target } from './rule-sets.ts'
import { type Rule, rule, rules } from './rules.ts'

const TAG = 'guards'
const KINDS = { servers: 'server', groups: 'group' } as const
/** Most servers and groups in one list. */
const MOST_LISTED = 200

const counts = z.object({
  since: timestamp,
  observed: z.number().int(),
  masked: z.number().int(),
  refused: z.number().int(),
  failed: z.number().int(),
})
const shown = z.object({ rules: z.array(rule), counts: z.record(z.string(), counts) })
const samples = z.object({
  counts,
  items: z.array(
    z.object({
      at: timestamp,
      on: z.enum(['arguments', 'result']),
      server: z.string(),
      tool: z.string().optional(),
      action: z.enum(['observed', 'masked', 'refused', 'failed']),
      path: z.string().meta({ description: 'Pointer to the value' }),
      kind: z.string(),
      length: z.number().int(),
      host: z.string().optional(),
    }),
  ),
})
const example = {
  rules: [{ id: 'no-keys', on: 'result', match: { secrets: true }, then: 'mask' }],
  counts: { 'no-keys': { since: '2026-11-29T08:00:00.000Z', observed: 0, masked: 3, refused: 0, failed: 0 } },
}
const sampleExample = {
  counts: example.counts['no-keys'],
  items: [
    {
      ...{ at: '2026-11-29T08:01:00.000Z', on: 'result', server: 'files', tool: 'read_file', action: 'masked' },
      ...{ path: '/content/0/text', kind: 'github_token', length: 40 },
    },
  ],
}
const idParams = z.object({ id: z.string().max(40) })

/** Dependencies of the routes. */
export interface GuardRoutesDeps {
  readonly context: Pick<PluginContext<unknown>, 'routes' | 'servers' | 'groups' | 'people' | 'audit' | 'registry'>
  readonly sets: RuleSets
  readonly findings: Findings
  readonly portable: Pick<StatedSettings, 'refuseStated'>
}

/** Adds the routes of the rules of servers, of groups, and of the hub. */
export function addRoutes(deps: GuardRoutesDeps): void {
  for (const things of ['servers', 'groups'] as const) addPlaceRoutes(deps, things)
  addHubRoutes(deps)
  addOwnRoute(deps)
}

/** The server or group, for its owner and administrators. */
async function owned({ context }: GuardRoutesDeps, things: keyof typeof KINDS, actor: UserActor, ref: string) {
  const { servers, groups } = context
  const found = await (things === 'servers' ? servers : groups).find(actor, ref, 'owner')
  const target: Target = { kind: KINDS[things], id: found.id }
  return { target, found }
}

function addPlaceRoutes(deps: GuardRoutesDeps, things: keyof typeof KINDS): void {
  const { context, sets, findings, portable } = deps
  const { routes, audit } = context
  const path = `/api/${things}/{ref}/guards`
  const kind = KINDS[things]
  routes.add({
    ...{ method: 'GET', path, whole: true, access: 'user', tag: TAG },
    summary: `The rules about the content of a ${kind}, for its owner`,
    params: refParams,
    answers: { 200: { description: 'The rules, and what each has done', schema: shown, example } },
    async handle({ actor, params: { ref } }) {
      const { target } = await owned(deps, things, actor, ref)
      return { body: view(sets.rules(target), findings, `${target.kind} ${target.id}`) }
    },
  })
  routes.add({
    ...{ method: 'PUT', path, whole: true, access: 'user', tag: TAG },
    summary: `Replace the rules about the content of a ${kind}; a rule observes unless it says otherwise`,
    params: refParams,
    body: z.strictObject({ rules }).meta({ examples: [{ rules: example.rules }] }),
    answers: { 200: { description: 'The rules, and what each has done', schema: shown, example } },
    async handle({ actor, params: { ref }, body, requestId, clientAddress }) {
      const { target, found } = await owned(deps, things, actor, ref)
      portable.refuseStated(target)
      const isByAdmin = actor.role === 'admin' && (await context.people.byId(found.ownerId))?.role === 'admin'
      await sets.replace(target, body.rules, { ownerId: found.ownerId, isByAdmin })
      const acting = body.rules.filter(one => one.then !== 'observe').length
      const detail = { [kind]: found.id, rules: body.rules.length, acting }
      audit(actor, 'update', found.name, found.ownerId, { detail, request: { requestId, clientAddress } })
      return { body: view(sets.rules(target), findings, `${target.kind} ${target.id}`) }
    },
  })
  routes.add({
    ...{ method: 'GET', path: `${path}/{id}/samples`, whole: true, access: 'user', tag: TAG },
    summary: `What a rule of a ${kind} found last, without what was there; for its owner`,
    params: refParams.extend(idParams.shape),
    answers: { 200: { description: 'The newest first', schema: samples, example: sampleExample } },
    async handle({ actor, params: { ref, id } }) {
      const { target } = await owned(deps, things, actor, ref)
      return { body: samplesOf(sets.rules(target), findings, `${target.kind} ${target.id}`, id) }
    },
  })
}

function addHubRoutes({ context: { routes }, sets, findings }: GuardRoutesDeps): void {
  routes.add({
    ...{ method: 'GET', path: '/api/admin/guards', whole: true, access: 'admin', tag: TAG },
    summary: 'The rules about the content of all calls; PATCH /api/admin/plugins/guards changes them',
    answers: { 200: { description: 'The rules, and what each has done', schema: shown, example } },
    handle: () => ({ body: view(sets.hub, findings, 'hub') }),
  })
  routes.add({
    ...{ method: 'GET', path: '/api/admin/guards/{id}/samples', whole: true, access: 'admin', tag: TAG },
    summary: 'What a rule of the hub found last, without what was there',
    params: idParams,
    answers: { 200: { description: 'The newest first', schema: samples, example: sampleExample } },
    handle: ({ params: { id } }) => ({ body: samplesOf(sets.hub, findings, 'hub', id) }),
  })
}

function addOwnRoute({ context: { routes, registry, groups }, sets, findings }: GuardRoutesDeps): void {
  const item = shown.extend({ kind: z.enum(['server', 'group']), id: z.string(), name: z.string(), ref: z.string() })
  const listed = { kind: 'server', id: 'srv_1', name: 'files', ref: 'ada~files', ...example }
  routes.add({
    ...{ method: 'GET', path: '/api/guards', whole: true, access: 'user', tag: TAG },
    summary: `Your servers and groups that have rules about content, at most ${MOST_LISTED}`,
    answers: {
      200: {
        description: 'By name; and the kinds of content that rules can look for',
        schema: z.object({ items: z.array(item) }),
        example: { items: [listed] },
      },
    },
    async handle({ actor }) {
      const items: z.infer<typeof item>[] = []
      const add = (kind: Target['kind'], { id, name, ownerName }: { id: string; name: string; ownerName: string }) => {
        const list = sets.rules({ kind, id })
        if (list.length === 0 || items.length >= MOST_LISTED) return
        items.push({ kind, id, name, ref: formatRef(ownerName, name), ...view(list, findings, `${kind} ${id}`) })
      }
      for (const server of await registry.ownServers(actor)) add('server', server)
      for (const group of await groups.list(actor)) add('group', group)
      return { body: { items: items.sort((a, b) => (a.name < b.name ? -1 : 1)) } }
    },
  })
}

function view(list: readonly Rule[], findings: Findings, place: string) {
  return {
    rules: list.map(shownRule),
    counts: Object.fromEntries(list.map(({ id }) => [id, findings.counts(place, id)])),
  }
}

function samplesOf(list: readonly Rule[], findings: Findings, place: string, id: string) {
  if (!list.some(one => one.id === id))
    throw new HubError('guard_not_found', `There is no rule "${id}" here`, { own: ERRORS.guard_not_found })
  return { counts: findings.counts(place, id), items: findings.samples(place, id) }
}
