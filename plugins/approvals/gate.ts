import { createHmac } from 'node:crypto'
import type { PluginContext } from 'patchbay/contract'
import type { CallGate, Decision, Denial, ElicitationAnswer, GatedCall, GatedEnd, Question } from 'patchbay/features'
import { canonical, quoteName } from 'patchbay/plugin-kit'
import type { DecisionKeys, Decisions, Kept } from './decisions.ts'
import type { Policies, WantedAsk } from './policies.ts'
import type { ApprovalRequest, Asked, Requests } from './requests.ts'
import { shownArguments } from './shown.ts'
import type { Trail } from './trail.ts'

/** Before gates that count: a call that waits for a person holds nothing of theirs. */
const ORDER = 100
/** Between two notifications of the progress of a call that is held. */
const PROGRESS_MS = 5_000
/** Longest wait of a call that its client sends again. */
const AGAIN_MS = 25_000
/** Most characters of arguments in a message. */
const MOST_MESSAGE = 2_000

/** One call on its way through the rules. */
interface Run {
  readonly call: GatedCall
  readonly wanted: readonly WantedAsk[]
  /** The yeses that it has taken. */
  readonly taken: Kept[]
  /** When a call that is held gets its answer. */
  readonly heldUntilMs: number
}

/** The parts of the plugin that the gate uses. */
export interface GateParts {
  readonly policies: Policies
  readonly requests: Requests
  readonly decisions: Decisions
  readonly trail: Trail
  /** Longest time for which a call without another way is held. */
  readonly heldMs: number
}

/** Asks people before calls are sent, by rules. */
export class ApprovalGate implements CallGate {
  readonly order = ORDER
  readonly #context: PluginContext<unknown>
  readonly #policies: Policies
  readonly #requests: Requests
  readonly #decisions: Decisions
  readonly #trail: Trail
  readonly #heldMs: number
  readonly #taken = new WeakMap<GatedCall, readonly Kept[]>()

  constructor(context: PluginContext<unknown>, { policies, requests, decisions, trail, heldMs }: GateParts) {
    this.#heldMs = heldMs
    this.#context = context
    this.#policies = policies
    this.#requests = requests
    this.#decisions = decisions
    this.#trail = trail
  }

  get active(): boolean {
    return this.#policies.any
  }

  decide(call: GatedCall): Decision | Promise<Decision> {
    const judgement = this.#policies.of(call)
    if (judgement === 'allow') return 'pass'
    if (judgement === 'deny') return this.#denial(call, 'a rule denies it')
    return this.#next({ call, wanted: judgement, taken: [], heldUntilMs: Date.now() + this.#heldMs })
  }

  ended(call: GatedCall, { sent, sentAgain }: GatedEnd): void {
    const taken = this.#taken.get(call) ?? []
    this.#taken.delete(call)
    const { actor, server, tool } = call
    const about = { server: `${server.ownerName}~${server.name}`, ownerId: server.ownerId, tool: tool.name }
    for (const kept of taken) {
      if (!sent || sentAgain) this.#decisions.giveBack(kept)
      else this.#trail.used(actor, kept, about)
    }
  }

