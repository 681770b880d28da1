import type { AttachedSettings, AttachedThing } from 'patchbay/features'
import { checked, StatedSettings } from 'patchbay/plugin-kit'
import { z } from 'zod'
import { type RuleSets, requireShort, type Target, withoutSecret, withSecrets } from './rule-sets.ts'
import { type Rule, rules } from './rules.ts'
import type { GuardTables } from './tables.ts'
import type { Place } from './types.ts'

const saved = z.strictObject({ rules })

type Tables = Parameters<AttachedSettings['save']>[0]

/** Rules of servers and groups, for the settings file, exports and imports. */
export class PortableRules extends StatedSettings implements AttachedSettings {
  readonly #sets: RuleSets

  constructor(sets: RuleSets) {
    super()
    this.#sets = sets
  }

  /** True for rules that the settings file states. */
  isFixed({ key }: Place): boolean {
    const [kind, id = ''] = key.split(' ')
    return (kind === 'server' || kind === 'group') && this.isStated({ kind, id })
  }

  open(thing: AttachedThing, keep: (secret: string, pointer: string) => string) {
    const list = this.#sets.rules(targetOf(thing))
    return list.length === 0 ? undefined : kept(list, keep)
  }

  masked(value: unknown, mask: (secret: string) => string) {
    return kept((value as { readonly rules: readonly Rule[] }).rules, mask)
  }

  /** A list alone is taken as `rules`. */
  check(value: unknown) {
    const read = checked(saved, Array.isArray(value) ? { rules: value } : value)
    const whole = { rules: withSecrets(read.rules, []) }
    requireShort(JSON.stringify(whole.rules.map(withoutSecret)))
    return plain(whole)
  }

  async save(tables: Tables, thing: AttachedThing, value: unknown): Promise<void> {
    const { rules: list } = (value ?? { rules: [] }) as { readonly rules: readonly Rule[] }
    await this.#sets.replace(targetOf(thing), list, { ownerId: thing.ownerId, isByAdmin: false }, tables<GuardTables>())
  }
}

function kept(list: readonly Rule[], keep: (secret: string, pointer: string) => string) {
  return plain({
    rules: list.map((one, index) => {
      if (!one.webhook) return one
      const secret = keep(one.webhook.secret, `/rules/${index}/webhook/secret`)
      return { ...one, webhook: { ...one.webhook, secret } }
    }),
  })
}

function targetOf({ kind, id }: AttachedThing): Target {
  return { kind: kind === 'server' ? 'server' : 'group', id }
}

function plain(value: { readonly rules: readonly Rule[] }) {
  return JSON.parse(JSON.stringify(value))
}
