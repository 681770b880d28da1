import { html, nothing } from 'lit'
import {
  type ApiError,
  asApiError,
  errorState,
  errorText,
  gate,
  icon,
  PbElement,
  session,
  skeleton,
  t,
} from 'patchbay/console'
import { invitationsApi, type Offer } from './api.ts'
import { roleText, thingPage, thingText } from './words.ts'

/** Shows what an invitation gives and by whom, and accepts it at a click. The token leaves the address at once. */
export class PbInvite extends PbElement {
  static override properties = {
    offer: { state: true },
    done: { state: true },
    busy: { state: true },
    error: { state: true },
  }
  declare offer: Offer | undefined
  declare done: boolean
  declare busy: boolean
  declare error: ApiError | undefined
  readonly #token = location.hash.slice(1)

  override connectedCallback(): void {
    super.connectedCallback()
    history.replaceState(null, '', location.pathname)
    void this.#preview()
  }

  override render(): unknown {
    document.title = `${t('Invitation')} · Patchbay`
    const name = session.user?.name ?? ''
    return gate(html`<section class="card gcard"><div class="stack l" aria-live="polite">${this.#content()}</div></section>
      <p class="xs q gfoot">${t('Signed in as {name}.', { name })}</p>`)
  }

  #content(): unknown {
    const { offer, error } = this
    if (!offer) return error ? html`<h1>${t('This invitation gives nothing')}</h1>${errorState(error)}` : skeleton(4)
    const things = offer.things.map(
      thing =>
        html`<li>${this.done ? html`<a href=${thingPage(thing)}>${thingText(thing)}</a>` : thingText(thing)}</li>`,
    )
    if (this.done) return html`<h1 tabindex="-1">${t('It is shared with you now')}</h1><ul>${things}</ul>`
    return html`<h1>${t('{name} shares with you', { name: offer.by })}</h1><ul>${things}</ul><p class="s">${roleText(offer.role)}</p>
      ${error ? html`<div class="callout bad" role="alert">${icon('circle-x')}<p>${errorText(error)}</p></div>` : nothing}
      <div class="row end"><button type="button" class="btn pri big" ?disabled=${this.busy} @click=${() => void this.#accept()}>${t('Accept')}</button></div>`
  }

  async #preview(): Promise<void> {
    try {
      this.offer = await invitationsApi.preview(this.#token || '-')
    } catch (error) {
      this.error = asApiError(error)
    }
  }

  async #accept(): Promise<void> {
    this.busy = true
    this.error = undefined
    try {
      this.offer = await invitationsApi.accept(this.#token)
      this.done = true
    } catch (error) {
      this.error = asApiError(error)
    }
    this.busy = false
  }
}
customElements.define('pb-invite', PbInvite)

declare global {
  interface HTMLElementTagNameMap {
    'pb-invite': PbInvite
  }
}