  /** Goes on with the first rule that has no decision yet. */
  async #next(run: Run): Promise<Decision> {
    const { call, wanted, taken } = run
    for (;;) {
      const ask = wanted[taken.length]
      if (!ask) return this.#pass(run)
      if (call.signal.aborted) return this.#undone(run, 'its caller left')
      const key = this.#keyOf(call, ask)
      const kept = await this.#taking(run, { key, lastingKey: key })
      if (kept?.approved) continue
      if (kept) return this.#undone(run, 'it was denied')
      const answer = await this.#ask(run, ask, key)
      if (answer) return answer
    }
  }

  /** Takes the decision for this call. When the store fails, those that it has taken before are given back. */
  async #taking(run: Run, keys: DecisionKeys): Promise<Kept | undefined> {
    try {
      const kept = await this.#decisions.take(keys)
      if (kept?.approved) run.taken.push(kept)
      return kept
    } catch (error) {
      this.#giveBack(run.taken)
      throw error
    }
  }

  /** Asks by the first way that the rule and the client have. Undefined: there is a decision. */
  async #ask(run: Run, ask: WantedAsk, key: string): Promise<Decision | undefined> {
    const { call } = run
    if (ask.who === 'caller' && ask.by.includes('elicitation') && call.elicitation.form)
      return this.#form(run, ask, key)
    if (!ask.by.includes('console'))
      return this.#undone(run, 'its client cannot be asked, and the rule has no other way')
    const team = await this.#team(call, ask)
    if (typeof team === 'string') return this.#undone(run, team)
    const keys = { key, lastingKey: key, ...team }
    const request = this.#requests.open(this.#asked(call, ask, keys), call)
    if (!request) return this.#undone(run, 'too many calls wait for a decision')
    return call.sendsAgain && call.elicitation.url ? this.#link(run, request) : this.#held(run, request)
  }

  /** The team of the rule, or why it cannot decide: then the call is denied, since the rule wants others than its caller and owner. */
  async #team({ actor }: GatedCall, { team }: WantedAsk): Promise<{ readonly teamId?: string } | string> {
    if (team === undefined) return {}
    const found = await this.#context.teams.byName(team)
    if (!found) return `the team ${quoteName(team)}, which decides, does not exist`
    const members = await this.#context.teams.members(found.id)
    if (members.some(id => id !== actor.userId)) return { teamId: found.id }
    return `the team ${quoteName(team)}, which decides, has no member but its caller`
  }

  /** All have agreed; the rules may be others since then. */
  #pass(run: Run): Decision | Promise<Decision> {
    const { call, wanted, taken } = run
    const judgement = this.#policies.of(call)
    if (judgement !== 'allow' && !isSame(judgement, wanted)) {
      this.#giveBack(taken)
      return this.decide(call)
    }
    this.#taken.set(call, taken)
    return 'pass'
  }

  /** A question to the client's own user, of this call alone. */
  #form(run: Run, ask: WantedAsk, key: string): Decision {
    const { call } = run
    const keys = { key: `${key} ${call.requestId}`, lastingKey: key }
    const request = this.#requests.open({ ...this.#asked(call, ask, keys), isSingle: true }, call)
    if (!request) return this.#undone(run, 'too many calls wait for a decision')
    const remember = ask.rememberMs > 0
    return {
      elicitation: formOf(call, remember),
      signal: call.sendsAgain ? expiryOf(request) : request.signal,
      answered: async answer => {
        if (request.state === 'pending' && answer) this.#answer(request, call, answer)
        if (request.state === 'pending') this.#requests.decide(request, { state: 'expired' })
        const kept = await this.#taking(run, keys)
        return kept?.approved ? this.#next(run) : this.#undone(run, reasonOf(request))
      },
    }
  }

  #answer(request: ApprovalRequest, call: GatedCall, { action, content }: ElicitationAnswer): void {
    const yes = action === 'accept' && content.approve === true
    const remember = content.remember === true
    const { actor } = call
    this.#requests.decide(request, { state: yes ? 'approved' : 'denied', by: actor.name, remember })
    this.#trail.decided(actor, request, 'elicitation', { remember })
  }

  /** The link of the page, as often as the client sends the call again before the decision. */
  #link(run: Run, request: ApprovalRequest): Question {
    const { call } = run
    return {
      elicitation: {
        mode: 'url',
        elicitationId: request.id,
        url: this.#page(request),
        message: `The call of "${call.tool.name}" waits for a decision at this page`,
      },
      signal: expiryOf(request),
      answered: async answer => {
        if (!answer) return (await this.#held(run, request)) ?? this.#next(run)
        if (answer.action !== 'accept') return this.#undone(run, 'its client did not open the page')
        await request.settled(Math.max(0, Math.min(AGAIN_MS, request.expiresAtMs - Date.now())), call.signal)
        return isOver(request) ? this.#undone(run, reasonOf(request)) : this.#next(run)
      },
    }
  }

  /** Waits for the decision with progress. Undefined: there is one. Throws `approval_pending` when the time is over. */
  async #held(run: Run, request: ApprovalRequest): Promise<Decision | undefined> {
    const { call, heldUntilMs } = run
    while (request.state === 'pending' && !call.signal.aborted) {
      const leftMs = Math.min(heldUntilMs, request.expiresAtMs) - Date.now()
      if (leftMs <= 0) break
      call.progress(`Waits for a decision at ${this.#page(request)}`)
      await request.settled(Math.min(PROGRESS_MS, leftMs), call.signal)
    }
    if (call.signal.aborted) return this.#undone(run, 'its caller left')
    if (isOver(request)) return this.#undone(run, reasonOf(request))
    if (request.state === 'approved') return undefined
    this.#giveBack(run.taken)
    const approvalUrl = this.#page(request)
    const message = `The call of "${call.tool.name}" waits for a decision at ${approvalUrl}; send the same call again afterwards`
    throw this.#context.error('approval_pending', message, { retryAfterSeconds: 5, data: { approvalUrl } })
  }

  #undone({ call, taken }: Run, why: string): Denial {
    this.#giveBack(taken)
    return this.#denial(call, why)
  }

  #giveBack(taken: readonly Kept[]): void {
    for (const kept of taken) this.#decisions.giveBack(kept)
  }

  #denial({ tool, server }: GatedCall, why: string): Denial {
    const message = `The call of "${tool.name}" of "${server.name}" was not sent: ${why}`
    return { denied: this.#context.error('approval_denied', message) }
  }

  /** Equal for calls that one decision is about. By a key of the hub, since arguments could be guessed from a digest alone. */
  #keyOf(call: GatedCall, { rule, deciderId }: WantedAsk): string {
    const { principal, path, server, tool } = call
    const parts = [principal, path, server.id, tool.name, tool.hash, rule, deciderId]
    const [present] = this.#context.sealing.keys('decision')
    if (!present) throw new Error('The hub has no key')
    return createHmac('sha256', present.key)
      .update(JSON.stringify(parts))
      .update(canonical(call.arguments))
      .digest('base64url')
  }

  #page({ id }: ApprovalRequest): string {
    return `${this.#context.address()}/approvals/${id}`
  }

  #asked(call: GatedCall, ask: WantedAsk, keys: DecisionKeys & { readonly teamId?: string }): Asked {
    const { actor, client, server, tool, path, group, called } = call
    // Pinned values are the owner's: neither a caller nor a member of a team sees them.
    const mayRead = ask.deciderId === server.ownerId
    return {
      ...{ ...keys, ask, caller: actor, client: client.name ?? '', isSingle: false, ownerId: server.ownerId },
      ...{ serverId: server.id, server: `${server.ownerName}~${server.name}`, tool: tool.name },
      ...{ path, called },
      ...(group ? { group: { id: group.id, ref: `${group.ownerName}~${group.name}` } } : {}),
      shown: shownArguments(mayRead ? call.arguments : call.given),
    }
  }
}

