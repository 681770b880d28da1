import type { Credential, PluginContext } from 'patchbay/contract'
import type { CallGate, Decision, GatedCall, GatedEnd } from 'patchbay/features'
import { keysBehind } from 'patchbay/plugin-kit'
import { longer, type Reached, secondsUntilTomorrow } from './meter.ts'
import type { Metered, Plans } from './plans.ts'
import { grantSubject, keySubject, type Plan, tokensOf, toolSubject } from './quota.ts'
import type { QuotaKind } from './types.ts'
import type { Usage } from './usage.ts'

/** After gates that ask people, whose decision may take minutes. */
const ORDER = 200

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
  readonly #begun = new WeakMap<GatedCall, Begun>()

  constructor(context: PluginContext<unknown>, plans: Plans, usage: Usage, near: number) {
    this.#context = context
    this.#plans = plans
    this.#usage = usage
    this.#near = near
  }

  /** One turn of the event loop checks and counts, so that no two calls take the last one. */
  decide(call: GatedCall): Decision {
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

  ended(call: GatedCall, { sent, failed, resultCharacters }: GatedEnd): void {
    const begun = this.#begun.get(call)
    if (!begun) return
    this.#begun.delete(call)
    const nowMs = Date.now()
    const tokens = tokensOf(resultCharacters)
    for (const one of begun.metered) {
      one.meter.end(begun.atMs, nowMs, sent, tokens)
      this.#notice(one, call, nowMs)
    }
    if (!sent) return
    const { userId, credential } = call.actor
    const place = { user_id: userId, key_id: keyOf(credential), server_id: call.server.id, tool: call.tool.name }
    this.#usage.count(place, failed, tokens)
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
    const message = `${TEXTS[code](limit)} of ${name} ${code === 'quota_at_once' ? 'are in flight' : 'are used up'}`
    // A refusal with 429 always says when to try again.
    const seconds = Number.isFinite(retryAfterSeconds) ? retryAfterSeconds : secondsUntilTomorrow(Date.now())
    return this.#context.error(code, message, { retryAfterSeconds: seconds, data: { of, limit } })
  }

  /** Notifies the owner once a day that a quota is nearly used up. */
  #notice({ plan, meter }: Metered, call: GatedCall, nowMs: number): void {
    const used = meter.used(nowMs)
    for (const quota of ['perDay', 'resultTokensPerDay'] as const) {
      const limit = plan.quota[quota]
      if (!limit || used[quota] < limit * this.#near || meter.noticed.has(quota)) continue
      meter.noticed.add(quota)
      const { kind } = plan
      const name = nameOf(plan, call)
      const ownerId = ownerOf(kind, call)
      this.#context.log.warn('A quota is nearly used up', { of: kind, name, quota, limit, used: used[quota] })
      if (ownerId !== undefined)
        this.#context.events.emit('quotas.near', ownerId, { of: kind, name, quota, limit, used: used[quota] })
    }
  }
}

const TEXTS: Readonly<Record<Reached['code'], (limit: number) => string>> = {
  quota_rate: limit => `The ${limit} calls a minute`,
  quota_day: limit => `The ${limit} calls a day`,
  quota_at_once: limit => `The ${limit} calls at once`,
  quota_tokens: limit => `The ${limit} tokens of results a day`,
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

function ownerOf(kind: QuotaKind, { actor, group, server }: GatedCall): string | undefined {
  if (kind === 'system') return undefined
  if (kind === 'group') return group?.ownerId
  return kind === 'server' || kind === 'tool' ? server.ownerId : actor.userId
}
