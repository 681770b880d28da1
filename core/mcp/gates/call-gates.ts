import { HubError } from '../../contract/errors.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { CallGate, Decision, GatedCall, GatedEnd, TaskEvent } from '../../features/gates.ts'
import { type Asking, ask } from './question.ts'

/** Most questions of one gate about one call; a gate that asks more often fails. */
const MOST_QUESTIONS = 10_000
/** Tool or arguments are others than those that the gates have seen. */
const CHANGED = Symbol('changed')
const NOT_SENT: GatedEnd = { sent: false, sentAgain: false, failed: true, resultCharacters: 0, task: false }

/** A call on its way through the gates. */
export interface GatedRun<Outcome> {
  readonly call: GatedCall
  readonly exchange: Asking
  /** Aborts `call.signal`. */
  readonly abort: AbortController
  /** Resolves with false when tool or arguments are others than those of the call. Throws when the caller may not use it any more. */
  recheck(): Promise<boolean>
  /** Sends the call. */
  send(): Outcome | Promise<Outcome>
  /** The call from its beginning, where it is another one by now. */
  again(): Outcome | Promise<Outcome>
  denied(error: HubError): Outcome
  readonly cancelled: Outcome
  endOf(outcome: Outcome): GatedEnd
  /** Calls `listener` with what becomes of the task that the server has made of the call. */
  follow(listener: (event: TaskEvent) => void): void
}

/** The gates of plugins, through which each tools/call goes before it is sent. */
export class CallGates {
  readonly #gates: () => ReadonlyMap<string, CallGate>
  readonly #log: PluginLogger

  constructor(gates: () => ReadonlyMap<string, CallGate>, log: PluginLogger) {
    this.#gates = gates
    this.#log = log
  }

  /** True when some gate has to be asked. */
  get any(): boolean {
    for (const { active } of this.#gates().values()) if (active !== false) return true
    return false
  }

  /** Runs the call through all gates, then sends it. Throws what a gate throws. */
  async through<Outcome>(run: GatedRun<Outcome>): Promise<Outcome> {
    const outcome = await this.#attempt(run)
    return outcome === CHANGED ? run.again() : outcome
  }

  async #attempt<Outcome>(run: GatedRun<Outcome>): Promise<Outcome | typeof CHANGED> {
    const { call, exchange, abort } = run
    const passed: CallGate[] = []
    let end = NOT_SENT
    // A caller that has left before is noticed here.
    exchange.cancel = () => abort.abort()
    try {
      const verdict = await this.#verdict(run, passed)
      if (call.signal.aborted) return run.cancelled
      if (verdict instanceof HubError) return run.denied(verdict)
      if (verdict === CHANGED) return CHANGED
      const outcome = await run.send()
      end = run.endOf(outcome)
      return outcome
    } catch (error) {
      if (call.signal.aborted) return run.cancelled
      throw error
    } finally {
      for (const gate of passed) this.#ended(gate, call, end)
      if (end.task) {
        const listeners = passed.flatMap(gate => this.#listenerOf(gate, call))
        if (listeners.length > 0) run.follow(toAll(listeners, this.#log, call.requestId))
      }
    }
  }

  /** Asks one gate after the other; `passed` gets those that let the call pass. */
  async #verdict<Outcome>(run: GatedRun<Outcome>, passed: CallGate[]): Promise<'pass' | typeof CHANGED | HubError> {
    const gates = [...this.#gates().values()]
      .filter(({ active }) => active !== false)
      .sort((one, other) => (one.order ?? 0) - (other.order ?? 0))
    let waited = false
    for (const gate of gates) {
      const decision = gate.decide(run.call)
      if (decision instanceof Promise) waited = true
      const settled = await this.#settled(gate, decision, run)
      if (settled === 'pass') passed.push(gate)
      if (settled !== 'pass' || run.call.signal.aborted) return settled
    }
    return waited && !(await run.recheck()) ? CHANGED : 'pass'
  }

  /** Asks the client as often as the gate wants to. */
  async #settled<Outcome>(
    gate: CallGate,
    first: Decision | Promise<Decision>,
    { call, exchange }: GatedRun<Outcome>,
  ): Promise<'pass' | HubError> {
    let decision = first instanceof Promise ? await this.#waited(gate, first, call) : first
    for (let asked = 0; typeof decision === 'object' && 'elicitation' in decision; asked += 1) {
      if (asked === MOST_QUESTIONS) throw new HubError('internal', 'A gate asks the client without an end')
      const { elicitation, signal } = decision
      const answer = await ask(exchange, elicitation, signal ? AbortSignal.any([call.signal, signal]) : call.signal)
      decision = await this.#waited(gate, Promise.resolve(decision.answered(answer)), call)
    }
    return decision === 'pass' ? decision : decision.denied
  }

  /**
   * Returns the gate's decision. Rejects as soon as the caller has left, also when the gate does not react to the signal; if that gate
   * lets the call pass later, its `ended` is called.
   */
  async #waited(gate: CallGate, decision: Promise<Decision>, call: GatedCall): Promise<Decision> {
    const { signal } = call
    const left = Promise.withResolvers<'left'>()
    const leave = () => left.resolve('left')
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    try {
      const first = await Promise.race([decision, left.promise])
      if (first !== 'left') return first
    } finally {
      signal.removeEventListener('abort', leave)
    }
    decision.then(
      late => late === 'pass' && this.#ended(gate, call, NOT_SENT),
      () => undefined,
    )
    throw new HubError('connection_lost', 'The caller left before its call was sent')
  }

  #listenerOf(gate: CallGate, call: GatedCall): readonly ((event: TaskEvent) => void)[] {
    try {
      return gate.task ? [gate.task(call)] : []
    } catch (error) {
      this.#log.error('A gate failed at a task', { requestId: call.requestId, error: String(error) })
      return []
    }
  }

  #ended(gate: CallGate, call: GatedCall, end: GatedEnd): void {
    try {
      gate.ended?.(call, end)
    } catch (error) {
      this.#log.error('A gate failed at the end of a call', { requestId: call.requestId, error: String(error) })
    }
  }
}

/** One listener for all gates. It is a function of its own, so that no call is kept for as long as its task. */
function toAll(
  listeners: readonly ((event: TaskEvent) => void)[],
  log: PluginLogger,
  requestId: string,
): (event: TaskEvent) => void {
  return event => {
    for (const listener of listeners)
      try {
        listener(event)
      } catch (error) {
        log.error('A gate failed at the end of a task', { requestId, error: String(error) })
      }
  }
}
