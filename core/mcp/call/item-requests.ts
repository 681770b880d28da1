import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Refusals } from '../rpc/refusals.ts'
import { invalid, isPlainObject } from '../rpc/rpc.ts'
import { memberHas } from '../scope/capabilities.ts'
import { completionTarget, type OwnUri } from '../scope/resource-targets.ts'
import type { ExchangeTarget, Target } from '../scope/scope-types.ts'
import { completedBy, completedValue, selection, withOthers } from '../selection/selection.ts'
import { shortened } from './added-tools.ts'
import type { Outcome } from './exchange.ts'
import type { Forwarder, Routed } from './forwarder.ts'
import { sentName, withoutNullArguments } from './sent-params.ts'
import { unknownName } from './tool-failure.ts'
import type { ViewCalls } from './view-calls.ts'

/** A result shortened to its group's limit. */
export function truncated(
  { exchange, scope, truncatedLater }: Routed,
  target: ExchangeTarget,
  outcome: Outcome,
): Outcome {
  const { resultLimitBytes } = scope.resolved.group
  if (resultLimitBytes === undefined || truncatedLater || outcome.kind !== 'result') return outcome
  return shortened(exchange, scope, target, outcome, resultLimitBytes)
}

/** Requests for a prompt, a resource or a completion, each sent to the server that has the item. */
export class ItemRequests {
  readonly #parts: { readonly forwarder: Forwarder; readonly refusals: Refusals }
  readonly #views: ViewCalls

  constructor(parts: { readonly forwarder: Forwarder; readonly refusals: Refusals }, views: ViewCalls) {
    this.#parts = parts
    this.#views = views
  }

  /** Answers prompts/get. */
  prompt(routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const name = params?.name
    if (typeof name !== 'string') throw invalid('prompts/get needs "name", the name of a prompt')
    const found = routed.scope.prompt(name)
    if (!found) throw unknownName(this.#parts.refusals, routed, 'prompt', name)
    const chosen = selection(routed.scope, name, found, params)
    const sent = { ...withoutNullArguments(chosen.params ?? {}), name: sentName(chosen.target) }
    return this.#parts.forwarder.forward(routed, chosen.target, sent, reply => {
      const outcome = this.#parts.forwarder.outcome(routed, chosen.target.member, reply)
      return truncated(routed, chosen.target, withOthers(routed.scope, chosen, outcome))
    })
  }

  /** Answers resources/read. */
  resource(routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const uri = params?.uri
    if (typeof uri !== 'string') throw invalid('resources/read needs "uri", the URI of a resource')
    const target = this.#views.resource(routed.exchange, routed.scope, uri)
    this.#views.opened(routed.exchange, routed.scope, target)
    return this.#forwardPlain(routed, target, { ...params, uri: target.original }, { original: target.original, uri })
  }

  /** Answers completion/complete. */
  completion(routed: Routed, params: JsonObject | undefined): Outcome | Promise<Outcome> {
    const ref = params?.ref
    if (!isPlainObject(ref)) throw invalid('completion/complete needs "ref", a prompt or a resource')
    const { target: found, original } = completionTarget(routed.scope, ref)
    const completed = completedValue(found, params?.argument)
    if (completed) return completed
    const { target, context } = completedBy(found, params?.context)
    if (!memberHas(routed.scope.catalog.byServer.get(target.member.server.id), 'completions'))
      throw new HubError('method_not_found', `The server of this ${String(ref.type)} offers no completion`)
    return this.#forwardPlain(routed, target, { ...params, ref: original, ...(context ? { context } : {}) })
  }

  #forwardPlain(routed: Routed, target: Target, params: JsonObject, own?: OwnUri): Promise<Outcome> {
    return this.#parts.forwarder.forward(routed, target, params, reply =>
      truncated(routed, target, this.#parts.forwarder.outcome(routed, target.member, reply, own)),
    )
  }
}
