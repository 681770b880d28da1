import { html, nothing } from 'lit'
import {
  type ApiError,
  asApiError,
  type Column,
  confirmed,
  emptyState,
  errorState,
  errorText,
  icon,
  live,
  PbPage,
  Resource,
  show,
  t,
  toast,
} from 'patchbay/console'
import { type ClientMethod, type OAuthClient, oauthApi } from './api.ts'

/** The apps of all users, for administrators: listed, blocked, removed. */
class PbPageClients extends PbPage {
  static override properties = {
    ...PbPage.properties,
    failure: { state: true },
    secret: { state: true },
  }
  declare failure: ApiError | undefined
  /** A client that was just listed, whose secret is shown once. */
  declare secret: { readonly id: string; readonly secret: string | undefined } | undefined
  readonly #clients = new Resource<{ readonly items: readonly OAuthClient[] }>(this, {
    read: signal => oauthApi.clients(signal),
    everyMs: 30_000,
  })

  override crumbs() {
    return [{ label: t('Connected apps'), path: '/apps' }, { label: t('Apps of all users') }]
  }

  override content() {
    return html`<p class="lede">${t('Apps register by themselves where their answer goes to a known host. List the others here; block what nobody should use.')}</p>
      ${this.secret ? this.#shown(this.secret) : nothing}${show(this.#clients, ({ items }) => (items.length === 0 ? none() : this.#table(items)))}${this.#form()}`
  }

  #shown({ id, secret }: { readonly id: string; readonly secret: string | undefined }) {
    return html`<section class="card"><div class="ch"><h2>${t('The app is listed')}</h2></div><div class="cb stack" role="status"><p>${t('Enter this in the app. A secret is shown once.')}</p>
      <p class="row wrap"><span>${t('Client ID')}</span><code>${id}</code><pb-copy .text=${id}></pb-copy></p>
      ${secret === undefined ? nothing : html`<p class="row wrap"><span>${t('Client secret')}</span><code class="keytext">${secret}</code><pb-copy .text=${secret}></pb-copy></p>`}</div></section>`
  }

  #table(items: readonly OAuthClient[]) {
    return html`<pb-table .rows=${items} .columns=${this.#columns()} .keyOf=${(client: OAuthClient) => client.id} .label=${t('Apps of all users')}></pb-table>`
  }

  #columns(): readonly Column<OAuthClient>[] {
    return [
      {
        id: 'name',
        head: t('App'),
        cell: ({ name, blocked, host, redirectUris }) =>
          html`<span class="row wrap"><span class="nm">${name}</span><span class="q s">${host ?? redirectUris?.[0] ?? ''}</span>${blocked ? html`<span class="tag bad">${icon('circle-x')}${t('Blocked')}</span>` : nothing}</span>`,
      },
      { id: 'kind', head: t('Known by'), label: t('Known by'), cell: ({ kind }) => kindText(kind) },
      { id: 'grants', head: t('Connections'), label: t('Connections'), class: 'tn', cell: ({ grants }) => grants },
      {
        ...{ id: 'acts', head: t('Actions'), quiet: true, class: 'full' },
        cell: client =>
          html`<span class="row end"><button type="button" class="btn sm" ?disabled=${!live.reachable} aria-label=${client.blocked ? t('Unblock {name}', { name: client.name }) : t('Block {name}', { name: client.name })} @click=${() => void this.#block(client)}>${client.blocked ? t('Unblock') : t('Block')}</button>
          ${client.kind === 'listed' ? html`<button type="button" class="btn bad sm" ?disabled=${!live.reachable} aria-label=${t('Remove {name}', { name: client.name })} @click=${() => void this.#remove(client)}>${t('Remove')}</button>` : nothing}</span>`,
      },
    ]
  }

  #form() {
    return html`<section class="card"><div class="ch"><h2>${t('List an app')}</h2></div><form class="cb stack" @submit=${this.#list}>
      <div class="field"><label class="lbl" for="cn">${t('Name')}</label><input id="cn" name="name" class="in" maxlength="60" required></div>
      <div class="field"><label class="lbl" for="cr">${t('Addresses for the answer, one a line')}</label><textarea id="cr" name="uris" class="in mono" rows="3" required placeholder="https://chatgpt.com/connector/oauth/…"></textarea></div>
      <div class="field"><label class="lbl" for="cm">${t('Client secret')}</label><select id="cm" name="method" class="in"><option value="none">${t('none')}</option><option value="client_secret_post">${t('sent in the body')}</option><option value="client_secret_basic">${t('sent in a header')}</option></select></div>
      ${this.failure ? errorState(this.failure) : nothing}<div class="row end"><button class="btn pri" ?disabled=${!live.reachable}>${icon('plus')}${t('List the app')}</button></div></form></section>`
  }

  readonly #list = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const given = new FormData(form)
    const redirectUris = String(given.get('uris'))
      .split(/\s+/)
      .filter(uri => uri !== '')
    this.failure = undefined
    try {
      const method = String(given.get('method')) as ClientMethod
      const made = await oauthApi.list({ name: String(given.get('name')), redirectUris, method })
      this.secret = { id: made.clientId, secret: made.secret }
      form.reset()
      await this.#clients.reload()
    } catch (error) {
      this.failure = asApiError(error)
    }
  }

  async #block({ id, name, blocked }: OAuthClient): Promise<void> {
    const text = t('What users have connected with it ends at once, and nobody can connect it again.')
    const isSure = blocked || (await confirmed({ title: t('Block {name}?', { name }), action: t('Block'), text }))
    if (isSure) await this.#try(() => oauthApi.block(id, !blocked))
  }

  async #remove({ id, name }: OAuthClient): Promise<void> {
    const text = t('What users have connected with it ends at once.')
    if (await confirmed({ title: t('Remove {name}?', { name }), action: t('Remove'), text }))
      await this.#try(() => oauthApi.remove(id))
  }

  async #try(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
      await this.#clients.reload()
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
  }
}
customElements.define('pb-page-clients', PbPageClients)

function kindText(kind: OAuthClient['kind']): string {
  if (kind === 'document') return t('its own document')
  return kind === 'listed' ? t('this list') : t('its own registration')
}

function none() {
  return html`<section class="card">${emptyState({ icon: 'plug', title: t('No apps yet') })}</section>`
}
