import { HubError } from '../../contract/errors.ts'
import type { ServerRecord } from '../../contract/records.ts'
import type { EventBus } from '../../events/bus.ts'
import type { Registry } from '../../registry/api.ts'
import type { Scope } from '../scope/scope.ts'
import type { ResolvedScope } from '../scope/scope-types.ts'
import type { DirectCall } from './direct-call.ts'
import type { Outcome } from './exchange.ts'
import type { SessionlessExchange } from './sessionless-exchange.ts'

interface OpenCall {
  readonly call: DirectCall
  readonly scope: Scope
  /** Resolves the scope again for the server's present record. */
  readonly resolve: (server: ServerRecord) => ResolvedScope
  readonly exchange: SessionlessExchange
  readonly lost: (error: HubError) => void
  /** Number of changes so far; a check that started before the last one is repeated. */
  changes: number
}

/** Calls in flight without a path of their own; each ends when its caller loses access to the server. */
export class DirectCalls {
  readonly #servers: Pick<Registry['servers'], 'byId'>
  readonly #open = new Map<Scope, OpenCall>()
  readonly #listening: readonly (() => void)[]

  constructor(servers: Pick<Registry['servers'], 'byId'>, bus: EventBus) {
    this.#servers = servers
    this.#listening = [
      bus.on('server.updated', ({ data }) => this.#changed(data.serverId)),
      bus.on('server.removed', ({ data }) => this.#changed(data.serverId)),
      bus.on('share.changed', ({ ownerId }) => this.#changed(undefined, ownerId)),
      bus.on('user.updated', () => this.#changed(undefined)),
      bus.on('user.removed', () => this.#changed(undefined)),
    ]
  }

  /** The work's outcome; when the caller loses the server before that, throws `server_not_found` at once. */
  async during(
    call: DirectCall,
    scope: Scope,
    resolve: OpenCall['resolve'],
    exchange: SessionlessExchange,
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

  /** Checks again whether the caller may use the server; the scope is gone if not. Rejects when the store fails. */
  async refresh(scope: Scope): Promise<void> {
    const open = this.#open.get(scope)
    if (!open) {
      // The call has been answered: the result of the check is not needed.
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

  /** `serverId` undefined: calls of every server. `callerId`: those of this user alone. */
  #changed(serverId: string | undefined, callerId?: string | null): void {
    for (const open of this.#open.values()) {
      if (callerId !== undefined && open.call.actor.userId !== callerId) continue
      if (serverId !== undefined && open.call.server.id !== serverId) continue
      open.changes += 1
      open.scope.stale = true
      // If the store fails, the scope stays stale, and the check is repeated before the result is delivered.
      this.refresh(open.scope).catch(() => undefined)
    }
  }
}
