import type { UpstreamReply } from '../../connections/api.ts'
import type { ScopeMember } from '../scope/scope-types.ts'
import type { NotificationTarget } from '../scope/subscribers.ts'

/** Bytes that a subscription takes in memory besides its texts. */
const SUBSCRIPTION_BYTES = 512

/** One subscription at an upstream, shared by all subscribers on the same connection to it. */
export interface Subscription {
  readonly key: string
  /** The session whose dedicated connection carries it; undefined: the shared one. */
  readonly sessionId: string | undefined
  readonly member: ScopeMember
  readonly original: string
  /** Each subscriber with the forms of the URI under which it subscribed. */
  readonly subscribers: Map<NotificationTarget, Set<string>>
  reply: Promise<UpstreamReply>
}

/**
 * Yields who is notified that this URI has changed, and under which URI: the form subscribed to, or the public form of a URI
 * below it.
 */
export function* formsOf(
  { original, subscribers }: Subscription,
  serverId: string,
  uri: string,
): IterableIterator<[form: string, target: NotificationTarget]> {
  for (const [target, forms] of subscribers) {
    const { uris } = target.scope.catalog
    if (!uris.allows(serverId, original)) continue
    for (const form of uri === original ? forms : [uris.publicUri(serverId, uri)]) yield [form, target]
  }
}

/** Removes the target from the subscription and returns the bytes that it was charged. */
export function removeSubscriber({ key, subscribers }: Subscription, target: NotificationTarget): void {
  for (const uri of subscribers.get(target) ?? []) target.bytes.give(weightOf(key, uri))
  subscribers.delete(target)
  target.subscriptions.delete(key)
}

/** Bytes that one form of a subscribed URI is charged: at most two a character, here and in the connection's thread. */
export function weightOf(key: string, uri: string): number {
  return SUBSCRIPTION_BYTES + 2 * (2 * key.length + uri.length)
}

/** The key of one URI of a server on the connection that this subscriber uses. */
export function subscriptionKey({ server }: ScopeMember, target: NotificationTarget, original: string): string {
  return JSON.stringify([server.id, target.ownConnection(server)?.id ?? '', original])
}

/** `sessionId`: of a dedicated connection; undefined: the shared one. */
export function connectionKey(serverId: string, sessionId: string | undefined): string {
  return `${serverId} ${sessionId ?? ''}`
}
