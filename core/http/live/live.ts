import type { LiveCredentials } from '../../auth/live-credentials.ts'
import { LIMITS } from '../../config/limits.ts'
import { type ErrorCode, HubError } from '../../contract/errors.ts'
import type { PluginEvents } from '../../contract/events.ts'
import type { UserActor } from '../../contract/records.ts'
import type { ByteAccount, BytesInFlight } from '../../domain/byte-account.ts'
import type { EventBus } from '../../events/bus.ts'
import type { HubEvent } from '../../events/catalog.ts'
import type { Registry } from '../../registry/api.ts'
import { EventHistory } from './event-history.ts'
import { EventIds } from './event-ids.ts'
import {
  LIVE_EVENTS,
  type LiveEvent,
  liveEvent,
  type RolesUnderMcp,
  TOPICS,
  type Topic,
  textFor,
  visibleTo,
  WHILE_WANTED,
} from './live-events.ts'

const PING_MS = 15_000
const STUCK_MS = 30_000

/** One reader's connection, over any transport. */
export interface LiveSink {
  /** Bytes that the hub holds because the reader has not taken them. */
  readonly waitingBytes: number
  /** Called when the reader is registered: it misses nothing from now on. */
  joined(): void
  /** False when the queue is full: this reader loses the event. */
  event(event: LiveEvent): boolean
  /** Reports the events lost since the last call; null: unknown. False when the queue is too full for that as well. */
  lost(count: number | null): boolean
  ping(): void
  /** Called when the feed has ended, with the reason. */
  end(code: ErrorCode): void
}

/** Dependencies of the live feed, and times that replace the defaults. */
export interface LiveFeedOptions {
  readonly bus: EventBus
  readonly credentials: Pick<LiveCredentials, 'watch'>
  readonly users: Pick<Registry['users'], 'list'>
  readonly roles: Pick<RolesUnderMcp, 'roleUnderMcp'>
  /** Bytes waiting for a reader are charged to its user. */
  readonly bytes: Pick<BytesInFlight, 'user'>
  /** Milliseconds between two pings. Default 15_000: a peer that answers none is disconnected within 60 s. */
  readonly pingMs?: number
  /** Longest time for which a reader may accept nothing while events wait, in milliseconds. Default 30_000. */
  readonly stuckMs?: number
}

interface Reader {
  readonly actor: UserActor
  readonly topics: ReadonlySet<Topic>
  readonly sink: LiveSink
  readonly account: ByteAccount
  /** Bytes charged to the account for this reader. */
  countedBytes: number
  lost: number
  stuckSinceMs: number
  /** Stops watching the credential. */
  unwatch: () => void
}

/**
 * Sends events to the readers that may see them: own and public ones, those about things that are shared with them, all to
 * administrators. One feed serves all readers; a slow reader loses events and gets their number. Readers are disconnected when their credential ends.
 */