function formOf(call: GatedCall, remember: boolean) {
  const text = JSON.stringify(shownArguments(call.given), null, 2)
  const cut = text.length <= MOST_MESSAGE ? text : `${text.slice(0, MOST_MESSAGE)}…`
  return {
    mode: 'form',
    message: `Allow the call of "${call.tool.name}" of "${call.server.name}"?\n${cut}`,
    requestedSchema: {
      type: 'object',
      properties: {
        approve: { type: 'boolean', title: 'Allow this call' },
        ...(remember ? { remember: { type: 'boolean', title: 'Allow the same call again for a while' } } : {}),
      },
      required: ['approve'],
    },
  }
}

/** Aborts when nobody decided in time; a decision leaves the question of a client that is to send its call again. */
function expiryOf(request: ApprovalRequest): AbortSignal {
  const expired = new AbortController()
  request.signal.addEventListener('abort', () => {
    if (request.state === 'expired') expired.abort()
  })
  return expired.signal
}

/** True when nobody can allow it any more. */
function isOver({ state, expiresAtMs }: ApprovalRequest): boolean {
  return state === 'denied' || state === 'expired' || (state === 'pending' && expiresAtMs <= Date.now())
}

function reasonOf({ state, reason }: ApprovalRequest): string {
  if (state === 'denied') return 'it was denied'
  if (reason === 'access_ended') return 'the access to it ended before a decision'
  return reason === 'restart' ? 'the hub was stopped before a decision' : 'nobody decided in time'
}

function isSame(judgement: 'deny' | readonly WantedAsk[], wanted: readonly WantedAsk[]): boolean {
  const form = (all: readonly WantedAsk[]) => JSON.stringify(all.map(({ rule, deciderId }) => [rule, deciderId]))
  return judgement !== 'deny' && form(judgement) === form(wanted)
}
