import { html, nothing } from 'lit'
import { api } from '../../api/client.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { href, router } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import { PbElement } from '../../components/element.ts'
import { errorText } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { fieldText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'
import { gate } from './gate.ts'

type Session = Parameters<typeof session.accept>[0]

/** Page of a reset link: sets a new password and signs its user in. The link's secret is removed from the address at once. */
export class PbResetPassword extends PbElement {
  static override properties = { error: { state: true }, busy: { state: true }, shown: { state: true } }
  declare error: ApiError | undefined
  declare busy: boolean
  /** True when the password is readable. */
  declare shown: boolean
  readonly #token = location.hash.slice(1)

  override connectedCallback(): void {
    super.connectedCallback()
    history.replaceState(null, '', location.pathname)
  }

  override render(): unknown {
    document.title = `${t('Choose a new password')} · Patchbay`
    const ended = this.#token === '' || this.error?.code === 'reset_link_invalid'
    return gate(
      html`<section class="card gcard"><h1>${t('Choose a new password')}</h1>${ended ? endedNote() : this.#form()}</section>`,
    )
  }

  #form(): unknown {
    const wrong = this.error?.field('#/newPassword')
    const mistake = wrong && fieldText(wrong)
    return html`<form class="stack l" @submit=${this.#submit}><p class="s q">${t('This link works once. All your other sign-ins end; access keys go on.')}</p>
      ${this.#field(mistake)}${this.error && !mistake ? html`<div class="callout bad" role="alert">${icon('circle-x')}<p>${errorText(this.error)}</p></div>` : nothing}
      <button class="btn pri big full" ?disabled=${this.busy}>${this.busy ? t('Saving') : t('Set password and sign in')}</button></form>`
  }

  #field(mistake: string | undefined): unknown {
    return html`<div class="field"><label class="lbl" for="next">${t('New password')}</label><div class="wrapin"><input id="next" name="next" class="in big hasact ${mistake ? 'err' : ''}"
      type=${this.shown ? 'text' : 'password'} autocomplete="new-password" required autofocus aria-describedby="next-hint"><span class="ina"><button type="button" class="btn ghost ico"
      aria-pressed=${this.shown ? 'true' : 'false'} aria-label=${t('Show password')} @click=${() => {
        this.shown = !this.shown
      }}>${icon(this.shown ? 'eye-off' : 'eye')}</button></span></div><p class="hint ${mistake ? 'bad' : ''}" id="next-hint">${mistake ?? t('At least 12 characters; a sentence is easy to keep in mind.')}</p></div>`
  }

  readonly #submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const newPassword = String(new FormData(event.target as HTMLFormElement).get('next'))
    this.busy = true
    this.error = undefined
    try {
      session.accept(await api.post<Session>('/api/auth/reset', { body: { token: this.#token, newPassword } }))
      await router.go('/', { replace: true })
    } catch (error) {
      this.error = asApiError(error)
    }
    this.busy = false
  }
}
function endedNote(): unknown {
  return html`<div class="callout bad" role="alert">${icon('circle-x')}<p>${t('This link was used or has ended. Ask an administrator for a new one.')}</p></div>
    <p><a class="btn full" href=${href('/')}>${t('Sign in')}</a></p>`
}

customElements.define('pb-reset-password', PbResetPassword)

declare global {
  interface HTMLElementTagNameMap {
    'pb-reset-password': PbResetPassword
  }
}
