import type { JsonObject, PluginContext, UserActor } from 'patchbay/contract'
import type { AttachedKind, AttachedSettings, AttachedThing } from 'patchbay/features'
import { checked, requireSignIn, StatedSettings, wrong } from 'patchbay/plugin-kit'
import { z } from 'zod'
import type { LIMITS } from './errors.ts'
import { dayOf } from './meter.ts'
import type { Plans } from './plans.ts'
import { isEmpty, type Quota, quotaSchema, toolSubject } from './quota.ts'
import type { PlanRow, QuotaTables } from './tables.ts'
import type { Usage, UsageOf } from './usage.ts'

/** The quotas of a server and its tools, as the settings file and exports have them. */
const serverQuota = quotaSchema.extend({ tools: z.record(z.string().min(1).max(256), quotaSchema).optional() })

type SavedQuota = z.infer<typeof serverQuota>
type Tables = Parameters<AttachedSettings['save']>[0]

/** Quotas of servers with their tools, groups, users and keys, for the settings file, exports and imports. */
export class PortableQuotas extends StatedSettings implements AttachedSettings {
  readonly #context: Pick<PluginContext<unknown>, 'limits' | 'error'>
  readonly #plans: Plans
  readonly #usage: Usage

  constructor(context: Pick<PluginContext<unknown>, 'limits' | 'error'>, plans: Plans, usage: Usage) {
    super()
    this.#context = context
    this.#plans = plans
    this.#usage = usage
  }

  open({ kind, id }: AttachedThing): JsonObject | undefined {
    const quota = this.#plans.get(`${kind}:${id}`)?.plan.quota ?? {}
    const tools = kind === 'server' ? this.#plans.ofTools(id) : {}
    if (isEmpty(quota) && Object.keys(tools).length === 0) return undefined
    return { ...inOrder(quota), ...(Object.keys(tools).length === 0 ? {} : { tools: mapped(tools, inOrder) }) }
  }

  check(value: unknown, kind: AttachedKind): JsonObject {
    const { tools, ...quota } = checked(kind === 'server' ? serverQuota : quotaSchema, value) as SavedQuota
    const limited = Object.entries(tools ?? {}).filter(([, one]) => !isEmpty(one))
    const { toolQuotasPerServer: most } = this.#context.limits as typeof LIMITS
    if (limited.length > most)
      throw wrong('#/tools', 'length', `${limited.length} tools have a quota, at most ${most} may`)
    limited.sort(([one], [other]) => (one < other ? -1 : 1))
    return {
      ...inOrder(quota),
      ...(limited.length === 0 ? {} : { tools: mapped(Object.fromEntries(limited), inOrder) }),
    }
  }

  permit(actor: UserActor): void {
    // A key that could change quotas would be held by none.
    requireSignIn(actor, 'Quotas')
  }

  async save(tables: Tables, thing: AttachedThing, value: unknown): Promise<void> {
    const own = tables<QuotaTables>()
    const { kind, id, ownerId } = thing
    const { tools = {}, ...quota } = (value ?? {}) as SavedQuota
    const today = dayOf(Date.now())
    const put = async (row: Omit<PlanRow, 'quota'>, one: Quota | null, of?: Omit<UsageOf, 'by' | 'since'>) => {
      const [sum] =
        of && one && !this.#plans.get(row.id) ? await this.#usage.sums({ ...of, by: 'day', since: today }) : []
      await this.#plans.set(row, one, { calls: sum?.calls ?? 0, tokens: sum?.result_tokens ?? 0 }, own)
    }
    const row = {
      ...{ id: `${kind}:${id}`, kind },
      user_id: kind === 'user' || kind === 'key' ? ownerId : null,
      server_id: kind === 'server' ? id : null,
      group_id: kind === 'group' ? id : null,
    }
    await put(row, isEmpty(quota) ? null : quota, usedBy(thing))
    if (kind !== 'server') return
    const tool = { ...row, kind: 'tool' as const }
    for (const name of Object.keys(this.#plans.ofTools(id)))
      if (!Object.hasOwn(tools, name)) await put({ ...tool, id: toolSubject(id, name) }, null)
    for (const [name, one] of Object.entries(tools))
      await put({ ...tool, id: toolSubject(id, name) }, one, { serverId: id, tool: name })
  }
}

/** The calls that count for a thing; those at the address of a group are not kept. */
function usedBy({ kind, id, ownerId }: AttachedThing): Omit<UsageOf, 'by' | 'since'> | undefined {
  if (kind === 'server') return { serverId: id }
  if (kind === 'group') return undefined
  return kind === 'user' ? { userId: id } : { userId: ownerId, keyIds: [id] }
}

const MEMBERS = Object.keys(quotaSchema.shape) as (keyof Quota)[]

/** The same members in one order, so that equal quotas have equal texts. */
function inOrder(quota: Quota): Record<string, number> {
  return Object.fromEntries(
    MEMBERS.flatMap(name => {
      const value = quota[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

function mapped(all: Readonly<Record<string, Quota>>, form: (one: Quota) => JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(all).map(([name, one]) => [name, form(one)]))
}
