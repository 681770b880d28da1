import { HubError, type UserActor } from 'patchbay/contract'
import type { AttachedHub, AttachedSettings, AttachedThing } from 'patchbay/features'
import { checked } from 'patchbay/plugin-kit'
import type { Policies } from './policies.ts'
import { requireSignIn } from './policy-routes.ts'
import { type Policy, policySchema } from './rule-schema.ts'
import { withTeams } from './rules.ts'
import type { ApprovalTables } from './tables.ts'

type Tables = Parameters<AttachedSettings['save']>[0]

/** Rules of servers and groups, for the settings file, exports and imports. */
export class PortableRules implements AttachedSettings {
  readonly #policies: Policies
  #hub: AttachedHub | undefined

  constructor(policies: Policies) {
    this.#policies = policies
  }

  opened(hub: AttachedHub): void {
    this.#hub = hub
  }

  /** Throws `settings_read_only` for rules that the settings file states. */
  refuseStated(kind: 'server' | 'group', id: string): void {
    this.#hub?.refuseStated({ kind, id })
  }

  /** True for rules that stay as they are written in the settings file. */
  isStated(kind: 'server' | 'group', id: string): boolean {
    try {
      this.refuseStated(kind, id)
      return false
    } catch (error) {
      if (error instanceof HubError && error.code === 'settings_read_only') return true
      throw error
    }
  }

  open({ kind, id }: AttachedThing) {
    const policy = this.#policies.get(`${kind}:${id}`)
    return policy && plain(policy)
  }

  /** A list alone is taken as `rules`. */
  check(value: unknown) {
    return plain(checked(policySchema, Array.isArray(value) ? { rules: value } : value))
  }

  renamed(value: unknown, nameOf: (team: string) => string) {
    return plain(withTeams(value as Policy, nameOf))
  }

  permit(actor: UserActor): void {
    requireSignIn(actor)
  }

  async save(tables: Tables, { kind, id }: AttachedThing, value: unknown): Promise<void> {
    const policy = (value ?? { rules: [] }) as Policy
    const place = kind === 'server' ? { server_id: id, group_id: null } : { server_id: null, group_id: id }
    await this.#policies.set({ id: `${kind}:${id}`, ...place }, policy, tables<ApprovalTables>())
  }
}

function plain(policy: Policy) {
  return JSON.parse(JSON.stringify(policy))
}
