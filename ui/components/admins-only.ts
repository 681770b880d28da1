import { t } from '../text/t.ts'
import { emptyState } from './states.ts'

/** Placeholder for a page that an ordinary user may not see. */
export function adminsOnly(): unknown {
  return emptyState({
    icon: 'lock',
    title: t('This page is for administrators'),
    text: t('Ask one of them for what you need, or for the role.'),
  })
}
