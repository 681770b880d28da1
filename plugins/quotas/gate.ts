import type { Credential, PluginContext } from 'patchbay/contract'
import type { CallGate, Decision, GatedCall, GatedEnd, TaskEvent } from 'patchbay/features'
import { keysBehind } from 'patchbay/plugin-kit'
import { longer, type Reached, secondsUntilTomorrow } from './meter.ts'
import type { Metered, Plans } from './plans.ts'
import { grantSubject, keySubject, OF_DAY, type OfDay, type Plan, tokensOf, toolSubject } from './quota.ts'
import type { QuotaKind } from './types.ts'
import type { Usage } from './usage.ts'

/** After gates that ask people, whose decision may take minutes. */
const ORDER = 200

/** A call without its arguments, which are not kept for as long as a task. */
type Called = Pick<GatedCall, 'actor' | 'group' | 'server'> & { readonly tool: { readonly name: string } }

interface Begun {
  readonly metered: readonly Metered[]
  readonly atMs: number
}

/** Counts each call before it is sent, and refuses it where a quota is used up. */
export class QuotaGate implements CallGate {
  readonly order = ORDER
  readonly #context: PluginContext<unknown>
  readonly #plans: Plans
  readonly #usage: Usage
  /** Part of a quota from which its owner is notified. */
  readonly #near: number
  readonly #labelOf: (metered: Metered) => Promise<string | undefined>
  /** Calls that have not ended. */
  readonly #begun = new Map<GatedCall, Begun>()
  #stopped = false

  /** `labelOf`: the name of the thing with a quota, for its owner. */
  constructor(
    context: PluginContext<unknown>,
    plans: Plans,
    usage: Usage,
    { near, labelOf }: { readonly near: number; readonly labelOf: (metered: Metered) => Promise<string | undefined> },
  ) {
    this.#context = context
    this.#plans = plans
    this.#usage = usage
    this.#near = near
    this.#labelOf = labelOf
  }

  /** One turn of the event loop checks and counts, so that no two calls take the last one. */
  decide(call: GatedCall): Decision {
    if (this.#stopped) return 'pass'
    const atMs = Date.now()
    const metered = this.#of(call)
    let longest: (Reached & { readonly plan: Plan }) | undefined
    for (const { plan, meter } of metered) {
      const reached = meter.reached(plan.quota, atMs)
      if (reached) longest = longer(longest, { ...reached, plan })
    }
    if (longest) throw this.#refusal(longest.plan.kind, nameOf(longest.plan, call), longest)
    for (const one of metered) {
      one.meter.begin(atMs)
      this.#notice(one, call, atMs)
    }
    this.#begun.set(call, { metered, atMs })
    return 'pass'
  }

  ended(call: GatedCall, { sent, sentAgain, failed, resultCharacters, task }: GatedEnd): void {
    const begun = this.#begun.get(call)
    if (!begun) return
    if (!task) this.#begun.delete(call)
    const nowMs = Date.now()
    const tokens = tokensOf(resultCharacters)
    for (const one of begun.metered) {
      // A task is in flight until it is over.
      if (!task) one.meter.end(begun.atMs, nowMs, sent)
      this.#took(one, call, tokens, nowMs)
    }
    if (sent) this.#usage.count(placeOf(call), { calls: 1, failures: failed && !sentAgain ? 1 : 0, tokens })
  }

  /** Counts each call in flight as one, since nothing counts its end. */
  stop(): void {
    this.#stopped = true
    for (const call of this.#begun.keys()) this.#usage.count(placeOf(call), { calls: 1, failures: 0, tokens: 0 })
    this.#begun.clear()
  }

  task(call: GatedCall): (event: TaskEvent) => void {
    const { actor, group, server, tool } = call
    const begun = this.#begun.get(call)
    this.#begun.delete(call)
    return this.#ofTask(begun ?? { metered: [], atMs: 0 }, {
      ...{ actor, server, tool: { name: tool.name } },
      ...(group ? { group } : {}),
    })
  }

