import { html, nothing } from 'lit'
import {
  type ApiError,
  type AskedProof,
  api,
  attempt,
  dialog,
  errorText,
  icon,
  PbElement,
  Resource,
  session,
  t,
} from 'patchbay/console'
import { askPasskey, hasPasskeys } from './ask-passkey.ts'
import { codeForm } from './second-step.ts'

/** Has the user prove again who it is: the password, then the code. Shown while a request waits for it. */
export class PbProof extends PbElement {
  static override properties = {
    error: { state: true },
    busy: { state: true },
    asked: { state: true },
    byRecovery: { state: true },
  }
  declare error: ApiError | undefined
  declare busy: boolean
  declare asked: AskedProof | undefined
  declare byRecovery: boolean | undefined
  readonly #factors = new Resource<{ readonly items: readonly { readonly kind: string }[] }>(this, {
    read: signal => api.get('/api/auth/factors', { signal }),
  })

  override render(): unknown {
    const form = this.asked ? this.#code(this.asked) : this.#password()
    return dialog({ open: true, title: t('Is it still you?'), body: form, onClose: () => session.proved(false) })
  }

  #problem(): unknown {
    if (!this.error) return nothing
    return html`<div class="callout bad" role="alert">${icon('circle-x')}<p>${errorText(this.error)}</p></div>`
  }

  #password(): unknown {
    return html`<form class="stack l" @submit=${(event: SubmitEvent) => {
      event.preventDefault()
      const password = String(new FormData(event.target as HTMLFormElement).get('password'))
      void this.#send(async () => ({ password }))
    }}><p class="s q">${t('This changes only within ten minutes after you proved who you are.')}</p>
      <input class="vh" tabindex="-1" aria-hidden="true" autocomplete="username" .value=${session.user?.name ?? ''} readonly>
      <div class="field"><label class="lbl" for="proof">${t('Password')}</label><input id="proof" name="password" class="in" type="password" autocomplete="current-password" required autofocus></div>
      <p class="hint">${t('Without a password: sign out, and sign in again.')}</p>
      ${this.#problem()}<div class="row wrap"><button class="btn pri" ?disabled=${this.busy}>${t('Go on')}</button>${this.#passkeyButton()}</div></form>`
  }

  #code(asked: AskedProof): unknown {
    return codeForm({
      ...{ asked, byRecovery: this.byRecovery === true, busy: this.busy, wait: 0, problem: this.#problem() },
      submit: code => void this.#send(async () => ({ ticket: asked.ticket, code })),
      byPasskey: () => void this.#byPasskey(),
      other: () => {
        this.byRecovery = !this.byRecovery
      },
    })
  }

  #passkeyButton(): unknown {
    if (!hasPasskeys() || !this.#factors.data?.items.some(({ kind }) => kind === 'passkey')) return nothing
    return html`<button type="button" class="btn" ?disabled=${this.busy} @click=${() => void this.#byPasskey()}>${icon('fingerprint')}${t('Use a passkey')}</button>`
  }

  #byPasskey(): Promise<void> {
    return this.#send(async () => ({ passkey: await askPasskey({ reauth: true }) }))
  }

  #send(make: () => Promise<object>): Promise<void> {
    const act = async (): Promise<void> => {
      const body = await make()
      const answer = await api.post<{ readonly secondFactor?: AskedProof }>('/api/auth/reauth', { body })
      this.asked = answer.secondFactor
      if (!this.asked) session.proved(true)
    }
    return attempt(this, act, ({ code }) => {
      if (code === 'second_factor_ended') this.asked = undefined
    })
  }
}
customElements.define('pb-proof', PbProof)

declare global {
  interface HTMLElementTagNameMap {
    'pb-proof': PbProof
  }
}
