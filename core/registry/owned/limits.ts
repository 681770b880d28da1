import { HubError } from '../../contract/errors.ts'
import type { Actor } from '../../contract/records.ts'
import { quoteName } from '../../domain/names.ts'
import { isAdmin } from '../../domain/ownership.ts'
import type { Owner } from '../owners.ts'
import type { ReplaceOptions } from './records.ts'

/** `limited`: the setting has only the rights of an ordinary user. */
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
 * Returns the values that a save writes, and whether the setting is limited afterwards. A save by an ordinary user limits it,
 * and so does one by an administrator outside ADMIN_ADDRESSES. Only an administrator who sends all of it, without masks, removes
 * the limit. Throws `review_required` if the setting would need more rights than it keeps.
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
    hint: 'Look at it, and PUT the whole of it with its secrets entered again.',
  })
}
