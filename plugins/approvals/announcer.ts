import type { PluginContext } from 'patchbay/contract'
import type {} from 'patchbay/features'
import type { Messages } from './messages.ts'
import type { ApprovalRequest } from './requests.ts'

/** Most members of a team who get events and messages about one request; the others find it on their page. */
const MOST_MEMBERS = 100

/** Notifies those who decide, and callers, of requests: by events, and by messages where the rule says so. */
export class Announcer {
  readonly #context: PluginContext<unknown>
  readonly #messages: Messages

  constructor(context: PluginContext<unknown>, messages: Messages) {
    this.#context = context
    this.#messages = messages
  }

  async begun(request: ApprovalRequest): Promise<void> {
    const { id: approvalId, asked } = request
    const { server, tool, ask, isSingle } = asked
    const deciders = await this.#deciders(request)
    const names = ask.who === 'caller' ? await this.#namesForCaller(request) : { server, tool }
    if (request.state !== 'pending') return
    for (const userId of deciders)
      this.#context.events.emit('approvals.requested', userId, { approvalId, ...names, caller: asked.caller.name })
    if (ask.by.includes('chat') && !isSingle) this.#messages.add(deciders, request)
  }

  async ended(request: ApprovalRequest): Promise<void> {
    const { id: approvalId, asked, state } = request
    const { server, tool, caller } = asked
    this.#context.events.emit('approvals.decided', caller.userId, {
      ...{ approvalId, state },
      ...(await this.#namesForCaller(request)),
    })
    for (const userId of await this.#deciders(request))
      if (userId !== caller.userId)
        this.#context.events.emit('approvals.decided', userId, { approvalId, server, tool, state })
  }

  /** A caller who may not see the server knows the group, and the name by which it called. */
  async #namesForCaller({ asked: { caller, serverId, server, tool, group, called } }: ApprovalRequest) {
    if (await this.#context.registry.server(caller, serverId)) return { server, tool }
    return { server: group?.ref ?? server, tool: called }
  }

  /** The present ones; a member of the team who made the call is none. */
  async #deciders({ asked }: ApprovalRequest): Promise<readonly string[]> {
    const { teamId, ask, caller } = asked
    if (teamId === undefined) return [ask.deciderId]
    const members = await this.#context.teams.members(teamId)
    return members.filter(id => id !== caller.userId).slice(0, MOST_MEMBERS)
  }
}
