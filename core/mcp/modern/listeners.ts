import { randomBytes } from 'node:crypto'
import { LIMITS } from '../../config/limits.ts'
import type { SessionBinding } from '../../connections/api.ts'
import { type ErrorCode, HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { ServerRecord, UserActor } from '../../contract/records.ts'
import type { ByteAccount } from '../../domain/byte-account.ts'
import { SUBSCRIPTION_KEY } from '../../domain/era.ts'
import { LIST_CAPABILITIES, listChanged, listChangedFilter } from '../../domain/mcp-methods.ts'
import { scopeOf } from '../../domain/session-scope.ts'
import { requireTasks } from '../call/tasks/extension-tasks.ts'
import type { TaskFollower } from '../call/tasks/task-follower.ts'
import type { ScopedRequest } from '../legacy/scoped-request.ts'
import { admitStream, type UserLoad } from '../legacy/session.ts'
import type { StreamHost } from '../legacy/session-streams.ts'
import { SseConnection } from '../legacy/sse-connection.ts'
import { Notice } from '../rpc/notice.ts'
import { type IdText, invalid, isPlainObject, notificationMessage, parseExact, resultMessage } from '../rpc/rpc.ts'
import type { Scope } from '../scope/scope.ts'
import type { NotificationTarget } from '../scope/subscribers.ts'
import { userBinding } from '../scope/user-binding.ts'
import type { ScopePresenters } from './scope-presenter.ts'

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const TASK = 'notifications/tasks'
const UPDATED = 'notifications/resources/updated'

const NOBODY: ReadonlySet<Listener> = new Set()

interface ListenersParts {
  readonly presenters: ScopePresenters
  readonly streamHost: StreamHost
  load(userId: string): UserLoad
  /** True when the scope has a subscriber already. */
  hasSubscribers(scope: Scope): boolean
  /** Subscribes to resources; resolves with the URIs that were accepted. */
  subscribe(listener: Listener, uris: readonly string[]): Promise<readonly string[]>
  ended(listener: Listener): void
  readonly tasks: Pick<TaskFollower, 'follow'>
}

/** One `subscriptions/listen` of a modern client: a stream of notifications, each tagged with the request's id. */
export class Listener implements NotificationTarget {
  readonly key = `listen-${randomBytes(12).toString('base64url')}`
  readonly scope: Scope
  readonly actor: UserActor
  readonly id: IdText
  readonly subscriptions = new Set<string>()
  readonly connection: SseConnection
  readonly bytes: ByteAccount
  /** Aborted when the stream has ended. */
  readonly over = new AbortController()
  readonly #tag: JsonObject
  readonly #methods: Set<string>
  /** Notifications from before the acknowledgement, which must be sent first. */
  #early: string[] | undefined = []

  constructor(
    { scope, actor }: ScopedRequest,
    id: IdText,
    methods: Set<string>,
    connection: SseConnection,
    bytes: ByteAccount,
  ) {
    this.bytes = bytes
    this.scope = scope
    this.actor = actor
    this.id = id
    this.connection = connection
    this.#methods = methods
    this.#tag = { [SUBSCRIPTION_KEY]: parseExact(id) }
  }

  get ended(): boolean {
    return !this.connection.open
  }

  acknowledge(honoured: JsonObject): void {
    this.connection.message(notificationMessage(ACKNOWLEDGED, { notifications: honoured, _meta: this.#tag }))
    for (const text of this.#early ?? []) this.connection.message(text)
    this.#early = undefined
  }

  notify({ method, params }: Notice): void {
    if (method !== UPDATED && method !== TASK && !this.#methods.has(method)) return
    const meta = isPlainObject(params?._meta) ? params._meta : {}
    const text = notificationMessage(method, { ...params, _meta: { ...meta, ...this.#tag } })
    if (this.#early) this.#early.push(text)
    else this.connection.message(text)
  }

  /** Its subscriptions use the shared or the user's connection: a listen stream carries no server requests. */
  ownConnection(server: ServerRecord): SessionBinding | undefined {
    return scopeOf(server) === 'per-user' ? userBinding(this.actor.userId) : undefined
  }

  /** Ends the stream by the hub: the request gets its result, and the stream the reason, `code`, if there is one. */
  end(presenter: { result(method: string, value: JsonObject): string }, code?: ErrorCode): void {
    const result = presenter.result('subscriptions/listen', { _meta: this.#tag })
    this.connection.message(resultMessage(this.id, result))
    this.connection.close(code)
  }
}

/** The listen streams of all modern clients. */
export class Listeners {
  readonly #parts: ListenersParts
  readonly #byScope = new Map<Scope, Set<Listener>>()

  constructor(parts: ListenersParts) {
    this.#parts = parts
  }

  of(scope: Scope): ReadonlySet<Listener> {
    return this.#byScope.get(scope) ?? NOBODY
  }

  *[Symbol.iterator](): IterableIterator<Listener> {
    for (const listeners of this.#byScope.values()) yield* listeners
  }

  /**
   * Opens a stream; the acknowledgement is the first message on it. `declared`: the client's capabilities. Throws
   * params_invalid, quota_streams, client_capability_missing.
   */
  open(scoped: ScopedRequest, id: IdText, params: JsonObject | undefined, declared: JsonObject): Response {
    const { scope, actor, info } = scoped
    const filter = params?.notifications
    if (!isPlainObject(filter)) throw invalid('subscriptions/listen needs "notifications", an object')
    const uris = wanted(filter.resourceSubscriptions, 'resourceSubscriptions', 'URIs')
    const taskIds = wanted(filter.taskIds, 'taskIds', 'ids of tasks')
    this.#admit(actor)
    if (taskIds) requireTasks(declared)
    const { capabilities } = this.#parts.presenters.of(scope)
    const lists = LIST_CAPABILITIES.filter(list => filter[listChangedFilter(list)] === true && capabilities[list])
    info.keepOpen()
    const load = this.#parts.load(actor.userId)
    const host = this.#parts.streamHost
    const connection: SseConnection = new SseConnection(host.now, load.bytes, () => {
      load.streams -= 1
      host.closed(connection)
      this.#forget(listener)
    })
    const listener = new Listener(scoped, id, new Set(lists.map(listChanged)), connection, load.bytes)
    load.streams += 1
    host.opened(connection)
    // Changes from before the first subscriber are not announced to it.
    if (!this.#parts.hasSubscribers(scope)) scope.markAnnounced()
    this.#add(listener)
    const honoured: JsonObject = Object.fromEntries(lists.map(list => [listChangedFilter(list), true]))
    if (taskIds) honoured.taskIds = [...this.#follow(scoped, listener, taskIds, declared)]
    if (uris === undefined) listener.acknowledge(honoured)
    else
      void this.#parts
        .subscribe(listener, uris)
        .then(held => listener.acknowledge({ ...honoured, resourceSubscriptions: [...held] }))
    return connection.response
  }

  /** Ends this stream by the hub. */
  end(listener: Listener, code?: ErrorCode): void {
    listener.end(this.#parts.presenters.of(listener.scope), code)
  }

  endAll(): void {
    for (const listener of [...this]) this.end(listener)
  }

  countOf(userId: string): number {
    let count = 0
    for (const { actor } of this) if (actor.userId === userId) count += 1
    return count
  }

  #admit({ userId }: UserActor): void {
    admitStream(this.#parts.load(userId))
    if (this.countOf(userId) >= LIMITS.listenStreamsPerUser)
      throw new HubError('quota_streams', `Cannot listen: ${LIMITS.listenStreamsPerUser} streams of yours are open`, {
        retryAfterSeconds: 5,
      })
  }

  #add(listener: Listener): void {
    const others = this.#byScope.get(listener.scope)
    if (others) others.add(listener)
    else this.#byScope.set(listener.scope, new Set([listener]))
  }

  #follow({ info, actor, scope }: ScopedRequest, listener: Listener, ids: readonly string[], capabilities: JsonObject) {
    const { requestId, clientAddress } = info
    const { signal } = listener.over
    return this.#parts.tasks.follow({ requestId, clientAddress, actor, scope, capabilities, signal }, ids, task =>
      listener.notify(new Notice(TASK, task)),
    )
  }

  #forget(listener: Listener): void {
    const others = this.#byScope.get(listener.scope)
    if (!others?.delete(listener)) return
    if (others.size === 0) this.#byScope.delete(listener.scope)
    listener.over.abort()
    this.#parts.ended(listener)
  }
}

/** Undefined when the client did not request them. Throws params_invalid. */
function wanted(value: JsonValue | undefined, member: string, what: string): readonly string[] | undefined {
  if (value === undefined) return undefined
  if (Array.isArray(value) && value.every(each => typeof each === 'string')) return [...new Set(value)]
  throw invalid(`"${member}" must be a list of ${what}`)
}
