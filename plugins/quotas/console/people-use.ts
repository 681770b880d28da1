import { html, nothing } from 'lit'
import { formatNumber, t } from 'patchbay/console'
import type { UsageSum } from './api.ts'

/** Calls of a server by person, those with the most calls first. */
export function peopleUse(items: readonly UsageSum[]): unknown {
  if (items.length === 0) return nothing
  const people = new Map<string, Pick<UsageSum, 'calls' | 'failures' | 'resultTokens'>>()
  for (const { user = '', calls, failures, resultTokens } of items) {
    const sum = people.get(user) ?? { calls: 0, failures: 0, resultTokens: 0 }
    people.set(user, {
      calls: sum.calls + calls,
      failures: sum.failures + failures,
      resultTokens: sum.resultTokens + resultTokens,
    })
  }
  const rows = [...people].sort(([, one], [, other]) => other.calls - one.calls)
  return html`<div class="ch line"><h3>${t('Calls of the last seven days by person')}</h3></div><div class="tw"><table class="cards"><thead><tr><th scope="col">${t('User')}</th><th scope="col" class="num">${t('Calls')}</th><th scope="col" class="num">${t('Failed calls')}</th><th scope="col" class="num">${t('Tokens of results')}</th></tr></thead><tbody>${rows.map(
    ([name, { calls, failures, resultTokens }]) =>
      html`<tr><td class="full">${name}</td><td class="num" data-l=${t('Calls')}>${formatNumber(calls, 0)}</td><td class="num" data-l=${t('Failed calls')}>${formatNumber(failures, 0)}</td><td class="num" data-l=${t('Tokens of results')}>${formatNumber(resultTokens, 0)}</td></tr>`,
  )}</tbody></table></div>`
}
