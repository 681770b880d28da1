import { html, nothing } from 'lit'
import { href, icon, t } from 'patchbay/console'
import type { Template, Update } from './api.ts'

/** Relation of the listed version to the installed one, as icon and words. */
function stateMark({ state, installed, available }: Update): unknown {
  if (state === 'removed')
    return html`<span class="st st-warn">${icon('triangle-alert')}${t('not listed any more; {version} runs on', { version: installed })}</span>`
  if (state === 'unavailable')
    return html`<span class="st rest">${icon('circle-minus')}${t('its source has no list now')}</span>`
  if (state === 'changed')
    return html`<span class="st rest">${icon('file-diff')}${t('{version}, which now runs or asks for something else', { version: installed })}</span>`
  return html`<span class="st rest tn">${icon(state === 'newer' ? 'circle-arrow-up' : 'git-compare')}${installed} → ${available}</span>`
}

/** The reader's servers with another listed version; nothing if there is none. */
export function updatesCard(updates: readonly Update[]): unknown {
  if (updates.length === 0) return nothing
  return html`<section class="card updates"><div class="ch line"><h2>${t('Other versions of what you installed')}</h2></div><ul class="list">${updates.map(
    update =>
      html`<li><div class="tx"><span class="t1"><a href=${href(`/servers/${encodeURIComponent(update.server)}`)}>${update.server.split('~').pop()}</a><span class="q">${update.title}</span>${
        update.deprecated ? html`<span class="tag warn">${t('Deprecated')}</span>` : nothing
      }</span><p class="t2">${stateMark(update)}</p>${update.message ? html`<p class="hint">${update.message}</p>` : nothing}</div><span class="row wrap">${
        update.available === undefined ? nothing : changeLink('/market', update.server, 'up', t('Review the change'))
      }${
        update.previous === undefined
          ? nothing
          : changeLink('/market', update.server, 'back', t('Back to {version}', { version: update.previous }))
      }</span></li>`,
  )}</ul></section>`
}

/** The reader's servers of one template with links to other versions; nothing if there is none. */
export function installedCard({ id, installed, version }: Template): unknown {
  if (installed.length === 0) return nothing
  const path = `/market/${encodeURIComponent(id.replaceAll('/', '~'))}`
  return html`<section class="card"><div class="ch line"><h2>${t('Your servers of it')}</h2></div><ul class="list">${installed.map(
    one =>
      html`<li><div class="tx"><span class="t1"><a href=${href(`/servers/${encodeURIComponent(one.server)}`)}>${one.server.split('~').pop()}</a></span><p class="t2 tn">${one.version}</p></div><span class="row wrap">${
        one.update ? changeLink(path, one.server, 'up', t('Upgrade to {version}', { version: version ?? '' })) : nothing
      }${one.previous ? changeLink(path, one.server, 'back', t('Back to {version}', { version: one.previous })) : nothing}</span></li>`,
  )}</ul></section>`
}

function changeLink(path: string, server: string, way: 'up' | 'back', label: string): unknown {
  return html`<a class="btn sm" href=${href(path, { change: server, way: way === 'back' ? way : undefined })}>${label}</a>`
}