export class LiveFeed {
  readonly #options: LiveFeedOptions
  readonly #roles: RolesUnderMcp
  readonly #histories: ReadonlyMap<Topic, EventHistory>
  readonly #ids = new EventIds()
  readonly #readers = new Set<Reader>()
  readonly #names = new Map<string, string>()
  /** Ids of disabled users. */
  readonly #disabled = new Set<string>()
  readonly #stops: (() => void)[] = []
  readonly #wanted = new Map<Topic, () => void>()
  #namesLoaded: Promise<void> | undefined
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(options: LiveFeedOptions) {
    this.#options = options
    this.#roles = {
      roleUnderMcp: (userId, thing) => options.roles.roleUnderMcp(userId, thing),
      isDisabled: userId => this.#disabled.has(userId),
    }
    const limits = { events: LIMITS.eventReplayEvents, bytes: LIMITS.eventReplayBytes, ageMs: LIMITS.eventReplayMs }
    this.#histories = new Map(TOPICS.map(topic => [topic, new EventHistory(limits, !WHILE_WANTED.has(topic))]))
    const { bus } = options
    for (const topic of TOPICS) if (!WHILE_WANTED.has(topic)) this.#stops.push(this.#listen(topic))
    const named = ({ data }: { data: PluginEvents['user.updated'] }) => this.#know(data.userId, data)
    this.#stops.push(bus.on('user.created', named), bus.on('user.updated', named))
  }

  /**
   * Adds a reader and sends the events after `since` (the id of the last event it has seen). Returns functions to leave
   * and to report a drained queue. Throws `quota_streams`.
   */
  async join(
    actor: UserActor,
    topics: ReadonlySet<Topic>,
    since: string | undefined,
    sink: LiveSink,
  ): Promise<{ leave(): void; drained(): void }> {
    this.#namesLoaded ??= this.#loadNames()
    await this.#namesLoaded
    const own = this.readersOf(actor.userId)
    if (own >= LIMITS.liveStreamsPerUser) {
      throw new HubError('quota_streams', `You have ${own} streams open, which is the limit`, {
        retryAfterSeconds: 10,
      })
    }
    const account = this.#options.bytes.user(actor.userId)
    const counts = { countedBytes: 0, lost: 0, stuckSinceMs: 0 }
    const reader: Reader = { actor, topics, sink, account, ...counts, unwatch: () => {} }
    reader.unwatch = this.#options.credentials.watch(actor, ({ code }) => this.#end(reader, code))
    this.#readers.add(reader)
    this.#follow()
    sink.joined()
    if (since !== undefined) this.#catchUp(reader, since)
    return { leave: () => this.#remove(reader), drained: () => this.#drained(reader) }
  }

  /** Disconnects every reader, when the hub stops. */
  dispose(): void {
    for (const reader of [...this.#readers]) this.#end(reader, 'draining')
    for (const stop of this.#stops.splice(0)) stop()
  }

  get readers(): number {
    return this.#readers.size
  }

  readersOf(userId: string): number {
    let count = 0
    for (const { actor } of this.#readers) if (actor.userId === userId) count += 1
    return count
  }

  #dispatch(topic: Topic, event: HubEvent): void {
    if (event.audience === 'internal') return
    const payload = liveEvent(this.#ids, topic, event, this.#names)
    this.#histories.get(topic)?.add(payload)
    for (const reader of this.#readers) this.#send(reader, payload)
  }

  /** An id of another process, or one that is too old, means a gap of unknown size. */
  #catchUp(reader: Reader, since: string): void {
    const number = this.#ids.numberOf(since)
    const sees = (event: LiveEvent): boolean => visibleTo(event, reader.actor, this.#roles)
    const parts = [...reader.topics].map(topic => this.#histories.get(topic)?.after(number ?? 0, sees))
    if (number === undefined || parts.some(part => part?.complete === false)) reader.sink.lost(null)
    const missed = parts.flatMap(part => part?.events ?? []).sort((left, right) => left.number - right.number)
    for (const event of missed) this.#send(reader, event)
  }

  #send(reader: Reader, event: LiveEvent): void {
    if (!reader.topics.has(event.topic)) return
    const text = textFor(event, reader.actor, this.#roles)
    if (text === undefined) return
    const sent = text === event.text ? event : { ...event, text }
    if (this.#reportLost(reader) && this.#fits(reader, sent) && reader.sink.event(sent)) return count(reader)
    if (reader.lost === 0) reader.stuckSinceMs = performance.now()
    reader.lost += 1
  }

  /** Always true for a reader with an empty queue. */
  #fits(reader: Reader, { text }: LiveEvent): boolean {
    count(reader)
    return reader.countedBytes === 0 || reader.account.fits(text.length)
  }

  #drained(reader: Reader): void {
    if (!this.#readers.has(reader)) return
    count(reader)
    this.#reportLost(reader)
  }

  /** False while the queue is too full even for the number of lost events. */
  #reportLost(reader: Reader): boolean {
    if (reader.lost === 0) return true
    if (!reader.sink.lost(reader.lost)) return false
    reader.lost = 0
    return true
  }

  #listen(topic: Topic): () => void {
    const { bus } = this.#options
    const dispatch = (event: HubEvent): void => this.#dispatch(topic, event)
    const stops =
      topic === 'plugins' ? [bus.onPlugins(dispatch)] : LIVE_EVENTS[topic].map(name => bus.on(name, dispatch))
    return () => {
      for (const stop of stops) stop()
    }
  }

  /** Starts or stops the ping timer and the listeners of frequent events, as the present readers need them. */
  #follow(): void {
    for (const topic of WHILE_WANTED) {
      const wanted = [...this.#readers].some(reader => reader.topics.has(topic))
      const stop = this.#wanted.get(topic)
      if (wanted && !stop) this.#wanted.set(topic, this.#listen(topic))
      if (!wanted && stop) {
        stop()
        this.#wanted.delete(topic)
        this.#histories.get(topic)?.interrupt()
      }
    }
    if (this.#readers.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    } else if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#ping(), this.#options.pingMs ?? PING_MS)
    }
  }

  #ping(): void {
    const stuckMs = this.#options.stuckMs ?? STUCK_MS
    for (const reader of this.#readers) {
      count(reader)
      if (reader.lost > 0 && performance.now() - reader.stuckSinceMs > stuckMs) this.#end(reader, 'overloaded')
      else reader.sink.ping()
    }
  }

  #end(reader: Reader, code: ErrorCode): void {
    if (!this.#readers.has(reader)) return
    this.#remove(reader)
    reader.sink.end(code)
  }

  #remove(reader: Reader): void {
    if (!this.#readers.delete(reader)) return
    reader.unwatch()
    reader.account.give(reader.countedBytes)
    reader.countedBytes = 0
    this.#follow()
  }

  #know(userId: string, { name, disabled }: { readonly name: string; readonly disabled?: boolean }): void {
    this.#names.set(userId, name)
    if (disabled === true) this.#disabled.add(userId)
    else this.#disabled.delete(userId)
  }

  async #loadNames(): Promise<void> {
    try {
      const users = await this.#options.users.list({ kind: 'system', purpose: 'live events' }, { scope: 'all' })
      // An event meanwhile is newer.
      for (const user of users) if (!this.#names.has(user.id)) this.#know(user.id, user)
    } catch (error) {
      this.#namesLoaded = undefined
      throw error
    }
  }
}

/** Charges the account for the bytes that wait for the reader now. */
function count(reader: Reader): void {
  const { account, sink, countedBytes } = reader
  const { waitingBytes } = sink
  reader.countedBytes = waitingBytes
  if (waitingBytes > countedBytes) account.add(waitingBytes - countedBytes)
  else if (waitingBytes < countedBytes) account.give(countedBytes - waitingBytes)
}
