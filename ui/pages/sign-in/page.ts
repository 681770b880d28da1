import { html, nothing } from 'lit'
import { api } from '../../api/client.ts'
import type { ApiError } from '../../api/problem.ts'
import type { SignInParts, Ways } from '../../app/part.ts'
import { signInParts } from '../../app/parts.ts'
import { placeOf } from '../../app/places.ts'
import { router } from '../../app/router.ts'
import { type AskedProof, session } from '../../app/session.ts'
import { attempt } from '../../components/attempt.ts'
import { PbElement } from '../../components/element.ts'
import { gate } from '../../components/gate.ts'
import { errorText } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'

type Session = Parameters<typeof session.accept>[0]

/** The gate: signs in, or has a password changed that must be. Nothing of the hub's data is shown before it. */
export class PbSignIn extends PbElement {
  static override properties = {
    error: { state: true },
    busy: { state: true },
    shown: { state: true },
    wait: { state: true },
    asked: { state: true },
    byRecovery: { state: true },
    parts: { state: true },
    ways: { state: true },
    byPassword: { state: true },
  }
  declare error: ApiError | undefined
  declare busy: boolean
  /** True when the password is readable. */
  declare shown: boolean
  /** Seconds until the next attempt is allowed. */
  declare wait: number
  /** The second step that waits for a code. */
  declare asked: AskedProof | undefined
  declare byRecovery: boolean | undefined
  /** Ways besides the password; undefined until they have loaded. */
  declare parts: SignInParts | undefined
  /** Undefined until the hub has answered. */
  declare ways: Ways | undefined
  /** True when an administrator wants the password, where the page shows none. */
  declare byPassword: boolean | undefined
  #timer: ReturnType<typeof setInterval> | undefined
  /** Kept only in this element, for the change that is required at a first sign-in. */
  #password = ''

  override connectedCallback(): void {
    super.connectedCallback()
    if (!session.user) void this.#load()
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    clearInterval(this.#timer)
  }

  /** A password is enough where the other ways cannot be loaded. */
  async #load(): Promise<void> {
    this.parts = await signInParts().catch(() => undefined)
    this.ways = await this.parts?.waysIn()
  }

