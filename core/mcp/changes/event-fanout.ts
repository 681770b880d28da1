import type { Upstreams } from '../../connections/api.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import { changedCapability, type ListCapability } from '../../domain/mcp-methods.ts'
import { HEADER_CONSENTS } from '../../domain/server/header-consents.ts'
import type { EventBus } from '../../events/bus.ts'
import type { EventCatalog } from '../../events/catalog.ts'
import type { ContentFilter } from '../../features/filters.ts'
import type { TaskTable } from '../call/tasks/task-table.ts'
import { filteredRequest, filtersOf } from '../filters/request-filter.ts'
import { SentElicitations } from '../legacy/sent-elicitations.ts'
import type { Session } from '../legacy/session.ts'
import type { SessionTable } from '../legacy/sessions.ts'
import { logLevelOf } from '../rpc/log-levels.ts'
import { Notice } from '../rpc/notice.ts'
import { Signal } from '../rpc/signal.ts'
import type { OfflineGracePeriod } from '../scope/offline-grace.ts'
import type { ScopeTable } from '../scope/paths.ts'
import type { Scope } from '../scope/scope.ts'
import type { NotificationTarget } from '../scope/subscribers.ts'
import type { ListChanges } from './list-changes.ts'
import { PageVisits } from './page-visits.ts'
import type { Subscriptions } from './subscriptions.ts'
import type { UpstreamLevels } from './upstream-levels.ts'

/** Registry changes within this time are reviewed together. */
const REVIEW_MS = 200
const REREAD_WAIT_MS = 2_000
/** MCP notifications that are meaningless without their request, or that only clients send. */
const OF_CALLS: ReadonlySet<string> = new Set([
  'notifications/progress',
  'notifications/cancelled',
  'notifications/initialized',
  'notifications/roots/list_changed',
])

export interface EventFanoutParts {
  readonly bus: EventBus
  readonly upstreams: Upstreams
  readonly scopes: ScopeTable
  readonly sessions: SessionTable
  readonly changes: ListChanges
  readonly subscriptions: Subscriptions
  readonly levels: UpstreamLevels
  readonly offlineGrace: OfflineGracePeriod
  readonly tasks: Pick<TaskTable, 'statusChanged'>
  readonly filters: () => ReadonlyMap<string, ContentFilter>
  readonly log: PluginLogger
  subscribersOf(scope: Scope): Iterable<NotificationTarget>
  /** True when somebody would notice a change of the scope. */
  inUse(scope: Scope): boolean
}

/** The running read of a server's lists, and the next one for changes that came meanwhile. */
interface Rereading {
  readonly now: Promise<void>
  next: Promise<void> | undefined
}

/** Forwards events of the hub and notifications of upstreams to the sessions and streams that they concern. */
export class UpstreamEventFanout {
  /** A scope was resolved again: calls in flight may have lost their targets. */
  readonly scopeChanged = new Signal<[scope: Scope]>()
  /** A path resolves to nothing any more. */
  readonly scopeEnded = new Signal<[scope: Scope]>()
  readonly #parts: EventFanoutParts
  readonly #listening: (() => void)[]
  readonly #toReview = new Set<Scope>()
  readonly #rereading = new Map<string, Rereading>()
  readonly #elicitations = new SentElicitations()
  readonly #pageVisits = new PageVisits()
  #reviewTimer: ReturnType<typeof setTimeout> | undefined

