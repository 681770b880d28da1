import type { UpstreamReply, Upstreams } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Outcome } from '../call/exchange.ts'
import type { Forwarder, Routed } from '../call/forwarder.ts'
import type { MethodHandler } from '../call/router.ts'
import type { SessionTable } from '../legacy/sessions.ts'
import { Notice } from '../rpc/notice.ts'
import { invalid } from '../rpc/rpc.ts'
import { memberHas } from '../scope/capabilities.ts'
import { findResource, resourceTarget } from '../scope/resource-targets.ts'
import type { Scope } from '../scope/scope.ts'
import type { ScopeMember, Target } from '../scope/scope-types.ts'
import type { NotificationTarget } from '../scope/subscribers.ts'
import type { Steps } from '../scope/uri-template.ts'
import { manySteps } from '../scope/uris.ts'
import { NotificationRateLimiter } from './notification-rate-limiter.ts'
import { SubscribedUris } from './subscribed-uris.ts'
import {
  connectionKey,
  formsOf,
  removeSubscriber,
  type Subscription,
  subscriptionKey,
  weightOf,
} from './subscription.ts'

/** Most subscriptions of one session or listen stream at a time. */
const MAX_SUBSCRIPTIONS = 1_000
/** Longest wait of a listen stream for the upstreams to confirm its subscriptions. */
const LISTEN_WAIT_MS = 1_000
const EMPTY: Outcome = { kind: 'result', resultText: '{}' }
const UPDATED = 'notifications/resources/updated'

/** Resource subscriptions: one per (connection, URI) upstream, ended with its last subscriber. */
export class Subscriptions {
  readonly #upstreams: Upstreams
  readonly #sessions: SessionTable
  readonly #byKey = new Map<string, Subscription>()
  /** The last request in flight for each key. */
  readonly #underWay = new Map<string, Promise<UpstreamReply>>()
  /** Keyed by connection: the cost of an update must not grow with the number of other subscriptions. */
  readonly #byConnection = new Map<string, SubscribedUris<Subscription>>()
  readonly #pace: NotificationRateLimiter

  constructor(upstreams: Upstreams, sessions: SessionTable, now: () => number) {
    this.#upstreams = upstreams
    this.#sessions = sessions
    this.#pace = new NotificationRateLimiter(now)
  }

  /** The handlers of its methods. `forwarder`: turns replies into outcomes. */
  routes(forwarder: Forwarder): Readonly<Record<string, MethodHandler>> {
    return {
      'resources/subscribe': (routed, params) => this.#subscribe(forwarder, routed, params),
      'resources/unsubscribe': (routed, params) => this.#unsubscribe(forwarder, routed, params),
    }
  }

  /** Subscribes a listen stream. Resolves with the URIs that no upstream rejected in time; slow ones count. */
  async listen(target: NotificationTarget, uris: readonly string[]): Promise<string[]> {
    await target.scope.ready()
    const late = Promise.withResolvers<true>()
    const timer = setTimeout(() => late.resolve(true), LISTEN_WAIT_MS)
    const steps = manySteps()
    const taken = await Promise.all(
      uris.map(uri => {
        const found = subscribable(target.scope, uri, steps)
        if (!found || target.subscriptions.size >= MAX_SUBSCRIPTIONS) return false
        if (!target.bytes.fits(weightOf(subscriptionKey(found.member, target, found.original), uri))) return false
        const added = this.#add(target, found.member, found.original, uri)
        return Promise.race([added.then(({ kind }) => kind === 'result'), late.promise])
      }),
    )
    clearTimeout(timer)
    return uris.filter((_, index) => taken[index])
  }

