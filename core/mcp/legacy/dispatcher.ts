import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { Outcome, RequestEnded } from '../call/exchange.ts'
import type { Router } from '../call/router.ts'
import { clientNameOf, clientVersionOf } from '../rpc/client-name.ts'
import { asHubError, idText, type Message, type RequestMessage } from '../rpc/rpc.ts'
import { passedHeaders } from '../scope/passed-headers.ts'
import { type CallReply, LegacyCall } from './legacy-call.ts'
import type { ScopedRequest } from './scoped-request.ts'
import type { Session } from './session.ts'
import { checkCallQuota } from './user-loads.ts'

/** The parts of the hub that the dispatcher uses. */
export interface LegacyDispatcherParts {
  readonly router: Router
  readonly log: PluginLogger
  /** Called with the outcome of each request. */
  readonly ended: RequestEnded
  /** Handles a client notification that the session itself does not need. */
  clientNotice(session: Session, method: string, params: JsonObject | undefined): void
}

/** Dispatches the messages of legacy clients, whatever transport they came by. */
export class LegacyDispatcher {
  readonly #parts: LegacyDispatcherParts

  constructor(parts: LegacyDispatcherParts) {
    this.#parts = parts
  }

  /** `weight`: bytes charged until the answer. Throws request_invalid for an id in flight, quota_calls, quota_bytes. */
  admit({ info }: Pick<ScopedRequest, 'info'>, session: Session, message: RequestMessage, weight: number): void {
    try {
      if (session.calls.has(message.id))
        throw new HubError('request_invalid', `A request with the id ${message.id.slice(0, 64)} is in flight already`)
      checkCallQuota(session.load)
      if (!session.load.bytes.fits(weight)) throw session.load.bytes.refusal(weight)
    } catch (error) {
      const { requestId, clientAddress } = info
      const { clientInfo, actor } = session
      const client = { clientName: clientNameOf(clientInfo), clientVersion: clientVersionOf(clientInfo) }
      const caller = { requestId, clientAddress, ...client, actor }
      this.#parts.router.refused(caller, session.scope.resolved.group, message.method, message.params, error)
      throw error
    }
  }

  /** Dispatches a request; its outcome is written to `reply`. */
  start(scoped: ScopedRequest, session: Session, message: RequestMessage, weight: number, reply: CallReply): void {
    const { requestId } = scoped.info
    const headers = passedHeaders(scoped.request.headers, scoped.chain, session.scope)
    const call = new LegacyCall(session, scoped.info, message, weight, reply, headers, this.#parts.ended)
    session.calls.set(message.id, call)
    session.load.calls += 1
    session.streams.callsChanged()
    session.requests.streamOpened()
    let outcome: Outcome | Promise<Outcome>
    try {
      outcome = this.#parts.router.handle(call, session.scope)
    } catch (error) {
      outcome = this.#refused(error, requestId)
    }
    if (outcome instanceof Promise)
      outcome.then(
        result => call.finish(result),
        error => call.finish(this.#refused(error, requestId)),
      )
    else call.finish(outcome)
  }

  #refused(error: unknown, requestId: string): Outcome {
    if (!(error instanceof HubError))
      this.#parts.log.error('An MCP request failed inside the hub', { requestId, error: String(error) })
    return { kind: 'failed', error: asHubError(error) }
  }

  /** Takes notifications and responses, which get no response. */
  take(session: Session, message: Exclude<Message, { kind: 'request' }>): void {
    if (message.kind !== 'notification') {
      session.requests.answered(message)
      return
    }
    const { method, params } = message
    if (method === 'notifications/initialized') session.initialized = true
    else if (method === 'notifications/cancelled') {
      const id = idText(params?.requestId)
      const reason = typeof params?.reason === 'string' ? params.reason.slice(0, 256) : 'Cancelled by the client'
      if (id !== undefined) session.calls.get(id)?.abort(reason)
    } else this.#parts.clientNotice(session, method, params)
  }
}
