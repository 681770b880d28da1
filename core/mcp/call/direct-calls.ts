import { HubError } from '../../contract/errors.ts'
import type { ServerRecord } from '../../contract/records.ts'
import type { EventBus } from '../../events/bus.ts'
import type { Registry } from '../../registry/api.ts'
import type { Scope } from '../scope/scope.ts'
import type { ResolvedScope } from '../scope/scope-types.ts'
import type { DirectCall, DirectExchange } from './direct-call.ts'
import type { Outcome } from './exchange.ts'

interface OpenCall {
  readonly call: DirectCall
  readonly scope: Scope
  /** What the scope is for the server as it is now. */
  readonly resolve: (server: ServerRecord) => ResolvedScope
  readonly exchange: DirectExchange
  readonly lost: (error: HubError) => void
  /** Counts the changes that it was to be judged after. */
  changes: number
}

/** Calls without a path of their own, and whether their callers may still see the server. */
export class DirectCalls {
  readonly #servers: Pick<Registry['servers'], 'byId'>
  readonly #open = new Map<Scope, OpenCall>()
  readonly #listening: readonly (() => void)[]

  constructor(servers: Pick<Registry['servers'], 'byId'>, bus: EventBus) {
    this.#servers = servers
    this.#listening = [
      bus.on('server.updated', ({ data }) => this.#changed(data.serverId)),
      bus.on('server.removed', ({ data }) => this.#changed(data.serverId)),
      bus.on('user.updated', () => this.#changed(undefined)),
      bus.on('user.removed', () => this.#changed(undefined)),
    ]
  }

  /** The work's outcome, unless its caller loses the server before that: then `server_not_found`, at once. */
  async during(
    call: DirectCall,
    scope: Scope,
    resolve: OpenCall['resolve'],
    exchange: DirectExchange,
    work: () => Outcome | Promise<Outcome>,
  ): Promise<Outcome> {
    const { promise, reject } = Promise.withResolvers<never>()
    this.#open.set(scope, { call, scope, resolve, exchange, lost: reject, changes: 0 })
    try {
      return await Promise.race([promise, work()])
    } finally {
      this.#open.delete(scope)
    }
  }

  /** Asks again what a call's server is for its caller. The scope is gone when that is nothing. Rejects when it cannot be asked. */
  async refresh(scope: Scope): Promise<void> {
    const open = this.#open.get(scope)
    if (!open) {
      // Answered already: nobody waits for what this one would say.
      scope.gone = true
      return
    }
    const { call, exchange, lost } = open
    const { changes } = open
    const server = await this.#servers.byId(call.actor, call.server.id)
    if (changes !== open.changes) return this.refresh(scope)
    if (server) {
      scope.replace(open.resolve(server))
      return
    }
    scope.gone = true
    lost(new HubError('server_not_found', `There is no server "${call.server.name}" any more that you may use`))
    exchange.cancel()
  }

  dispose(): void {
    for (const stop of this.#listening) stop()
  }

  /** `serverId` undefined: whoever owns it. */
  #changed(serverId: string | undefined): void {
    for (const open of this.#open.values()) {
      if (serverId !== undefined && open.call.server.id !== serverId) continue
      open.changes += 1
      open.scope.stale = true
      // Where the store does not answer, the result is held back: it is asked for again then.
      this.refresh(open.scope).catch(() => undefined)
    }
  }
}
