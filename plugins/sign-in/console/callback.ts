import { html, nothing } from 'lit'
import {
  type ApiError,
  type AskedProof,
  api,
  asApiError,
  attempt,
  errorText,
  gate,
  href,
  icon,
  PbElement,
  router,
  segment,
  session,
  skeleton,
  t,
} from 'patchbay/console'
import { askPasskey } from './ask-passkey.ts'
import { codeForm } from './second-step.ts'
import { begun } from './ways.ts'

type Answer = { readonly returnTo?: string; readonly linked?: true } & Parameters<typeof session.acceptOrAsk>[0]

/** The page to which a provider of sign-ins leads back. What it brings is removed from the address at once. */
export class PbProviderCallback extends PbElement {
  static override properties = {
    error: { state: true },
    failed: { state: true },
    busy: { state: true },
    asked: { state: true },
    byRecovery: { state: true },
  }
  declare error: ApiError | undefined
  /** The provider has signed nobody in. */
  declare failed: boolean | undefined
  declare busy: boolean
  declare asked: AskedProof | undefined
  declare byRecovery: boolean | undefined
  #returnTo = '/'

  override connectedCallback(): void {
    super.connectedCallback()
    const url = location.href
    history.replaceState(null, '', location.pathname)
    void this.#finish(url)
  }

  override render(): unknown {
    document.title = `${t('Sign in')} · Patchbay`
    if (this.asked)
      return gate(html`<section class="card gcard"><h1>${t('Second step')}</h1>${this.#code(this.asked)}</section>`)
    const content = this.failed
      ? html`<h1>${t('You are not signed in')}</h1>${this.#problem()}<p><a class="btn full" href=${href('/')}>${t('Sign in')}</a></p>`
      : html`<h1>${t('Signing in')}</h1>${skeleton(2)}`
    return gate(html`<section class="card gcard">${content}</section>`)
  }

  #problem(): unknown {
    if (!this.error) return nothing
    return html`<div class="callout bad" role="alert">${icon('circle-x')}<p>${errorText(this.error)}</p></div>`
  }

  #code(asked: AskedProof): unknown {
    return codeForm({
      ...{ asked, byRecovery: this.byRecovery === true, busy: this.busy, wait: 0, problem: this.#problem() },
      submit: code => void this.#secondStep(() => session.secondStep(asked, code)),
      byPasskey: () =>
        void this.#secondStep(async () => session.passkeyStep(await askPasskey({ ticket: asked.ticket }), asked)),
      other: () => {
        this.byRecovery = !this.byRecovery
      },
    })
  }

  async #finish(url: string): Promise<void> {
    const { provider, key, rest = '' } = begun() ?? { provider: '-', key: '-' }
    try {
      const body = { url, key }
      const answer = await api.post<Answer>(`/api/auth/providers/${segment(provider)}/finish`, { body })
      this.#returnTo = answer.returnTo === undefined ? '/' : `${answer.returnTo}${rest}`
      this.asked = answer.linked ? undefined : session.acceptOrAsk(answer)
      if (!this.asked) await router.go(this.#returnTo, { replace: true })
    } catch (error) {
      this.error = asApiError(error)
      this.failed = true
    }
  }

  #secondStep(prove: () => Promise<void>): Promise<void> {
    const act = async (): Promise<void> => {
      await prove()
      await router.go(this.#returnTo, { replace: true })
    }
    return attempt(this, act, ({ code }) => {
      if (code !== 'second_factor_ended') return
      this.asked = undefined
      this.failed = true
    })
  }
}
customElements.define('pb-provider-callback', PbProviderCallback)

declare global {
  interface HTMLElementTagNameMap {
    'pb-provider-callback': PbProviderCallback
  }
}
