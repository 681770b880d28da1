import type { PluginContext, UserActor } from 'patchbay/contract'
import type {} from 'patchbay/features'
import type { ApprovalRequest, Asked, Requests } from './requests.ts'

/** Ends requests whose callers may not make their calls any more. */
export class Access {
  readonly #context: PluginContext<unknown>
  readonly #requests: Requests
  /** Ids of users, servers and groups whose requests are to be checked; one check follows the other. */
  readonly #due = new Set<string>()
  #isReviewing = false

  constructor(context: PluginContext<unknown>, requests: Requests) {
    this.#context = context
    this.#requests = requests
    const { events } = context
    events.on('share.changed', ({ ownerId }) => this.#changed(ownerId))
    events.on('user.updated', ({ data }) => this.#changed(data.userId))
    events.on('server.updated', ({ data }) => this.#changed(data.serverId))
    events.on('group.updated', ({ data }) => this.#changed(data.groupId))
    events.on('group.removed', ({ data }) => this.#changed(data.groupId))
    events.on('server.removed', ({ data }) =>
      requests.end(({ serverId }) => serverId === data.serverId, 'access_ended'),
    )
    events.on('user.removed', ({ data: { userId } }) =>
      requests.end(({ caller, ask }) => caller.userId === userId || ask.deciderId === userId, 'access_ended'),
    )
  }

  /** Ends requests whose callers have no credential any more: keys, sign-ins and grants also end without an event. */
  async checkCredentials(): Promise<void> {
    const checks = new Map<UserActor, Promise<boolean>>()
    const continues = (actor: UserActor): Promise<boolean> => {
      const known = checks.get(actor)
      // A store that fails says nothing about a credential.
      const check = known ?? this.#context.people.continues(actor).catch(() => true)
      if (!known) checks.set(actor, check)
      return check
    }
    for (const request of this.#requests.pending) {
      const all = await Promise.all(request.callers.map(continues))
      if (!all.includes(true)) this.#requests.decide(request, { state: 'expired', reason: 'access_ended' })
    }
  }

  #changed(id: string | null): void {
    if (id === null || this.#requests.pending.length === 0) return
    this.#due.add(id)
    if (this.#isReviewing) return
    this.#review().catch(error =>
      this.#context.log.error('The access of callers who wait was not checked', { error: String(error) }),
    )
  }

  async #review(): Promise<void> {
    this.#isReviewing = true
    try {
      while (this.#due.size > 0) {
        const due = new Set(this.#due)
        this.#due.clear()
        const concerned = this.#requests.pending.filter(({ asked }) => idsOf(asked).some(id => due.has(id)))
        for (const request of concerned) await this.#end(request)
      }
    } finally {
      this.#isReviewing = false
    }
  }

  async #end(request: ApprovalRequest): Promise<void> {
    if (await this.#mayCall(request.asked)) return
    this.#requests.decide(request, { state: 'expired', reason: 'access_ended' })
  }

  async #mayCall({ caller, serverId, group, path }: Asked): Promise<boolean> {
    const { people, registry } = this.#context
    const person = await people.byId(caller.userId)
    if (!person || person.disabled) return false
    const actor = { ...caller, role: person.role }
    if (group) {
      const found = await registry.groupById(actor, group.id)
      if (!found || (path !== '' && !registry.mayUse(caller.userId, found))) return false
      return (await registry.usableMembers(actor, found)).some(({ server }) => server.id === serverId)
    }
    const server = await registry.server(actor, serverId)
    return server !== undefined && (path === '' || registry.mayUse(caller.userId, server))
  }
}

function idsOf({ caller, serverId, group }: Asked): readonly string[] {
  return [caller.userId, serverId, ...(group ? [group.id] : [])]
}
