import type { PluginContext, SystemActor } from 'patchbay/contract'
import type { AlertMetric, AlertReading } from 'patchbay/features'
import { dayOf } from './meter.ts'
import type { Metered, Plans } from './plans.ts'
import { OF_DAY, type Plan } from './quota.ts'

const ACTOR: SystemActor = { kind: 'system', purpose: 'quotas' }
/** Time for which names are kept, in milliseconds. */
const KEEP_MS = 60_000
const DAY_MS = 86_400_000
/** The words for what counts over a day. */
const WORDS = { perDay: 'calls', resultTokensPerDay: 'tokens of results' } as const

type About = Pick<AlertReading, 'label' | 'userIds' | 'labels'>

/** The used part of each quota of the day, 0 to 1 and above, for alert rules: `quotas.used >= 80%`. */
export class UsedMetric implements AlertMetric {
  readonly fields = ['kind', 'server', 'owner', 'group', 'tool'] as const
  readonly #context: PluginContext<unknown>
  readonly #plans: Plans
  readonly #used = new WeakSet<Metered['meter']>()
  readonly #known = new Map<string, { readonly about: Promise<About | undefined>; readonly untilMs: number }>()

  constructor(context: PluginContext<unknown>, plans: Plans) {
    this.#context = context
    this.#plans = plans
  }

  async read(): Promise<readonly AlertReading[]> {
    const nowMs = Date.now()
    for (const [subject, { untilMs }] of this.#known) if (untilMs < nowMs) this.#known.delete(subject)
    return (await Promise.all(this.#plans.all().map(metered => this.#ofPlan(metered, nowMs)))).flat()
  }

  /** The name of a thing with a quota, for its owner. Undefined for a thing that is gone. */
  async labelOf(metered: Metered): Promise<string | undefined> {
    return (await this.#about(metered, Date.now()))?.label
  }

  async #ofPlan(metered: Metered, nowMs: number): Promise<readonly AlertReading[]> {
    const { plan, meter } = metered
    const used = meter.used(nowMs)
    const parts = OF_DAY.filter(part => plan.quota[part])
    // Names are read only for quotas with some use, including those that were reset since.
    if (parts.some(part => used[part] > 0)) this.#used.add(meter)
    const about = this.#used.has(meter) ? await this.#about(metered, nowMs) : undefined
    if (!about) return []
    const resets = `${dayOf(nowMs + DAY_MS)} 00:00 UTC`
    return parts.map(part => {
      const limit = plan.quota[part] ?? 0
      const what = `${used[part]} of ${limit} ${WORDS[part]} of the day are used; they reset at ${resets}`
      return {
        key: `${plan.subject} ${part}`,
        ...{ ...about, label: `${about.label}: ${WORDS[part]}` },
        ...{ labels: { ...about.labels, kind: plan.kind }, value: used[part] / limit, text: what },
      }
    })
  }

  #about({ plan, meter }: Metered, nowMs: number): Promise<About | undefined> {
    const known = this.#known.get(plan.subject)
    if (known) return known.about
    const about = this.#find(plan, meter.clientName)
    this.#known.set(plan.subject, { about, untilMs: nowMs + KEEP_MS })
    return about
  }

  /** Names and users of a quota. Undefined for a thing that is gone. */
  async #find(
    { kind, subject, userId, serverId, groupId }: Plan,
    clientName: string | undefined,
  ): Promise<About | undefined> {
    const { registry, people } = this.#context
    if (kind === 'system') return { label: 'the hub', userIds: [], labels: {} }
    if (serverId) {
      const server = await registry.server(ACTOR, serverId)
      if (!server) return undefined
      const { ownerId, ownerName: owner } = server
      const ref = `${owner}~${server.name}`
      const userIds = [ownerId]
      if (kind === 'server') return { label: `server ${ref}`, userIds, labels: { server: ref, owner } }
      const tool = subject.slice(`tool:${serverId}:`.length)
      return { label: `tool ${tool} of ${ref}`, userIds, labels: { server: ref, owner, tool } }
    }
    if (groupId) {
      const group = await registry.groupById(ACTOR, groupId)
      if (!group) return undefined
      const { ownerId, ownerName: owner } = group
      const ref = `${owner}~${group.name}`
      return { label: `group ${ref}`, userIds: [ownerId], labels: { group: ref, owner } }
    }
    const user = await people.byId(userId ?? '')
    if (!user) return undefined
    const { id, name: owner } = user
    const thing = subject.slice(subject.lastIndexOf(':') + 1)
    const what = {
      user: '',
      key: `access key ${await this.#labelOf(id, thing)} of `,
      grant: `client ${clientName === undefined ? thing : JSON.stringify(clientName)} of `,
    }
    return { label: `${what[kind as keyof typeof what]}user ${owner}`, userIds: [id], labels: { owner } }
  }

  async #labelOf(userId: string, keyId: string): Promise<string> {
    const actor = await this.#context.people.actor(userId)
    const keys = actor ? await this.#context.people.keys(actor) : []
    return JSON.stringify(keys.find(({ id }) => id === keyId)?.label ?? keyId)
  }
}
