import { html, nothing } from 'lit'
import {
  type ApiError,
  asApiError,
  errorState,
  errorText,
  gate,
  href,
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
      <p class="xs q gfoot">${t('Signed in as {name}.', { name })} <button type="button" class="btn ghost sm" @click=${this.#asSomebodyElse}>${t('Sign in as somebody else')}</button></p>`)
  }

  /** The token returns to the address, from which the page takes it after the next sign-in. */
  readonly #asSomebodyElse = (): void => {
    history.replaceState(null, '', `${location.pathname}#${this.#token}`)
    void session.signOut()
  }

  #content(): unknown {
    const { offer, error } = this
    if (!offer) return error ? refused(error) : skeleton(4)
    const things = offer.things.map(
      thing =>
        html`<li>${this.done ? html`<a href=${thingPage(thing)}>${thingText(thing)}</a>` : thingText(thing)}</li>`,
    )
    if (this.done) {
      const [first] = offer.things
      return html`<h1 tabindex="-1">${t('It is shared with you now')}</h1><ul>${things}</ul><p class="s">${roleText(offer.role)}</p>
        ${first ? html`<div class="row end"><a class="btn pri big" href=${thingPage(first)}>${t('Open {thing}', { thing: thingText(first) })}</a></div>` : nothing}`
    }
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

/** Why a link gives nothing, and the next step. */
function refused(error: ApiError): unknown {
  const words = refusals()[error.code]
  if (!words) return html`<h1 tabindex="-1">${t('This invitation gives nothing')}</h1>${errorState(error)}`
  return html`<h1 tabindex="-1">${words.title}</h1><p>${words.text}</p>
    <div class="row end"><a class="btn big" href=${href('/groups', { scope: 'shared' })}>${t('What is shared with me')}</a></div>`
}

/** A function, since the words follow the language. */
function refusals(): Readonly<Record<string, { readonly title: string; readonly text: string }>> {
  return {
    invitation_unknown: {
      title: t('This link opens nothing'),
      text: t(
        'A part of it is missing, the invitation was ended, or the account of the one who sent it is gone. Open the whole link as you got it, or ask for a new one.',
      ),
    },
    invitation_expired: {
      title: t('This invitation has ended'),
      text: t(
        'Its time is over, or the one who sent it can no longer share what it is for. Ask that person for a new one.',
      ),
    },
    invitation_used: {
      title: t('This invitation was used already'),
      text: t(
        'You have accepted it before, or as many people as it is for have. If somebody forwarded it to you, ask the one who sent it for one of your own.',
      ),
    },
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-invite': PbInvite
  }
}