  constructor(parts: EventFanoutParts) {
    this.#parts = parts
    const { bus } = parts
    this.#listening = [
      bus.on('catalog.changed', ({ data }) => this.#catalogChanged(data.serverId, data.kinds, data.older)),
      bus.on('caller.lists', ({ data: { serverId, userId, kinds } }) => {
        const isOwn = (scope: Scope): boolean => scope.actor.userId === userId
        this.#touched(serverId, isOwn)
        this.#announce(serverId, kinds, isOwn)
      }),
      bus.on('connection.state', ({ data }) => {
        // Checked now, so that the outage's start is recorded even if no list is requested meanwhile.
        parts.offlineGrace.listed(data.serverId)
        this.#touched(data.serverId)
      }),
      bus.on('credential.changed', ({ data: { serverId, userId, held } }) => {
        this.#registryChanged(scope => wantsSignIn(scope, serverId, userId) === held)
        if (held) this.#signedIn(serverId, userId)
      }),
      bus.on('server.created', ({ ownerId }) => this.#registryChanged(scope => ownsAll(scope, ownerId))),
      bus.on('server.updated', ({ data, ownerId }) => {
        const others = data.changed.some(field => field === 'visibility' || field === 'owner')
        this.#serverChanged(data.serverId, ownerId, others)
      }),
      bus.on('server.removed', ({ data, ownerId }) => {
        parts.offlineGrace.forget(data.serverId)
        this.#serverChanged(data.serverId, ownerId, false)
      }),
      bus.on('group.created', () => this.#registryChanged(scope => scope.resolved.kind === 'server')),
      bus.on('group.updated', ({ data }) => this.#groupChanged(data.groupId)),
      bus.on('group.removed', ({ data }) => this.#groupChanged(data.groupId)),
      bus.on('share.changed', ({ ownerId }) => this.#registryChanged(({ actor }) => actor.userId === ownerId)),
      bus.on('user.updated', () => this.#registryChanged(() => true)),
      bus.on('user.removed', () => this.#registryChanged(() => true)),
      bus.on('settings.updated', ({ data }) => {
        if (data.keys.includes(HEADER_CONSENTS)) this.#registryChanged(({ actor }) => actor.userId === data.userId)
      }),
      bus.on('plugin.changed', () => this.#registryChanged(() => true)),
      bus.on('upstream.notification', ({ data }) => {
        if (!this.notice(data.serverId, data.sessionId, data.method, data.params)) this.#toSession(data)
      }),
      bus.on('upstream.connected', ({ data }) => {
        parts.levels.connected(data.serverId, data.sessionId)
        if (data.again) parts.subscriptions.restore(data.serverId, data.sessionId)
      }),
    ]
  }

  /** Handles an upstream's notification. False when it belongs to one call, whose stream must carry it. */
  notice(serverId: string, sessionId: string | undefined, method: string, params: JsonObject | undefined): boolean {
    const { subscriptions } = this.#parts
    const changed = changedCapability(method)
    if (changed) {
      // Announced after the read, otherwise clients would be notified of one change twice.
      void this.#reread(serverId).then(() => this.#announce(serverId, [changed], scope => scope.readsOwners(serverId)))
      return true
    }
    switch (method) {
      case 'notifications/resources/updated':
        subscriptions.updated(serverId, sessionId, params)
        return true
      case 'notifications/tasks/status':
        this.#taskTold(serverId, sessionId, params)
        return true
      case 'notifications/elicitation/complete':
        return this.#elicitationComplete(serverId, sessionId, params)
      default:
        return false
    }
  }

  /** Records that a client was sent a URL elicitation, so that it is notified of its completion. */
  recordUrlElicitation(sessionId: string, serverId: string, elicitationId: string): void {
    const session = this.#parts.sessions.byKey(sessionId)
    if (session) this.#elicitations.sent(session, serverId, elicitationId)
  }

  /** The `elicitationId` for the sign-in of a session's user at a server. It stays the same until the sign-in is done. */
  pageVisitId(sessionId: string | undefined, serverId: string): string {
    const session = sessionId === undefined ? undefined : this.#parts.sessions.byKey(sessionId)
    return this.#pageVisits.idFor(session, serverId)
  }

  /** Called when a session has ended. */
  dropped(session: Session): void {
    this.#elicitations.drop(session)
  }

  /**
   * Resolves when a list may be sent: after the members never seen, the lists for clients with such capabilities, and the lists
   * that are being read again. Undefined when it need not wait.
   */
  settled(scope: Scope, capabilities: JsonObject | undefined): Promise<void> | undefined {
    const waits: Promise<void>[] = []
    for (const { server } of scope.resolved.members)
      this.#parts.upstreams.listed(server.id, scope.face(server.id).side, scope.actor.userId)
    const ready = scope.ready(capabilities)
    if (ready !== undefined) waits.push(ready)
    for (const [serverId, { now }] of this.#rereading) if (scope.has(serverId)) waits.push(now)
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined)
  }

  /** Called periodically: members whose grace period has ended leave the lists. */
  sweep(): void {
    for (const serverId of this.#parts.offlineGrace.expired()) this.#touched(serverId)
  }

  dispose(): void {
    for (const stop of this.#listening) stop()
    clearTimeout(this.#reviewTimer)
    this.#parts.changes.dispose()
  }

  /**
   * A notification that belongs to no call reaches only the session of the dedicated connection: log messages of the
   * level that it wants, and notifications that MCP does not define.
   */
  #toSession({ serverId, sessionId, method, params }: EventCatalog['upstream.notification']): void {
    if (sessionId === undefined || OF_CALLS.has(method)) return
    const session = this.#parts.sessions.byKey(sessionId)
    if (!session?.scope.has(serverId)) return
    const unwanted = method === 'notifications/message' && logLevelOf(params?.level) < wantedLevel(session)
    if (unwanted) return
    const server = session.scope.resolved.members.find(member => member.server.id === serverId)?.server
    const filters =
      server &&
      filtersOf(this.#parts.filters(), () => filteredRequest(session.scope, server, { method, actor: session.actor }))
    if (!filters) return session.notify(new Notice(method, params))
    filters.notice(params).then(
      passed => session.notify(new Notice(method, passed)),
      // Refused: nobody waits for it.
      () => undefined,
    )
  }

  #catalogChanged(serverId: string, kinds: readonly ListCapability[], older = false): void {
    this.#touched(serverId)
    // Announced even if the merged list is unchanged: the upstream reported a change.
    const concerns = (scope: Scope): boolean =>
      (scope.face(serverId).side === 'older') === older && scope.readsOwners(serverId)
    this.#announce(serverId, kinds, concerns)
  }

  #announce(serverId: string, kinds: readonly ListCapability[], concerns: (scope: Scope) => boolean): void {
    for (const scope of this.#parts.scopes)
      if (scope.has(serverId) && concerns(scope)) this.#parts.changes.announce(scope, kinds)
  }

  /** Resolves when the lists were read completely after this call, or the wait timed out. */
  #reread(serverId: string): Promise<void> {
    const running = this.#rereading.get(serverId)
    if (!running) return this.#beginReading(serverId)
    // The running read may be past the changed list.
    running.next ??= running.now.then(() => this.#beginReading(serverId))
    return running.next
  }

  #beginReading(serverId: string): Promise<void> {
    const { upstreams } = this.#parts
    upstreams.refresh(serverId)
    const now = upstreams.catalogsReady([serverId], REREAD_WAIT_MS).finally(() => {
      if (this.#rereading.get(serverId) === reading) this.#rereading.delete(serverId)
    })
    const reading: Rereading = { now, next: undefined }
    this.#rereading.set(serverId, reading)
    return now
  }

  #touched(serverId: string, concerns: (scope: Scope) => boolean = () => true): void {
    for (const scope of this.#parts.scopes) {
      if (!scope.has(serverId) || !concerns(scope)) continue
      scope.touch()
      this.#review(scope)
    }
  }

  /** `others`: it changed who may use the server. Groups of other owners may contain it. */
  #serverChanged(serverId: string, ownerId: string | null, others: boolean): void {
    this.#registryChanged(
      scope => scope.has(serverId) || ownsAll(scope, ownerId) || (others && scope.resolved.kind === 'group'),
    )
  }

  #groupChanged(groupId: string): void {
    this.#registryChanged(scope => scope.resolved.kind === 'server' || scope.resolved.group.id === groupId)
  }

  #registryChanged(affected: (scope: Scope) => boolean): void {
    const { scopes } = this.#parts
    scopes.invalidate(affected)
    for (const scope of scopes) if (scope.stale) this.#review(scope)
  }

  #review(scope: Scope): void {
    if (!this.#parts.inUse(scope)) return
    this.#toReview.add(scope)
    this.#reviewTimer ??= setTimeout(() => {
      this.#reviewTimer = undefined
      const scopesToReview = [...this.#toReview]
      this.#toReview.clear()
      for (const each of scopesToReview)
        this.#reviewNow(each).catch((error: unknown) => {
          this.#parts.log.error('A scope could not be reviewed after a change', {
            scope: each.path,
            error: String(error),
          })
        })
    }, REVIEW_MS)
  }

