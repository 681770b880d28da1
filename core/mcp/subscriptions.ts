import type { UpstreamReply, Upstreams } from '../connections/api.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import { needsOwnConnection } from '../domain/session-scope.ts'
import { memberHas } from './capabilities.ts'
import type { Outcome } from './exchange.ts'
import { invalid, type MethodHandler, type Routed, type Router, resourceTarget } from './router.ts'
import type { ScopeMember } from './scope-types.ts'
import type { Session } from './session.ts'
import type { SessionTable } from './sessions.ts'

/** One subscription at an upstream, shared by all sessions that use the same connection to it. */
interface Subscription {
  readonly key: string
  readonly member: ScopeMember
  readonly original: string
  /** Each subscriber with the forms of the URI by which it subscribed. */
  readonly subscribers: Map<Session, Set<string>>
  reply: Promise<UpstreamReply>
}

/** Of one session at a time. */
const MAX_SUBSCRIPTIONS = 1_000
const EMPTY: Outcome = { kind: 'result', resultText: '{}' }
const UPDATED = 'notifications/resources/updated'

/** Whether an upstream has a connection for this session alone. */
export function hasOwnConnection(upstreams: Upstreams, { server }: ScopeMember, session: Session): boolean {
  return needsOwnConnection(server, session.answers, upstreams.status(server.id).era ?? 'legacy')
}

/** Resource subscriptions: one per (connection, URI) upstream, dropped with its last subscriber. */
export class Subscriptions {
  readonly #upstreams: Upstreams
  readonly #sessions: SessionTable
  readonly #byKey = new Map<string, Subscription>()

  constructor(upstreams: Upstreams, sessions: SessionTable) {
    this.#upstreams = upstreams
    this.#sessions = sessions
  }

  /** `router`: turns replies into outcomes. */
  routes(router: () => Router): Readonly<Record<string, MethodHandler>> {
    return {
      'resources/subscribe': (routed, params) => this.#subscribe(router(), routed, params),
      'resources/unsubscribe': (routed, params) => this.#unsubscribe(router(), routed, params),
    }
  }

  async #subscribe(router: Router, routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const { session, member, original, uri } = this.#judge(routed, params)
    const key = subscriptionKey(this.#upstreams, member, session, original)
    if (session.subscriptions.size >= MAX_SUBSCRIPTIONS && !session.subscriptions.has(key))
      throw new HubError('quota_streams', `Cannot subscribe: this session has ${MAX_SUBSCRIPTIONS} subscriptions`)
    const known = this.#byKey.get(key)
    const subscription = known ?? {
      key,
      member,
      original,
      subscribers: new Map<Session, Set<string>>(),
      reply: this.#send('resources/subscribe', member, session, original),
    }
    if (!known) this.#byKey.set(key, subscription)
    const forms = subscription.subscribers.get(session) ?? new Set()
    subscription.subscribers.set(session, forms.add(uri))
    session.subscriptions.add(key)
    const reply = await subscription.reply
    // It may have ended while the upstream was asked.
    if (session.ended && session.subscriptions.size > 0) this.drop(session)
    if (reply.kind !== 'result') {
      subscription.subscribers.delete(session)
      session.subscriptions.delete(key)
      if (this.#byKey.get(key) === subscription && subscription.subscribers.size === 0) this.#byKey.delete(key)
      return router.outcome(routed, member, reply)
    }
    return EMPTY
  }

  async #unsubscribe(router: Router, routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const { session, member, original, uri } = this.#judge(routed, params)
    const subscription = this.#byKey.get(subscriptionKey(this.#upstreams, member, session, original))
    const forms = subscription?.subscribers.get(session)
    if (!subscription || !forms) return EMPTY
    forms.delete(uri)
    if (forms.size > 0) return EMPTY
    const reply = this.#leave(subscription, session)
    return reply === undefined ? EMPTY : router.outcome(routed, member, await reply)
  }

