import { t } from 'patchbay/console'
import type { GuardPlace, GuardRule, GuardSample } from './api.ts'

/** The place of rules, for its reader. */
export function placeWord({ kind, name }: Pick<GuardPlace, 'kind' | 'name'>): string {
  if (kind === 'hub') return t('All calls of the hub')
  return kind === 'group' ? t('Group {name}', { name }) : t('Server {name}', { name })
}

/** The content that a rule looks for, in a few words. */
export function matchWords({ match, webhook }: Pick<GuardRule, 'match' | 'webhook'>): string {
  if (webhook) return t('a webhook')
  const { secrets, personal, pattern, domains } = match ?? {}
  return [
    ...(secrets ? [t('keys and tokens')] : []),
    ...(personal ? [t('personal data')] : []),
    ...(pattern ? [t('patterns')] : []),
    ...(domains ? [t('other addresses')] : []),
  ].join(', ')
}

/** The direction in which a rule looks. */
export function onWord(on: GuardRule['on']): string {
  if (on === 'both') return t('arguments and results')
  return on === 'arguments' ? t('arguments') : t('results')
}

/** The action of a rule. */
export function thenWord(then: GuardRule['then']): string {
  return { observe: t('observes'), mask: t('masks'), refuse: t('refuses') }[then]
}

/** The action at a sample. */
export function actionWord(action: GuardSample['action']): string {
  return { observed: t('observed'), masked: t('masked'), refused: t('refused'), failed: t('failed') }[action]
}