  override render(): unknown {
    const { user, ended } = session
    document.title = `${t('Sign in')} · Patchbay`
    if (user?.mustChangePassword) return gate(this.#changeForm(user.name))
    if (this.asked) return gate(this.#secondStep(this.asked))
    const place = placeOf(router.place.path)
    const back =
      place && router.place.path !== '/'
        ? html`<p class="xs q gfoot">${t('Afterwards you come back to {page}.', { page: place.place.title() })}</p>`
        : nothing
    return gate(html`<section class="card gcard"><h1>${t('Sign in to {host}', { host: location.host })}</h1>
      ${ended && !this.error ? html`<div class="callout warn" role="status">${icon('clock')}<p>${t('Your sign-in has ended. Sign in again to go on.')}</p></div>` : nothing}
      ${this.#passwordForm()}${this.#others()}</section>${back}`)
  }

  #passwordForm(): unknown {
    const passwords = this.ways?.passwords ?? 'on'
    if (passwords === 'off' && !this.byPassword) return this.#problem()
    return html`<form class="stack l" @submit=${this.#submit}>${passwords === 'on' ? nothing : html`<p class="hint">${t('Administrators alone sign in with a password here.')}</p>`}
        <div class="field"><label class="lbl" for="user">${t('User')}</label><input id="user" name="username" class="in big" autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus></div>
        ${this.#passwordField('password', t('Password'), 'current-password')}${this.#problem()}
        <button class="btn pri big full" ?disabled=${this.busy || this.wait > 0}>${this.busy ? t('Signing in') : this.wait > 0 ? t('Wait {n} s', { n: this.wait }) : t('Sign in')}</button></form>`
  }

  #others(): unknown {
    const { ways, parts } = this
    const providers = ways && parts?.canBegin() ? ways.items : []
    const withPasskey = ways?.passkeys === true && parts?.hasPasskeys()
    const isHidden = ways?.passwords === 'off' && !this.byPassword
    const toPassword = isHidden
      ? html`<button type="button" class="btn ghost full" @click=${() => {
          this.byPassword = true
        }}>${t('Sign in as an administrator')}</button>`
      : nothing
    const forwarded = ways?.forwarded
    if (providers.length === 0 && !withPasskey && forwarded === undefined) {
      if (!isHidden) return nothing
      return html`<p class="s q">${t('Users of this hub sign in with a passkey or an account, at the address of the hub with https.')}</p>${toPassword}`
    }
    const returnTo = router.place.path
    return html`${isHidden ? nothing : html`<p class="or"><span>${t('or')}</span></p>`}<div class="stack">${
      forwarded === undefined
        ? nothing
        : html`<button type="button" class="btn big full" ?disabled=${this.busy} @click=${() => void this.#try(() => this.#byProxy())}>${t('Continue as {user}', { user: forwarded })}</button>`
    }${
      withPasskey
        ? html`<button type="button" class="btn big full" ?disabled=${this.busy} @click=${() => void this.#try(() => this.#byPasskey())}>${icon('fingerprint')}${t('Sign in with a passkey')}</button>`
        : nothing
    }${providers.map(
      ({ id, label }) =>
        html`<button type="button" class="btn big full" ?disabled=${this.busy} @click=${() => void this.#try(async () => parts?.begin(id, { returnTo }))}>${t('Sign in with {provider}', { provider: label })}</button>`,
    )}${toPassword}</div>`
  }

  async #byProxy(): Promise<void> {
    this.byRecovery = false
    this.asked = await session.signInForwarded()
  }

  async #byPasskey(asked?: AskedProof): Promise<void> {
    const passkey = await this.parts?.askPasskey(asked ? { ticket: asked.ticket } : {})
    if (passkey) await session.passkeyStep(passkey, asked)
  }

  #secondStep(asked: AskedProof): unknown {
    const form = this.parts?.codeForm({
      ...{ asked, byRecovery: this.byRecovery === true, busy: this.busy, wait: this.wait, problem: this.#problem() },
      submit: code => void this.#try(() => session.secondStep(asked, code)),
      byPasskey: () => void this.#try(() => this.#byPasskey(asked)),
      other: () => {
        this.byRecovery = !this.byRecovery
        this.error = undefined
      },
    })
    return html`<section class="card gcard"><h1>${t('Second step')}</h1>${form}
      <button type="button" class="btn ghost full" @click=${() => {
        this.asked = undefined
        this.error = undefined
      }}>${t('Begin again')}</button></section>`
  }

  #passwordField(id: string, label: string, autocomplete: string): unknown {
    return html`<div class="field"><label class="lbl" for=${id}>${label}</label><div class="wrapin"><input id=${id} name=${id} class="in big hasact"
      type=${this.shown ? 'text' : 'password'} autocomplete=${autocomplete} required><span class="ina"><button type="button" class="btn ghost ico"
      aria-pressed=${this.shown ? 'true' : 'false'} aria-label=${t('Show password')} @click=${() => {
        this.shown = !this.shown
      }}>${icon(this.shown ? 'eye-off' : 'eye')}</button></span></div></div>`
  }

  #problem(): unknown {
    if (!this.error) return nothing
    const text =
      this.error.code === 'login_failed'
        ? t('User and password do not match. Try again, or ask an administrator for a new password.')
        : errorText(this.error)
    return html`<div class="callout bad" role="alert">${icon('circle-x')}<p>${text}</p></div>`
  }

  #changeForm(name: string): unknown {
    return html`<section class="card gcard"><h1>${t('Choose a new password')}</h1>
      <form class="stack l" @submit=${this.#change}><p class="s q">${t('Somebody else has set the present one. Only you should know the next.')}</p>
        <input class="vh" tabindex="-1" aria-hidden="true" autocomplete="username" .value=${name} readonly>
        ${this.#password === '' ? this.#passwordField('current', t('Present password'), 'current-password') : nothing}
        ${this.#passwordField('next', t('New password'), 'new-password')}${this.#problem()}
        <button class="btn pri big full" ?disabled=${this.busy}>${t('Change password')}</button></form></section>`
  }

  readonly #submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = new FormData(event.target as HTMLFormElement)
    this.#password = String(form.get('password'))
    await this.#try(async () => {
      this.byRecovery = false
      this.asked = await session.signIn(String(form.get('username')), this.#password)
    })
  }

  readonly #change = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = new FormData(event.target as HTMLFormElement)
    const body = {
      currentPassword: String(form.get('current') ?? this.#password),
      newPassword: String(form.get('next')),
    }
    await this.#try(async () => session.accept(await api.post<Session>('/api/auth/password', { body })))
  }

  #try(act: () => Promise<void>): Promise<void> {
    return attempt(this, act, ({ code, retryAfterSeconds = 0 }) => {
      if (code === 'second_factor_ended') this.asked = undefined
      this.#countDown(retryAfterSeconds)
    })
  }

  #countDown(seconds: number): void {
    clearInterval(this.#timer)
    this.wait = seconds
    if (seconds <= 0) return
    this.#timer = setInterval(() => {
      this.wait -= 1
      if (this.wait <= 0) clearInterval(this.#timer)
    }, 1000)
  }
}
customElements.define('pb-sign-in', PbSignIn)

declare global {
  interface HTMLElementTagNameMap {
    'pb-sign-in': PbSignIn
  }
}
