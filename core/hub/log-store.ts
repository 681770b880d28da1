import type { EventBus } from '../events/bus.ts'
import type { DurationRow, LogStore, PendingRows } from '../features/log-store.ts'
import type { HubLog } from '../telemetry/log.ts'
import { LogTally } from '../telemetry/log-tally.ts'

/** Name of the store's queue among the sinks, whichever plugin has the store. */
const SINK = 'database'

/** Dependencies of {@link StoreFeeds}. */
export interface StoreFeedParts {
  readonly hubLog: HubLog
  readonly bus: Pick<EventBus, 'on' | 'emit'>
  readonly durations: PendingRows<DurationRow>
}

/** Counts records, and gives each store of log records its queue and its numbers. */
export class StoreFeeds {
  readonly #parts: StoreFeedParts
  readonly #tally = new LogTally()
  /** True until it is known that nothing is stored. */
  #isCounting = true
  #current: LogStore | undefined

  constructor(parts: StoreFeedParts) {
    this.#parts = parts
    parts.hubLog.onCounted(key => {
      if (this.#isCounting) this.#tally.add(key)
    })
  }

  /**
   * `stores`: live, the contributions to the point `logStore`. Called once, when the plugins have started. Returns what reads the
   * present store.
   */
  follow(stores: ReadonlyMap<string, LogStore>): () => LogStore | undefined {
    this.#open(stores)
    this.#parts.bus.on('plugin.changed', () => this.#open(stores))
    return () => stores.values().next().value
  }

  #open(stores: ReadonlyMap<string, LogStore>): void {
    const { value: store } = stores.values().next()
    if (store !== undefined && store === this.#current) return
    if (!this.#isCounting) this.#forgetNumbers()
    this.#current = store
    this.#isCounting = store?.sink !== undefined
    if (store?.sink) this.#feed(store.sink)
    else this.#forgetNumbers()
  }

  /** Numbers of a time in which nothing was stored. */
  #forgetNumbers(): void {
    this.#tally.take()
    this.#parts.durations.take()
  }

  #feed(sink: NonNullable<LogStore['sink']>): void {
    const { hubLog, bus, durations } = this.#parts
    const log = hubLog.with({ component: `sink:${SINK}` })
    const queue = hubLog.feed.add(SINK, {
      ...sink.queue,
      get maxBatch() {
        return sink.maxBatch
      },
      send: batch => sink.write(batch),
      changed(state, error) {
        bus.emit('sink.state', null, { sink: SINK, state })
        if (state === 'up') log.info('Log records are stored again')
        else log.error('Log records cannot be stored now; they wait', { error: String(error) })
      },
    })
    sink.opened({
      get waiting() {
        return queue.waiting
      },
      get arrived() {
        return queue.arrived
      },
      get fault() {
        return queue.fault
      },
      flush: withinMs => queue.flush(withinMs),
      tally: this.#tally,
      durations,
      end: withinMs => hubLog.feed.remove(SINK, withinMs),
    })
  }
}
