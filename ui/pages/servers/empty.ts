import { html, nothing, type TemplateResult } from 'lit'
import { pluginPages } from '../../app/plugin-pages.ts'
import { href } from '../../app/router.ts'
import { emptyState } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { type ServersView, wordOf } from './filters.ts'
import type { Condition } from './list.ts'

/** Text for a user without any server. `mine`: the list shows only own servers. */
export function nothingYet(mine: boolean): TemplateResult {
  const text = mine
    ? t(
        'Paste the configuration of a client, a command or an address, and the hub keeps the server running for all your clients.',
      )
    : pluginPages.has('market')
      ? t('A server gives tools to your clients. Add one that you know, or look into the market.')
      : t('A server gives tools to your clients. Add one that you know.')
  return emptyState({
    icon: 'server',
    title: mine ? t('You have no servers yet') : t('No servers yet'),
    text,
    action: html`<span class="row"><a class="btn" href=${href('/servers/new')}>${icon('plus')}${t('Add your first server')}</a>${
      pluginPages.has('market') ? html`<a class="btn ghost" href=${href('/market')}>${t('To the market')}</a>` : nothing
    }</span>`,
  })
}

/** Placeholder for the list when the filter matches nothing. */
export function noHits(view: ServersView, clear: () => void): TemplateResult {
  const parts = [
    view.q === '' ? '' : `“${view.q}”`,
    view.state === '' ? '' : wordOf(view.state as Condition),
    view.transport,
    view.owner,
    view.group,
  ].filter(part => part !== '')
  return emptyState({
    icon: 'list-filter',
    title: t('No server fits'),
    text: t('The filter is: {filter}.', { filter: parts.join(', ') }),
    action: html`<button type="button" class="btn" @click=${clear}>${t('Clear filters')}</button>`,
  })
}
