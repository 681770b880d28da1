import type { EventCatalog, EventName, HubEvent } from './catalog.ts'

type Handler<N extends EventName> = (event: HubEvent<N>) => void

/** Delivers events to listeners in order, synchronously. A handler that throws is reported, and the others still run. */
export class EventBus {
  readonly #handlers = new Map<EventName | '*', Set<Handler<never>>>()
  readonly #ofPlugins = new Set<Handler<never>>()
  readonly #onHandlerError: (error: unknown, name: EventName) => void
  #lastId = 0

  constructor(onHandlerError: (error: unknown, name: EventName) => void) {
    this.#onHandlerError = onHandlerError
  }

  /** True when there is a listener, so that a hot path can skip building the payload. */
  wants(name: EventName): boolean {
    return this.#handlers.has(name) || this.#handlers.has('*')
  }

  /** `ownerId` null: an event of the hub itself. `audience` defaults to `owner`. */
  emit<N extends EventName>(
    name: N,
    ownerId: string | null,
    data: EventCatalog[N],
    audience: HubEvent['audience'] = 'owner',
  ): void {
    this.#sent(name, ownerId, data, audience)
  }

  /** The same for an event that a plugin has defined, which listeners to {@link onPlugins} get too. */
  emitOfPlugin<N extends EventName>(
    name: N,
    ownerId: string | null,
    data: EventCatalog[N],
    audience: HubEvent['audience'],
  ): void {
    this.#deliver(this.#ofPlugins, this.#sent(name, ownerId, data, audience))
  }

  /** Returns a function that removes the listener. */
  on<N extends EventName>(name: N, handler: Handler<N>): () => void
  on(name: '*', handler: Handler<EventName>): () => void
  on(name: EventName | '*', handler: Handler<never>): () => void {
    const handlers = this.#handlers.get(name) ?? new Set()
    this.#handlers.set(name, handlers)
    handlers.add(handler)
    return () => {
      handlers.delete(handler)
      if (handlers.size === 0 && this.#handlers.get(name) === handlers) this.#handlers.delete(name)
    }
  }

  /** Listens to the events that plugins have defined, whatever their names. Returns a function that removes the listener. */
  onPlugins(handler: Handler<EventName>): () => void {
    this.#ofPlugins.add(handler)
    return () => this.#ofPlugins.delete(handler)
  }

  #sent<N extends EventName>(
    name: N,
    ownerId: string | null,
    data: EventCatalog[N],
    audience: HubEvent['audience'],
  ): HubEvent<N> {
    this.#lastId += 1
    const event: HubEvent<N> = { id: this.#lastId, name, at: new Date().toISOString(), ownerId, audience, data }
    this.#deliver(this.#handlers.get(name), event)
    this.#deliver(this.#handlers.get('*'), event)
    return event
  }

  #deliver<N extends EventName>(handlers: Set<Handler<never>> | undefined, event: HubEvent<N>): void {
    if (!handlers) return
    for (const handler of [...handlers]) {
      try {
        ;(handler as Handler<N>)(event)
      } catch (error) {
        this.#onHandlerError(error, event.name)
      }
    }
  }
}
