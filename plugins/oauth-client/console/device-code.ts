import { html, nothing } from 'lit'
import { ApiError, errorState, formatClock, icon, PbElement, Resource, skeleton, t } from 'patchbay/console'
import { connectionsApi, type FlowState } from './api.ts'

/** Between two looks at the state, in milliseconds. */
const LOOK_MS = 2_000

/**
 * The code of a sign-in, to be entered at the issuer on any device, and its outcome: `<pb-device-code .flow=${id}>`. Fires
 * `pb-done` when the user is signed in, and `pb-again` when the user wants another code.
 */
export class PbDeviceCode extends PbElement {
  static override properties = { flow: {}, name: {} }
  /** Its id. */
  declare flow: string
  /** The name of the server. */
  declare name: string
  readonly #state = new Resource<FlowState>(this, {
    read: async signal => {
      const ended = this.#ended
      return ended?.flow === this.flow ? ended : this.#read(signal)
    },
    key: () => this.flow,
    everyMs: LOOK_MS,
  })

  /** The outcome, after which the hub is not asked any more. */
  get #ended(): FlowState | undefined {
    const { data } = this.#state
    return data === undefined || data.state === 'waiting' ? undefined : data
  }

  async #read(signal: AbortSignal): Promise<FlowState> {
    const found = await connectionsApi.flow(this.flow, signal)
    if (found.state === 'done') this.dispatchEvent(new CustomEvent('pb-done', { bubbles: true }))
    return found
  }

  override render(): unknown {
    const { data, error } = this.#state
    if (error && (data === undefined || error.code === 'flow_unknown')) return this.#failed(error)
    if (data?.state === 'failed') return this.#failed(errorOf(data))
    if (data?.verificationUri === undefined) return html`<div class="stack l">${skeleton(4)}</div>`
    return this.#code(data, data.verificationUri)
  }

  #code({ userCode = '', verificationUriComplete, expiresAt, issuer = '' }: FlowState, page: string): unknown {
    const host = URL.parse(page)?.host ?? page
    const isElsewhere = URL.parse(page)?.origin !== URL.parse(issuer)?.origin
    const until = formatClock(expiresAt)
    return html`<div class="stack l"><h1 tabindex="-1">${t('Enter the code for “{name}”', { name: this.name })}</h1>
      <p>${t('Open {page} on any device, and enter this code there:', { page })}</p>
      <div class="keyline"><code class="keytext big">${userCode}</code><pb-copy .text=${userCode} .caption=${t('Copy')} .label=${t('Copy the code')}></pb-copy></div>
      ${isElsewhere ? html`<div class="callout warn">${icon('triangle-alert')}<p>${t('The issuer {issuer} sends you to {host}. Enter the code only if you want to give {issuer} your account there.', { issuer, host })}</p></div>` : nothing}
      <p role="status" class="row">${icon('clock')}<span>${t('Waiting for the issuer. The code is valid until {time}.', { time: until })}</span></p>
      <div class="row wrap end"><button type="button" class="btn big" @click=${this.#again}>${t('Another code')}</button>
        <a class="btn pri big" href=${verificationUriComplete ?? page} target="_blank" rel="noopener noreferrer">${t('Open {host}', { host })}</a></div></div>`
  }

  #failed(error: ApiError): unknown {
    return html`<div class="stack l"><h1 tabindex="-1">${t('You are not signed in')}</h1>${errorState(error)}
      <div class="row end"><button type="button" class="btn pri big" @click=${this.#again}>${t('Begin again')}</button></div></div>`
  }

  readonly #again = (): void => {
    this.dispatchEvent(new CustomEvent('pb-again', { bubbles: true }))
  }
}
customElements.define('pb-device-code', PbDeviceCode)

function errorOf({ code = 'internal', message, title, hint }: FlowState): ApiError {
  return new ApiError(400, { code, title, hint, detail: message ?? title ?? code })
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-device-code': PbDeviceCode
  }
}
