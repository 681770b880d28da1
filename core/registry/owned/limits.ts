import { HubError } from '../../contract/errors.ts'
import type { Actor } from '../../contract/records.ts'
import { quoteName } from '../../domain/names.ts'
import { isAdmin } from '../../domain/ownership.ts'
import type { Owner } from '../owners.ts'
import type { ReplaceOptions } from './records.ts'

/** Whether a setting has the rights of an ordinary user alone. */
export type SettingLimit = 'limited' | 'none'

/** The owner with the rights that apply to a setting. */
export function withLimit(owner: Owner, limited: boolean): Owner {
  return limited && owner.role === 'admin' ? { ...owner, role: 'user' } : owner
}

interface Save {
  readonly actor: Actor
  /** The owner with the rights of the account. */
  readonly account: Owner
  readonly before: { readonly name: string; readonly limited: boolean }
  readonly options: ReplaceOptions & { readonly limit?: SettingLimit }
}

/**
 * What a save writes, and whether the setting is limited then. An ordinary user's save limits it, also that of an administrator
 * outside ADMIN_ADDRESSES; only an administrator who sends the whole of it, with no mask for a part, lifts that. Throws
 * `review_required` where it would need more rights than it keeps.
 */
export function changedLimit<Written extends { readonly hidden?: boolean }>(
  { actor, account, before, options }: Save,
  prepare: (owner: Owner) => Written,
): { readonly limited: boolean; readonly written: Written } {
  if (account.role !== 'admin') return { limited: false, written: prepare(account) }
  if (!isAdmin(actor)) return { limited: true, written: prepare(withLimit(account, true)) }
  if (options.limit) return { limited: options.limit === 'limited', written: prepare(account) }
  if (!before.limited) return { limited: false, written: prepare(account) }
  if (options.whole) {
    const written = prepare(account)
    if (written.hidden !== true) return { limited: false, written }
  }
  try {
    return { limited: true, written: prepare(withLimit(account, true)) }
  } catch (error) {
    if (error instanceof HubError && error.status === 403) throw reviewRequired(before.name, error)
    throw error
  }
}

function reviewRequired(name: string, cause: HubError): HubError {
  const why = `${quoteName(name)} was saved with fewer rights, and keeps those: ${cause.message}`
  return new HubError('review_required', why, {
    cause,
    hint: 'Look at it, and PUT the whole of it with its secrets entered anew.',
  })
}
