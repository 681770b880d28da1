import type { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { weightOfText } from '../../domain/json/long-text.ts'
import type { GatedEnd } from '../../features/gates.ts'
import type { PassedParams } from '../filters/request-filter.ts'
import type { CallGates } from '../gates/call-gates.ts'
import { gatedCall } from '../gates/gated-call.ts'
import type { Target } from '../scope/scope-types.ts'
import type { Outcome } from './exchange.ts'
import type { Forwarder, Routed } from './forwarder.ts'
import { URL_ELICITATION_REQUIRED } from './seen-failure.ts'
import { toolParams } from './sent-params.ts'

/** A call of a member's tool, before its gates. */
interface ToolCall {
  readonly routed: Routed
  readonly target: Target
  readonly params: JsonObject
  /** The parameters for the server. */
  readonly sent: JsonObject
  /** Finds the target again. Throws when there is none. */
  find(): Target
  /** `passed`: the parameters as content filters let them pass, where some look at them. */
  send(passed: PassedParams | undefined): Outcome | Promise<Outcome>
  /** Begins again, as tool or arguments are others by now. */
  again(): Outcome | Promise<Outcome>
  /** Records a call that was denied. */
  denied(error: HubError): void
}

/** Sends a call of a member's tool once all gates have let it pass. */
export async function throughGates(gates: CallGates, forwarder: Forwarder, one: ToolCall): Promise<Outcome> {
  const { routed, target, params, sent, again } = one
  const { exchange, scope } = routed
  // From now on, a caller that loses the target is noticed.
  exchange.target = target
  let passed = await forwarder.passed(routed, target, sent)
  // Filters may take seconds, as for a webhook.
  if (passed) await forwarder.settled(routed, target)
  const send = () => one.send(passed)
  if (passed && 'refused' in passed) return send()
  const seen = passed?.params ?? sent
  const abort = new AbortController()
  return gates.through<Outcome>({
    ...{ exchange, abort, again, send, cancelled: { kind: 'cancelled' } },
    endOf: outcome => gatedEnd(outcome, exchange.task !== undefined),
    follow: listener => exchange.task?.follow(listener),
    call: gatedCall(exchange, scope, target, { params, sent, seen }, abort.signal),
    async recheck() {
      await forwarder.settled(routed, target)
      const found = one.find()
      const isSame = found.member.server.id === target.member.server.id && found.item?.hash === target.item?.hash
      if (!isSame || found.blocked || JSON.stringify(toolParams(params, found)) !== JSON.stringify(sent)) return false
      passed = await forwarder.passed(routed, target, sent, passed)
      // A refused call is not sent, and its gates get that as its end.
      if (passed && 'refused' in passed) return true
      return JSON.stringify(passed?.params ?? sent) === JSON.stringify(seen)
    },
    denied(error) {
      // Callers that want errors get it as one, which is recorded as any other.
      if (exchange.plainFailures) throw error
      one.denied(error)
      return deniedOutcome(error)
    },
  })
}

/** A call that a gate has denied, as a result for a model. */
function deniedOutcome({ code, message }: HubError): Outcome {
  const text = `${code}: ${message}`
  return { kind: 'result', resultText: JSON.stringify({ content: [{ type: 'text', text }], isError: true }) }
}

/** The outcome of a call that was sent, as gates get it. */
function gatedEnd(outcome: Outcome, task: boolean): GatedEnd {
  const { kind } = outcome
  return {
    sent: outcome.unsent !== true,
    sentAgain: kind === 'input_required' || (kind === 'error' && outcome.error.code === URL_ELICITATION_REQUIRED),
    failed: kind !== 'result' && kind !== 'task',
    // The description of a task is no result.
    resultCharacters: kind === 'result' && !task ? weightOfText(outcome.resultText) : 0,
    task,
  }
}
