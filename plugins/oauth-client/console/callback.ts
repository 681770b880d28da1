import { html, nothing } from 'lit'
import {
  type ApiError,
  asApiError,
  connectPath,
  errorState,
  gate,
  href,
  icon,
  PbElement,
  skeleton,
  t,
} from 'patchbay/console'
import { type Connection, connectionsApi } from './api.ts'
import { underWay } from './under-way.ts'

/** Finishes a sign-in at a server: the issuer has sent the browser here. The code is removed from the address at once. */
export class PbCallback extends PbElement {
  static override properties = { done: { state: true }, error: { state: true } }
  declare done: Connection | undefined
  declare error: ApiError | undefined
  readonly #address = location.href

  override connectedCallback(): void {
    super.connectedCallback()
    history.replaceState(null, '', location.pathname)
    if (new URL(this.#address).search !== '') void this.#finish()
  }

  override render(): unknown {
    document.title = `${t('Sign in at a server')} · Patchbay`
    return gate(
      html`<section class="card gcard"><div class="stack l" aria-live="polite">${this.#content()}</div></section>`,
    )
  }

  #content(): unknown {
    const { done, error } = this
    if (done) {
      const page = href(`/servers/${encodeURIComponent(done.server)}`)
      return html`<h1 tabindex="-1">${t('You are signed in')}</h1>
        <div class="callout ok" role="status">${icon('circle-check')}<p>${t('“{name}” has your sign-in. You can close this window and go on in your app.', { name: done.server.replace('~', ' / ') })}</p></div>
        <div class="row end"><a class="btn pri big" href=${page}>${t('To the server')}</a></div>`
    }
    if (error) return html`<h1 tabindex="-1">${t('You are not signed in')}</h1>${errorState(error)}${again()}`
    if (new URL(this.#address).search === '')
      return html`<h1 tabindex="-1">${t('Nothing to finish')}</h1><p>${t('This page ends a sign-in at a server, and was opened without one.')}</p>${again()}`
    return html`<h1 tabindex="-1">${t('Signing you in')}</h1>${skeleton(2)}`
  }

  async #finish(): Promise<void> {
    try {
      this.done = await connectionsApi.finish(this.#address)
      underWay.clear()
    } catch (error) {
      this.error = asApiError(error)
    }
  }
}
customElements.define('pb-callback', PbCallback)

function again(): unknown {
  const id = underWay.get()
  const link =
    id === undefined ? nothing : html`<a class="btn pri big" href=${href(connectPath(id))}>${t('Begin again')}</a>`
  return html`<div class="row wrap end"><a class="btn big" href=${href('/connections')}>${t('Sign-ins at servers')}</a>${link}</div>`
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-callback': PbCallback
  }
}
