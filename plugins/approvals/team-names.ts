import { isJsonObject, type PluginContext } from 'patchbay/contract'
import type {} from 'patchbay/features'
import { nameKey } from 'patchbay/plugin-kit'
import type { Policies } from './policies.ts'
import { unknownTeams } from './policy-routes.ts'
import type { PortableRules } from './portable.ts'
import type { Policy } from './rule-schema.ts'
import { isTeam } from './rules.ts'

/** The setting with the ids of renamed teams, by the keys of the names that rules of the hub have for them. */
const SETTING = 'renamedTeams'

/**
 * Carries new names of teams into rules. Those of servers and groups are rewritten. The configuration of the plugin stays as it is
 * written: the plugin keeps which team a name in it means, until no rule has that name or the team is gone.
 */
export class TeamNames {
  readonly #context: PluginContext<unknown>
  readonly #policies: Policies
  readonly #portable: Pick<PortableRules, 'isStated'>
  readonly #ofHub: Pick<Policy, 'rules'>
  readonly #teams = new Map<string, Readonly<Record<'id' | 'name', string>>>()
  #writing: Promise<void> = Promise.resolve()

  constructor(
    context: PluginContext<unknown>,
    policies: Policies,
    portable: Pick<PortableRules, 'isStated'>,
    ofHub: Pick<Policy, 'rules'>,
  ) {
    this.#context = context
    this.#policies = policies
    this.#portable = portable
    this.#ofHub = ofHub
    const { events } = context
    events.on('team.renamed', ({ data: { teamId, before, name } }) =>
      this.#queue(() => this.#renamed({ id: teamId, name }, before)),
    )
    events.on('team.removed', ({ data: { teamId } }) => this.#queue(() => this.#removed(teamId)))
  }

  /** Takes over the names of before, and warns of rules of the hub whose team is not there. */
  async load(): Promise<void> {
    const { settings, teams, log } = this.#context
    const stored = (await settings.hub())[SETTING]
    const known = Object.entries(isJsonObject(stored) ? stored : {})
    for (const [key, id] of known) {
      const team = typeof id === 'string' && this.#isWritten(key) ? await teams.byId(id) : undefined
      if (team) this.#teams.set(key, team)
    }
    this.#apply()
    for (const { team, at } of await unknownTeams(this.#context, this.#ofHub))
      if (!this.#teams.has(nameKey(team)))
        log.warn('A rule of the hub names a team that does not exist: calls for which it fits are denied', {
          ...{ team, rule: at },
        })
    if (known.length !== this.#teams.size) await this.#keep()
  }

  async #renamed(team: Readonly<Record<'id' | 'name', string>>, before: string): Promise<void> {
    const keys = [...this.#teams].filter(([, { id }]) => id === team.id).map(([key]) => key)
    const former = nameKey(before)
    if (this.#isWritten(former) && !this.#teams.has(former)) keys.push(former)
    for (const key of keys) this.#teams.set(key, team)
    if (keys.length > 0) {
      this.#apply()
      await this.#keep()
    }
    await this.#policies.renameTeam(before, team.name, id => {
      const [kind, thing = ''] = id.split(':')
      return this.#portable.isStated({ kind: kind === 'group' ? 'group' : 'server', id: thing })
    })
  }

  /** Names in the rules of the hub mean again what they say. */
  async #removed(teamId: string): Promise<void> {
    const found = [...this.#teams].filter(([, { id }]) => id === teamId)
    if (found.length === 0) return
    for (const [key] of found) this.#teams.delete(key)
    this.#apply()
    await this.#keep()
  }

  #isWritten(key: string): boolean {
    return this.#ofHub.rules.some(({ who }) => isTeam(who, key))
  }

  #apply(): void {
    this.#policies.nameTeamsOfHub(name => this.#teams.get(nameKey(name))?.name ?? name)
    for (const [name, { name: now }] of this.#teams)
      if (nameKey(now) !== name)
        this.#context.log.warn('A rule of the hub has a former name of a team; write the present one', { name, now })
  }

  #keep(): Promise<void> {
    const ids = Object.fromEntries([...this.#teams].map(([key, { id }]) => [key, id]))
    return this.#context.settings.setHub({ [SETTING]: this.#teams.size === 0 ? null : ids })
  }

  #queue(work: () => Promise<void>): void {
    this.#writing = this.#writing
      .then(work)
      .catch(error => this.#context.log.error('The new name of a team is not in all rules', { error: String(error) }))
  }
}
