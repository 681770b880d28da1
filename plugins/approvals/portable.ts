import type { UserActor } from 'patchbay/contract'
import type { AttachedSettings, AttachedThing } from 'patchbay/features'
import { checked, requireSignIn, StatedSettings } from 'patchbay/plugin-kit'
import type { Policies } from './policies.ts'
import { type Policy, policySchema } from './rule-schema.ts'
import { withTeams } from './rules.ts'
import type { ApprovalTables } from './tables.ts'

type Tables = Parameters<AttachedSettings['save']>[0]

/** Rules of servers and groups, for the settings file, exports and imports. */
export class PortableRules extends StatedSettings implements AttachedSettings {
  readonly #policies: Policies

  constructor(policies: Policies) {
    super()
    this.#policies = policies
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
    requireSignIn(actor, 'Rules')
  }

  async save(tables: Tables, { kind, id }: AttachedThing, value: unknown): Promise<void> {
    const policy = (value ?? { rules: [] }) as Policy
    await this.#policies.set({ kind, id }, policy, tables<ApprovalTables>())
  }
}

function plain(policy: Policy) {
  return JSON.parse(JSON.stringify(policy))
}
