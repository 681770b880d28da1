import { formatNumber, t } from 'patchbay/console'
import type { Quota } from './api.ts'

/** The members of a quota, in their order. */
export const PARTS: readonly (keyof Quota)[] = ['perMinute', 'perDay', 'atOnce', 'resultTokensPerDay']

/** Name of a member of a quota. */
export function partText(part: keyof Quota): string {
  switch (part) {
    case 'perMinute':
      return t('calls in a minute')
    case 'perDay':
      return t('calls in a day')
    case 'atOnce':
      return t('calls at once')
    case 'resultTokensPerDay':
      return t('tokens of results in a day')
  }
}

/** A member of a quota as the label of a field. */
export function partLabel(part: keyof Quota): string {
  switch (part) {
    case 'perMinute':
      return t('Calls in a minute')
    case 'perDay':
      return t('Calls in a day')
    case 'atOnce':
      return t('Calls at once')
    case 'resultTokensPerDay':
      return t('Tokens of results in a day')
  }
}

/** A member of a quota with its number. */
export function limitText(part: keyof Quota, limit: number): string {
  const n = formatNumber(limit, 0)
  switch (part) {
    case 'perMinute':
      return t('{n} in a minute', { n })
    case 'perDay':
      return t('{n} in a day', { n })
    case 'atOnce':
      return t('{n} at once', { n })
    case 'resultTokensPerDay':
      return t('{n} tokens in a day', { n })
  }
}
