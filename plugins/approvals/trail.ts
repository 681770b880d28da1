import type { Actor, PluginContext, UserActor } from 'patchbay/contract'
import type {} from 'patchbay/features'
import type { Kept } from './decisions.ts'
import type { ApprovalRequest } from './requests.ts'
import type { ApprovalRow } from './tables.ts'

/** In the place of a user where nobody decided. */
const HUB: Actor = { kind: 'system', purpose: 'approvals' }

/** Fields of a request whose answer made a record. */
type Request = Readonly<Record<'requestId' | 'clientAddress', string>>

/** The way by which a decision came. */
export type DecidedBy = 'console' | 'elicitation'

/** The audit records of requests: asked, decided, used, and ended without a decision. The owner of the server reads them. */
export class Trail {
  readonly #context: PluginContext<unknown>
  /** Remembered decisions whose use was recorded. */
  readonly #used = new WeakSet<Kept>()

  constructor(context: PluginContext<unknown>) {
    this.#context = context
  }

  asked({ id, asked }: ApprovalRequest): void {
    const { caller, server, ownerId, tool, ask } = asked
    const who = ask.team === undefined ? ask.who : `team:${ask.team}`
    this.#context.audit(caller, 'ask', server, ownerId, { detail: { tool, approval: id, who, by: ask.by.join(' ') } })
  }

  decided(
    actor: UserActor,
    { id, asked, state }: ApprovalRequest,
    by: DecidedBy,
    how: object,
    request?: Request,
  ): void {
    const word = state === 'approved' ? 'approve' : 'deny'
    const { server, ownerId, tool, caller } = asked
    const detail = { tool, approval: id, caller: caller.name, by, ...how }
    this.#context.audit(actor, word, server, ownerId, { detail, ...(request ? { request } : {}) })
  }

  /** A call was sent with this yes; of a remembered one the first use in each run of the hub. */
  used(
    actor: UserActor,
    kept: Kept,
    { server, ownerId, tool }: Readonly<Record<'server' | 'ownerId' | 'tool', string>>,
  ) {
    if (kept.lasting && this.#used.has(kept)) return
    this.#used.add(kept)
    const detail = { tool, approval: kept.approvalId, remembered: kept.lasting }
    this.#context.audit(actor, 'use', server, ownerId, { detail })
  }

  /** Nobody decided in time, its caller lost the access, or the hub or the plugin stopped before. */
  ended({ id, asked, reason }: ApprovalRequest): void {
    const { server, ownerId, tool, caller } = asked
    const detail = { tool, approval: id, caller: caller.name }
    this.#context.audit(HUB, reason ?? 'expire', server, ownerId, { detail })
  }

  /** Requests of an earlier process, which ended while they waited. */
  async found(rows: readonly ApprovalRow[]): Promise<void> {
    const { registry, people, audit } = this.#context
    for (const { id, server_id, user_id, tool } of rows) {
      const [server, caller] = await Promise.all([registry.server(HUB, server_id), people.byId(user_id)])
      if (!server) continue
      const detail = { tool, approval: id, caller: caller?.name ?? '' }
      audit(HUB, 'restart', `${server.ownerName}~${server.name}`, server.ownerId, { detail })
    }
  }
}