  /** Drops all of a session that has ended. */
  drop(session: Session): void {
    for (const key of session.subscriptions) {
      const subscription = this.#byKey.get(key)
      if (subscription?.subscribers.has(session)) void this.#leave(subscription, session)
    }
    session.subscriptions.clear()
  }

  /** A resource changed, or one below it: whoever subscribed to it hears of it under the URI it knows. */
  updated(serverId: string, sessionId: string | undefined, params: JsonObject | undefined): void {
    const uri = params?.uri
    if (typeof uri !== 'string') return
    for (const subscription of this.#byKey.values()) {
      if (subscription.member.server.id !== serverId || !covers(subscription.original, uri)) continue
      for (const [session, forms] of subscription.subscribers) {
        if (sessionId !== undefined && session.key !== sessionId) continue
        if (!session.scope.has(serverId)) continue
        const exact = uri === subscription.original
        const shown = exact ? forms : [session.scope.catalog.uris.publicUri(serverId, uri)]
        for (const form of shown) session.notify(UPDATED, { ...params, uri: form })
      }
    }
  }

  /** A connection came back: its subscriptions are set up again, and as anything may have changed meanwhile, told as updated. */
  restore(serverId: string, sessionId: string | undefined): void {
    for (const subscription of this.#byKey.values()) {
      if (subscription.member.server.id !== serverId) continue
      for (const session of subscription.subscribers.keys()) {
        if (hasOwnConnection(this.#upstreams, subscription.member, session) !== (sessionId !== undefined)) continue
        if (sessionId !== undefined && session.key !== sessionId) continue
        subscription.reply = this.#send('resources/subscribe', subscription.member, session, subscription.original)
        break
      }
    }
    for (const subscription of this.#byKey.values())
      if (subscription.member.server.id === serverId) this.updated(serverId, sessionId, { uri: subscription.original })
  }

  #judge(routed: Routed, params: JsonObject | undefined) {
    const session = this.#sessions.byKey(routed.exchange.session?.id ?? '')
    if (!session) throw new HubError('method_not_found', 'Subscriptions need a session')
    const uri = params?.uri
    if (typeof uri !== 'string') throw invalid(`${routed.exchange.method} needs "uri", the URI of a resource`)
    const { member, original } = resourceTarget(routed.scope, uri)
    if (!memberHas(routed.scope.catalog.byServer.get(member.server.id), 'resources', 'subscribe'))
      throw new HubError('method_not_found', `The server of "${uri.slice(0, 256)}" takes no subscriptions`)
    return { session, member, original, uri }
  }

  #send(method: string, member: ScopeMember, session: Session, uri: string): Promise<UpstreamReply> {
    return this.#upstreams.request(member.server.id, { method, params: { uri }, session: session.binding }).reply
  }

  #leave(subscription: Subscription, session: Session): Promise<UpstreamReply> | undefined {
    subscription.subscribers.delete(session)
    session.subscriptions.delete(subscription.key)
    if (subscription.subscribers.size > 0) return undefined
    this.#byKey.delete(subscription.key)
    // The upstream forgets with the connection; one that is down must not be woken up for this.
    if (this.#upstreams.status(subscription.member.server.id).state !== 'online') return undefined
    if (session.ended && hasOwnConnection(this.#upstreams, subscription.member, session)) return undefined
    return this.#send('resources/unsubscribe', subscription.member, session, subscription.original)
  }
}

function subscriptionKey(upstreams: Upstreams, member: ScopeMember, session: Session, original: string): string {
  return JSON.stringify([member.server.id, hasOwnConnection(upstreams, member, session) ? session.key : '', original])
}

/** A notice may name a part of what was subscribed to. */
function covers(subscribed: string, uri: string): boolean {
  if (uri === subscribed) return true
  if (!uri.startsWith(subscribed)) return false
  return subscribed.endsWith('/') || /[/?#]/.test(uri[subscribed.length] ?? '')
}