  #ofTask({ metered, atMs }: Begun, call: Called): (event: TaskEvent) => void {
    return event => {
      const nowMs = Date.now()
      if (event.kind === 'over') {
        for (const { meter } of metered) meter.end(atMs, nowMs, true)
        return
      }
      const tokens = tokensOf(event.resultCharacters)
      for (const one of metered) this.#took(one, call, tokens, nowMs)
      this.#usage.count(placeOf(call), { calls: 0, failures: event.failed ? 1 : 0, tokens })
    }
  }

  #took(one: Metered, call: Called, tokens: number, nowMs: number): void {
    if (tokens > 0) one.meter.take(nowMs, tokens)
    this.#notice(one, call, nowMs)
  }

  #of({ actor, group, server, tool }: GatedCall): readonly Metered[] {
    const { credential, userId } = actor
    return [
      this.#plans.get('system'),
      this.#plans.ofUser(userId),
      ...keysBehind(credential).map(id => this.#plans.get(keySubject(id))),
      credential.kind === 'grant' ? this.#ofClient(userId, credential) : undefined,
      group && this.#plans.get(`group:${group.id}`),
      this.#plans.get(`server:${server.id}`),
      this.#plans.get(toolSubject(server.id, tool.name)),
    ].filter(one => one !== undefined)
  }

  #ofClient(userId: string, { grantId, label }: Extract<Credential, { kind: 'grant' }>): Metered | undefined {
    const found = this.#plans.get(grantSubject(userId, grantId))
    if (found) found.meter.clientName = label
    return found
  }

  #refusal(of: QuotaKind, name: string, { code, limit, retryAfterSeconds }: Reached) {
    const verb = limit === 1 ? 'is' : 'are'
    const message = `The ${limit} ${TEXTS[code](limit === 1 ? '' : 's')} of ${name} ${verb} ${code === 'quota_at_once' ? 'in flight' : 'used up'}`
    // A refusal with 429 always says when to try again.
    const seconds = Number.isFinite(retryAfterSeconds) ? retryAfterSeconds : secondsUntilTomorrow(Date.now())
    return this.#context.error(code, message, { retryAfterSeconds: seconds, data: { of, limit } })
  }

  /** Notifies the owner once a day that a quota is nearly used up. */
  #notice(metered: Metered, call: Called, nowMs: number): void {
    const { plan, meter } = metered
    const used = meter.used(nowMs)
    for (const quota of OF_DAY) {
      const limit = plan.quota[quota]
      if (!limit || used[quota] < limit * this.#near || meter.noticed.has(quota)) continue
      meter.noticed.add(quota)
      void this.#emit(metered, ownerOf(plan.kind, call), { quota, limit, used: used[quota] })
    }
  }

  async #emit(
    metered: Metered,
    ownerId: string | undefined,
    rest: { readonly quota: OfDay; readonly limit: number; readonly used: number },
  ): Promise<void> {
    const { kind: of, subject } = metered.plan
    // Without a name the owner still learns which quota it is.
    const name = (await this.#labelOf(metered).catch(() => undefined)) ?? subject
    this.#context.log.warn('A quota is nearly used up', { of, name, ...rest })
    if (ownerId !== undefined) this.#context.events.emit('quotas.near', ownerId, { of, name, ...rest })
  }
}

function placeOf({ actor: { userId, credential }, server, tool }: Called) {
  return { user_id: userId, key_id: keyOf(credential), server_id: server.id, tool: tool.name }
}

/** The words for what is limited, with the ending of its plural. */
const TEXTS: Readonly<Record<Reached['code'], (s: string) => string>> = {
  quota_rate: s => `call${s} a minute`,
  quota_day: s => `call${s} a day`,
  quota_at_once: s => `call${s} at once`,
  quota_tokens: s => `token${s} of results a day`,
}

/** Id of the key that is in use or made what is, or of the grant with its kind; empty for a sign-in. */
function keyOf(credential: Credential): string {
  return credential.kind === 'grant' ? `grant:${credential.grantId}` : (keysBehind(credential).at(-1) ?? '')
}

function nameOf({ kind, subject }: Plan, { actor: { credential }, group, server, tool }: GatedCall): string {
  switch (kind) {
    case 'system':
      return 'the hub'
    case 'user':
      return 'your account'
    case 'key':
      return credential.kind === 'key' && subject === keySubject(credential.keyId)
        ? 'this access key'
        : 'an access key behind the one in use'
    case 'grant':
      return 'this client'
    case 'group':
      return `the group "${group?.name ?? ''}"`
    case 'server':
      return `the server "${server.name}"`
    case 'tool':
      return `the tool "${tool.name}"`
  }
}

function ownerOf(kind: QuotaKind, { actor, group, server }: Called): string | undefined {
  if (kind === 'system') return undefined
  if (kind === 'group') return group?.ownerId
  return kind === 'server' || kind === 'tool' ? server.ownerId : actor.userId
}