  async #subscribe(forwarder: Forwarder, routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const { session, member, original, uri } = this.#resolve(routed, params)
    if (session.subscriptions.size >= MAX_SUBSCRIPTIONS)
      if (!session.subscriptions.has(subscriptionKey(member, session, original)))
        throw new HubError('quota_streams', `Cannot subscribe: this session has ${MAX_SUBSCRIPTIONS} subscriptions`)
    // Throws quota_bytes before anything is stored or sent.
    const reply = await this.#add(session, member, original, uri)
    return reply.kind === 'result' ? EMPTY : forwarder.outcome(routed, member, reply, { original, uri })
  }

  async #add(target: NotificationTarget, member: ScopeMember, original: string, uri: string): Promise<UpstreamReply> {
    const key = subscriptionKey(member, target, original)
    const known = this.#byKey.get(key)
    const isNew = known?.subscribers.get(target)?.has(uri) !== true
    if (isNew) target.bytes.take(weightOf(key, uri))
    const subscription = known ?? {
      key,
      sessionId: target.ownConnection(member.server)?.id,
      member,
      original,
      subscribers: new Map<NotificationTarget, Set<string>>(),
      reply: this.#send('resources/subscribe', member, target, original),
    }
    if (!known) this.#keep(subscription)
    const forms = subscription.subscribers.get(target) ?? new Set()
    subscription.subscribers.set(target, forms.add(uri))
    target.subscriptions.add(key)
    const reply = await subscription.reply
    // The subscriber may have ended while the request was in flight.
    if (target.ended && target.subscriptions.size > 0) this.drop(target)
    if (reply.kind === 'result') return reply
    removeSubscriber(subscription, target)
    if (this.#byKey.get(key) === subscription && subscription.subscribers.size === 0) this.#forget(subscription)
    return reply
  }

  async #unsubscribe(forwarder: Forwarder, routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const { session, member, original, uri } = this.#resolve(routed, params)
    const subscription = this.#byKey.get(subscriptionKey(member, session, original))
    const forms = subscription?.subscribers.get(session)
    if (!subscription || !forms?.has(uri)) return EMPTY
    if (forms.size > 1) {
      forms.delete(uri)
      session.bytes.give(weightOf(subscription.key, uri))
      return EMPTY
    }
    const reply = this.#leave(subscription, session)
    return reply === undefined ? EMPTY : forwarder.outcome(routed, member, await reply, { original, uri })
  }

  /** Drops all subscriptions of a subscriber that has ended. */
  drop(target: NotificationTarget): void {
    for (const key of target.subscriptions) {
      const subscription = this.#byKey.get(key)
      if (subscription?.subscribers.has(target)) void this.#leave(subscription, target)
    }
    target.subscriptions.clear()
  }

  dispose(): void {
    this.#pace.dispose()
  }

  /** The catalogue changed: subscriptions to resources that are hidden now, or belong to no member, are dropped. */
  review(scope: Scope): void {
    const { uris } = scope.catalog
    for (const subscription of [...this.#byKey.values()]) {
      if (uris.allows(subscription.member.server.id, subscription.original)) continue
      for (const target of [...subscription.subscribers.keys()])
        if (target.scope === scope) void this.#leave(subscription, target)
    }
  }

  /** A resource changed, or one below it: its subscribers on this connection are notified under the URI they know. */
  updated(serverId: string, sessionId: string | undefined, params: JsonObject | undefined): void {
    const uri = params?.uri
    if (typeof uri !== 'string') return
    const subscribed = this.#byConnection.get(connectionKey(serverId, sessionId))
    const covering = [...(subscribed?.covering(uri) ?? [])]
    const bytes = 2 * JSON.stringify(params).length
    const later = (at: string, own?: JsonObject): void => {
      const send = () => this.#notify(serverId, sessionId, at, own)
      this.#pace.schedule(serverId, JSON.stringify([sessionId ?? '', at]), { send, bytes: own ? bytes : 0 })
    }
    if (covering.length === 0) return
    if (this.#pace.takes(serverId, bytes)) later(uri, params)
    // Too many descendants of the subscribed resource changed: one update of the resource itself is sent.
    else for (const { original } of covering) later(original)
  }

  /** Returns the number of notifications sent. */
  #notify(serverId: string, sessionId: string | undefined, uri: string, params: JsonObject | undefined): number {
    // A client may subscribe to a resource and to one below it, and is still notified of a change once.
    const targetsOf = new Map<string, Set<NotificationTarget>>()
    const subscribed = this.#byConnection.get(connectionKey(serverId, sessionId))
    for (const subscription of subscribed?.covering(uri) ?? [])
      for (const [form, target] of formsOf(subscription, serverId, uri)) {
        const targets = targetsOf.get(form) ?? new Set()
        targetsOf.set(form, targets.add(target))
      }
    let count = 0
    for (const [form, targets] of targetsOf) {
      const notice = new Notice(UPDATED, { ...params, uri: form })
      for (const target of targets) target.notify(notice)
      count += targets.size
    }
    return count
  }

  /** Sends the subscriptions of a restored connection again, and notifies of each, since any may have changed. */
  restore(serverId: string, sessionId: string | undefined): void {
    for (const subscription of this.#on(serverId, sessionId)) {
      const { member, original, subscribers } = subscription
      const [first] = subscribers.keys()
      if (!first) continue
      subscription.reply = this.#send('resources/subscribe', member, first, original)
      for (const [target, forms] of subscribers)
        if (target.scope.catalog.uris.allows(serverId, original))
          for (const form of forms) target.notify(new Notice(UPDATED, { uri: form }))
    }
  }

  /** The subscriptions on one connection. */
  #on(serverId: string, sessionId: string | undefined): Iterable<Subscription> {
    return this.#byConnection.get(connectionKey(serverId, sessionId))?.values() ?? []
  }

  #keep(subscription: Subscription): void {
    this.#byKey.set(subscription.key, subscription)
    const key = connectionKey(subscription.member.server.id, subscription.sessionId)
    const others = this.#byConnection.get(key) ?? new SubscribedUris()
    others.set(subscription.original, subscription)
    this.#byConnection.set(key, others)
  }

  #forget(subscription: Subscription): void {
    this.#byKey.delete(subscription.key)
    const key = connectionKey(subscription.member.server.id, subscription.sessionId)
    const others = this.#byConnection.get(key)
    others?.delete(subscription.original)
    if (others?.size === 0) this.#byConnection.delete(key)
  }

  #resolve(routed: Routed, params: JsonObject | undefined) {
    const session = this.#sessions.byKey(routed.exchange.session?.id ?? '')
    if (!session) throw new HubError('method_not_found', 'Subscriptions need a session')
    const uri = params?.uri
    if (typeof uri !== 'string') throw invalid(`${routed.exchange.method} needs "uri", the URI of a resource`)
    const { scope } = routed
    // Checked before the URI: where no member supports subscriptions, the method does not exist here.
    if (!scope.catalog.states.some(state => memberHas(state, 'resources', 'subscribe')))
      throw new HubError('method_not_found', 'No server here takes subscriptions to resources')
    const { member, original } = resourceTarget(scope, uri)
    if (!takesSubscriptions(scope, member))
      throw new HubError('method_not_found', `The server of "${uri.slice(0, 256)}" takes no subscriptions`)
    return { session, member, original, uri }
  }

  /** One request at a time for each key: over HTTP two requests may overtake each other, and the last one must win. */
  #send(method: string, member: ScopeMember, target: NotificationTarget, uri: string): Promise<UpstreamReply> {
    const session = target.ownConnection(member.server)
    const key = subscriptionKey(member, target, uri)
    const older = target.scope.face(member.server.id).side === 'older'
    const request = { method, params: { uri }, older, ...(session ? { session } : {}) }
    const send = (): Promise<UpstreamReply> => this.#upstreams.request(member.server.id, request).reply
    const reply = this.#underWay.get(key)?.then(send) ?? send()
    this.#underWay.set(key, reply)
    void reply.finally(() => {
      if (this.#underWay.get(key) === reply) this.#underWay.delete(key)
    })
    return reply
  }

  #leave(subscription: Subscription, target: NotificationTarget): Promise<UpstreamReply> | undefined {
    removeSubscriber(subscription, target)
    if (subscription.subscribers.size > 0) return undefined
    this.#forget(subscription)
    // The upstream forgets subscriptions with the connection; a server that is offline must not be started for this.
    const { server } = subscription.member
    if (this.#upstreams.status(server.id, undefined, target.scope.actor.userId).state !== 'online') return undefined
    if (target.ended && target.ownConnection(subscription.member.server)?.kind === 'session') return undefined
    return this.#send('resources/unsubscribe', subscription.member, target, subscription.original)
  }
}

function takesSubscriptions(scope: Scope, { server }: ScopeMember): boolean {
  return memberHas(scope.catalog.byServer.get(server.id), 'resources', 'subscribe')
}

function subscribable(scope: Scope, uri: string, steps: Steps): Target | undefined {
  const target = findResource(scope, uri, steps)
  return target && takesSubscriptions(scope, target.member) ? target : undefined
}
