import { html } from 'lit'
import {
  asApiError,
  type Column,
  confirmed,
  emptyState,
  errorText,
  href,
  icon,
  live,
  PbPage,
  type PieceSubject,
  Resource,
  session,
  show,
  t,
  toast,
} from 'patchbay/console'
import { type Grant, oauthApi } from './api.ts'
import { targetText } from './consent.ts'

/** The apps that the user has let use the hub by sign-in. */
class PbPageApps extends PbPage {
  readonly #grants = new Resource<{ readonly items: readonly Grant[] }>(this, {
    read: signal => oauthApi.grants(signal),
    everyMs: 30_000,
  })

  override crumbs() {
    return [{ label: t('API keys'), path: '/keys' }, { label: t('Connected apps') }]
  }

  override actions() {
    return session.isAdmin ? html`<a class="btn" href=${href('/admin/clients')}>${t('Apps of all users')}</a>` : ''
  }

  override content() {
    return html`<p class="lede">${t('Apps that you signed in for, without a key. Disconnect one, and it must ask you again.')}</p>${show(
      this.#grants,
      ({ items }) => (items.length === 0 ? none() : this.#table(items)),
    )}`
  }

  #table(items: readonly Grant[]) {
    return html`<pb-table .rows=${items} .columns=${this.#columns()} .keyOf=${(grant: Grant) => grant.id} .label=${t('Connected apps')}></pb-table>`
  }

  #columns(): readonly Column<Grant>[] {
    return [
      {
        id: 'name',
        head: t('App'),
        cell: ({ client, redirectHost }) =>
          html`<span class="nm">${client.name}</span> <span class="q s">${client.host ?? redirectHost}</span>`,
      },
      { id: 'target', head: t('May use'), label: t('May use'), cell: ({ target }) => targetText(target) },
      {
        ...{ id: 'scopes', head: t('It may'), label: t('It may') },
        cell: ({ scopes }) => (scopes.includes('mcp:tools') ? t('call tools') : t('read only')),
      },
      {
        ...{ id: 'since', head: t('Connected since'), label: t('Connected since') },
        cell: ({ createdAt }) => html`<pb-time .at=${createdAt}></pb-time>`,
      },
      {
        ...{ id: 'used', head: t('Last used'), label: t('Last used') },
        cell: ({ lastUsedAt }) => html`<pb-time .at=${lastUsedAt}></pb-time>`,
      },
      {
        ...{ id: 'acts', head: t('Actions'), quiet: true, class: 'full' },
        cell: grant =>
          html`<span class="row end"><pb-rules .subject=${{ kind: 'grant', ref: grant.id, name: grant.client.name } satisfies PieceSubject}></pb-rules><button type="button" class="btn bad sm" ?disabled=${!live.reachable} aria-label=${t('Disconnect {name}', { name: grant.client.name })} @click=${() => void this.#end(grant)}>${icon('unplug')}${t('Disconnect')}</button></span>`,
      },
    ]
  }

  async #end({ id, client: { name } }: Grant): Promise<void> {
    const text = t('Its requests are refused from now on. It can ask you again.')
    if (!(await confirmed({ title: t('Disconnect {name}?', { name }), action: t('Disconnect'), text }))) return
    try {
      await oauthApi.end(id)
      toast(t('{name} is disconnected', { name }))
      await this.#grants.reload()
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
  }
}
customElements.define('pb-page-apps', PbPageApps)

function none() {
  return html`<section class="card">${emptyState({
    icon: 'plug',
    title: t('No connected apps'),
    text: t('Give an app the address of a group. If it can sign in, it opens this console and asks you.'),
  })}</section>`
}
