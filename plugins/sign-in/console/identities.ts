import { html, nothing } from 'lit'
import {
  type ApiError,
  api,
  attempt,
  confirmed,
  errorState,
  icon,
  PbElement,
  type Provider,
  Resource,
  segment,
  t,
  toast,
} from 'patchbay/console'
import { begin, canBegin, waysIn } from './ways.ts'

interface Identity {
  readonly id: string
  readonly provider: string
  readonly email: string | null
  readonly createdAt: string
}

interface Linked {
  readonly providers: readonly Provider[]
  readonly items: readonly Identity[]
}

/** The accounts with which the user signs in; nothing where the hub has no providers. */
export class PbIdentities extends PbElement {
  static override properties = { error: { state: true }, busy: { state: true } }
  declare error: ApiError | undefined
  declare busy: boolean
  readonly #linked = new Resource<Linked>(this, {
    read: async signal => {
      const { items } = await api.get<{ readonly items: readonly Identity[] }>('/api/auth/identities', { signal })
      return { items, providers: (await waysIn(signal)).items }
    },
  })

  override render(): unknown {
    const { data } = this.#linked
    if (!data || (data.items.length === 0 && data.providers.every(({ linkable }) => !linkable))) return nothing
    const free = canBegin() ? data.providers.filter(({ linkable }) => linkable) : []
    return html`<section class="card"><div class="ch line"><h2>${t('Linked accounts')}</h2></div>${this.error ? errorState(this.error) : nothing}
      <ul class="list">${data.items.map(each => this.#row(each, data.providers))}</ul>
      <div class="cb stack padt"><p class="hint">${t('You sign in with a linked account instead of the password.')}</p><div class="row wrap">${free.map(
        ({ id, label }) =>
          html`<button type="button" class="btn" ?disabled=${this.busy} @click=${() => void attempt(this, () => begin(id, { link: true, returnTo: '/settings/factors' }))}>${icon('link')}${t('Link {provider}', { provider: label })}</button>`,
      )}</div></div></section>`
  }

  #row({ id, provider, email, createdAt }: Identity, providers: readonly Provider[]): unknown {
    const name = providers.find(one => one.id === provider)?.label ?? provider
    return html`<li><span class="tx"><span class="t1">${name}</span><span class="t2">${email ? html`${email} · ` : nothing}${t('since')} <pb-time .at=${createdAt}></pb-time></span></span>
      <button type="button" class="btn bad" aria-label=${t('Unlink {provider}', { provider: name })} @click=${() => void this.#unlink(id, name)}>${t('Unlink')}</button></li>`
  }

  async #unlink(id: string, provider: string): Promise<void> {
    const text = t('You cannot sign in with it any more.')
    if (!(await confirmed({ title: t('Unlink {provider}?', { provider }), action: t('Unlink'), text }))) return
    await attempt(this, async () => {
      await api.delete(`/api/auth/identities/${segment(id)}`)
      toast(t('{provider} is unlinked', { provider }))
    })
    await this.#linked.reload()
  }
}
customElements.define('pb-identities', PbIdentities)

declare global {
  interface HTMLElementTagNameMap {
    'pb-identities': PbIdentities
  }
}
