import { html, nothing } from 'lit'
import { api } from '../../api/client.ts'
import type { ApiError } from '../../api/problem.ts'
import type { SignInParts } from '../../app/part.ts'
import { signInParts } from '../../app/parts.ts'
import { href, router } from '../../app/router.ts'
import { type AskedProof, session } from '../../app/session.ts'
import { attempt } from '../../components/attempt.ts'
import { PbElement } from '../../components/element.ts'
import { gate } from '../../components/gate.ts'
import { errorText } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { fieldText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'

type Answer = Parameters<typeof session.acceptOrAsk>[0]

/** Page of a reset link: sets a new password and signs its user in. The link's secret is removed from the address at once. */
export class PbResetPassword extends PbElement {
  static override properties = {
    error: { state: true },
    busy: { state: true },
    shown: { state: true },
    parts: { state: true },
    asked: { state: true },
    byRecovery: { state: true },
  }
  declare error: ApiError | undefined
  declare busy: boolean
  /** True when the password is readable. */
  declare shown: boolean
  /** Second steps; undefined until they have loaded. */
  declare parts: SignInParts | undefined
  /** The second step that waits for a code. */
  declare asked: AskedProof | undefined
  declare byRecovery: boolean | undefined
  #newPassword = ''
  readonly #token = location.hash.slice(1)

  override connectedCallback(): void {
    super.connectedCallback()
    history.replaceState(null, '', location.pathname)
    void this.#load()
  }

  /** A user without a second factor needs none of them. */
  async #load(): Promise<void> {
    this.parts = await signInParts().catch(() => undefined)
  }

  override render(): unknown {
    document.title = `${t('Choose a new password')} · Patchbay`
    const ended = this.#token === '' || this.error?.code === 'reset_link_invalid'
    return gate(
      html`<section class="card gcard"><h1>${t('Choose a new password')}</h1>${ended ? endedNote() : this.asked ? this.#secondStep(this.asked) : this.#form()}</section>`,
    )
  }

  #secondStep(asked: AskedProof): unknown {
    return this.parts?.codeForm({
      ...{ asked, byRecovery: this.byRecovery === true, busy: this.busy, wait: 0, problem: this.#problem() },
      submit: code => void this.#send({ ticket: asked.ticket, code }),
      byPasskey: () => void this.#byPasskey(asked),
      other: () => {
        this.byRecovery = !this.byRecovery
      },
    })
  }

  #problem(): unknown {
    if (!this.error) return nothing
    return html`<div class="callout bad" role="alert">${icon('circle-x')}<p>${errorText(this.error)}</p></div>`
  }

  #form(): unknown {
    const wrong = this.error?.field('#/newPassword')
    const mistake = wrong && fieldText(wrong)
    return html`<form class="stack l" @submit=${this.#submit}><p class="s q">${t('This link works once. All your other sign-ins end; access keys go on.')}</p>
      ${this.#field(mistake)}${mistake ? nothing : this.#problem()}
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
    this.#newPassword = String(new FormData(event.target as HTMLFormElement).get('next'))
    await this.#send()
  }

  /** The answer of the passkey becomes a code that the reset takes. */
  async #byPasskey({ ticket }: AskedProof): Promise<void> {
    await attempt(this, async () => {
      const body = { ticket, passkey: await this.parts?.askPasskey({ ticket }) }
      const { secondFactor } = await api.post<{ readonly secondFactor: { ticket: string; code: string } }>(
        '/api/auth/passkeys/sign-in',
        { body },
      )
      await this.#send(secondFactor)
    })
  }

  async #send(secondFactor?: { readonly ticket: string; readonly code: string }): Promise<void> {
    const body = { token: this.#token, newPassword: this.#newPassword, ...(secondFactor ? { secondFactor } : {}) }
    const act = async (): Promise<void> => {
      this.asked = session.acceptOrAsk(await api.post<Answer>('/api/auth/reset', { body }))
      if (!this.asked) await router.go('/', { replace: true })
    }
    await attempt(this, act, ({ code }) => {
      if (code === 'second_factor_ended') this.asked = undefined
    })
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
