import { html, type TemplateResult } from 'lit'
import { href } from '../app/router.ts'
import { session } from '../app/session.ts'
import { t } from '../text/t.ts'
import { emptyState } from './states.ts'

/** Shown in place of a page whose plugin does not run, with the way to the plugin for administrators. */
export function closedBy(plugin: string): TemplateResult {
  const title = t('This page is off')
  if (session.isAdmin) {
    return emptyState({
      icon: 'puzzle',
      title,
      text: t('It belongs to the plugin {name}, which does not run. Switch the plugin on to have the page.', {
        name: plugin,
      }),
      action: html`<a class="btn pri" href=${href('/admin/plugins', { plugin })}>${t('To the plugin')}</a>`,
    })
  }
  return emptyState({
    icon: 'puzzle',
    title,
    text: t('It belongs to the plugin {name}, which does not run. An administrator can switch it on.', {
      name: plugin,
    }),
    action: html`<a class="btn pri" href=${href('/')}>${t('To the dashboard')}</a>`,
  })
}
