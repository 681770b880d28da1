import type { ShareRole, ThingRole } from '../../api/types.ts'
import { t } from '../../text/t.ts'

/** The word of a role. */
export function roleWord(role: ShareRole): string {
  if (role === 'use') return t('use')
  return role === 'see' ? t('see') : t('change')
}

/** The rights of a role in one sentence. */
export function roleText(role: ShareRole): string {
  if (role === 'use') return t('Lists its tools and calls them; its settings are not shown.')
  if (role === 'see') return t('Uses it, and reads its settings with secrets hidden, its faults and its figures.')
  return t('Sees it, starts, stops and edits it; sharing and deleting are left to the owner.')
}

/** Owner of a record of somebody else, with the reader's role: "ada · see". Undefined for own records. */
export function ownerNote(record: { readonly owner: string; readonly role?: ThingRole }, me: string | undefined) {
  const { owner, role } = record
  if (owner === me) return undefined
  return role === undefined || role === 'owner' ? owner : `${owner} · ${roleWord(role)}`
}