  async #reviewNow(scope: Scope): Promise<void> {
    const { scopes, changes, subscriptions, levels } = this.#parts
    if (scope.stale) await scopes.refresh(scope).catch((error: unknown) => this.#afterFailedRefresh(scope, error))
    if (scope.gone) {
      changes.forget(scope)
      this.scopeEnded.emit(scope)
      return
    }
    if (scope.stale) return
    this.scopeChanged.emit(scope)
    subscriptions.review(scope)
    levels.review(scope)
    changes.announce(scope, scope.changedLists())
  }

  /** A path that resolves to nothing ends its sessions; on any other failure (of the store) they stay. */
  #afterFailedRefresh(scope: Scope, error: unknown): void {
    if (!scope.gone) throw error
  }

  /** Notifies only the client that created the task. */
  #taskTold(serverId: string, connection: string | undefined, params: JsonObject | undefined): void {
    const { tasks, sessions } = this.#parts
    const changed = tasks.statusChanged(serverId, connection, params)
    const session = changed && sessions.byKey(changed.session)
    if (session?.scope.has(serverId)) session.notify(new Notice('notifications/tasks/status', changed?.params))
  }

  /** Tells the sessions of a user that were sent to sign in at a server. */
  #signedIn(serverId: string, userId: string): void {
    for (const scope of this.#parts.scopes) {
      if (scope.actor.userId !== userId || !scope.has(serverId)) continue
      for (const target of this.#parts.subscribersOf(scope)) {
        const elicitationId = this.#pageVisits.done(target, serverId)
        if (elicitationId !== undefined)
          target.notify(new Notice('notifications/elicitation/complete', { elicitationId }))
      }
    }
  }

  #elicitationComplete(serverId: string, sessionId: string | undefined, params: JsonObject | undefined): boolean {
    const { sessions } = this.#parts
    const sent = this.#elicitations.completed(serverId, String(params?.elicitationId))
    const own = sessionId === undefined ? undefined : sessions.byKey(sessionId)
    if (sent.length === 0 && own) sent.push(own)
    const notice = new Notice('notifications/elicitation/complete', params)
    for (const session of sent) if (session.scope.has(serverId)) session.notify(notice)
    return true
  }
}

function ownsAll(scope: Scope, ownerId: string | null): boolean {
  return scope.resolved.kind === 'all' && scope.actor.userId === ownerId
}

/** Undefined: the scope is another user's, or does not have the server. */
function wantsSignIn(scope: Scope, serverId: string, userId: string): boolean | undefined {
  const concerns = scope.actor.userId === userId && scope.has(serverId)
  return concerns ? scope.resolved.signIns?.has(serverId) === true : undefined
}

function wantedLevel(session: Session): number {
  return session.logLevel ?? logLevelOf('info')
}
