import { html, nothing } from 'lit'
import { assistantApi, type Endpoint } from '../../api/assistant.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { live } from '../../app/live.ts'
import { PbElement } from '../../components/element.ts'
import { errorState } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { fieldText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'
import { chosenTarget, targetField, targetsFor } from './targets.ts'

const SECRET = /(^|[?&/])(token|key|access_token|apikey|api_key|auth|secret)=([^&#]+)/gi

/** Returns the address with its secret parts hidden. */
export function maskUrl(url: string): string {
  return url.replace(
    SECRET,
    (_all, before: string, name: string, value: string) => `${before}${name}=••••••${value.slice(-4)}`,
  )
}

/** A name for an endpoint, after the host of its address. */
export function nameFrom(url: string): string {
  try {
    return new URL(url).hostname.split('.').slice(-2, -1)[0] ?? ''
  } catch {
    return ''
  }
}

/**
 * Adds the address of a platform, or creates an inbound endpoint.
 *
 * @fires pb-made - `detail: Endpoint`
 */
export class PbAssistantAdd extends PbElement {
  static override properties = {
    url: { state: true },
    isShown: { state: true },
    name: { state: true },
    direction: { state: true },
    error: { state: true },
    saving: { state: true },
  }
  /** The pasted address; the field shows it masked unless it is edited. */
  declare url: string
  declare isShown: boolean
  declare name: string | undefined
  declare direction: Endpoint['direction']
  declare error: ApiError | undefined
  declare saving: boolean
  readonly #targets = targetsFor(this)

  constructor() {
    super()
    this.url = ''
    this.direction = 'outbound'
  }

  override render(): unknown {
    const isOutbound = this.direction === 'outbound'
    const targets = this.#targets.data
    return html`<section class="card pad pasteep"><form class="stack" @submit=${this.#submit}>${this.error ? errorState(this.error) : nothing}
      ${
        isOutbound
          ? this.#address()
          : html`<p class="s">${t('The assistant or device dials the hub. Its token is shown once, after it is made.')}</p>`
      }<div class="row wrap addrow"><div class="field grow"><label for="an">${t('Name')}</label><input id="an" class="in ${this.#mistake('/name') ? 'err' : ''}" required maxlength="64" autocomplete="off" .value=${this.#name} @input=${(
        event: Event,
      ) => {
        this.name = (event.target as HTMLInputElement).value
      }}>${this.#mistake('/name') ? html`<p class="hint bad">${icon('circle-alert')}${this.#mistake('/name')}</p>` : nothing}</div>
      ${targetField('ag', this.#targets, { mistake: this.#mistake('/group') })}
      <button type="submit" class="btn pri addb" ?disabled=${this.saving || !live.reachable || targets?.length === 0}>${this.saving ? t('Adding') : isOutbound ? t('Add and connect') : t('Make endpoint')}</button></div>
      <p class="xs q">${isOutbound ? t('Your device dials the hub instead?') : t('Your platform gives you an address?')} <button type="button" class="linkb" @click=${() => {
        this.direction = isOutbound ? 'inbound' : 'outbound'
        this.error = undefined
      }}>${isOutbound ? t('Make an inbound endpoint') : t('Paste it instead')}</button></p></form></section>`
  }

  #address(): unknown {
    const masked = maskUrl(this.url)
    const isMasked = !this.isShown && masked !== this.url
    const mistake = this.#mistake('/url')
    const clear = html`<button type="button" class="btn" @click=${() => {
      this.url = ''
    }}>${t('Clear')}</button>`
    return html`<div class="field"><label for="au">${t('Paste the address from your platform')}</label><div class="row"><input id="au" class="in code ${mistake ? 'err' : ''}" placeholder="wss://…" autocomplete="off" spellcheck="false" required .value=${isMasked ? masked : this.url} ?readonly=${isMasked}
      @input=${(event: Event) => this.#typed((event.target as HTMLInputElement).value)} @paste=${this.#pasted}>${isMasked ? clear : nothing}</div><p class="hint ${mistake ? 'bad' : ''}">${mistake ?? t('The token in it is hidden as soon as you paste.')}</p></div>`
  }

  get #name(): string {
    return this.name ?? nameFrom(this.url)
  }

  #mistake(pointer: string): string | undefined {
    const mistake = this.error?.fields.find(field => field.pointer.replace('#', '') === pointer)
    return mistake && fieldText(mistake)
  }

  #typed(text: string): void {
    this.url = text.trim()
    this.isShown = true
  }

  readonly #pasted = (event: ClipboardEvent): void => {
    const text = event.clipboardData?.getData('text').trim()
    if (!text) return
    event.preventDefault()
    this.url = text
    this.isShown = false
  }

  readonly #submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const data = new FormData(event.target as HTMLFormElement)
    const { direction, url } = this
    this.saving = true
    this.error = undefined
    try {
      const made = await assistantApi.create({
        name: this.#name,
        direction,
        group: chosenTarget(data),
        ...(direction === 'outbound' ? { url } : {}),
      })
      this.url = ''
      this.name = undefined
      this.dispatchEvent(new CustomEvent('pb-made', { detail: made }))
    } catch (error) {
      this.error = asApiError(error)
    }
    this.saving = false
  }
}
customElements.define('pb-assistant-add', PbAssistantAdd)

declare global {
  interface HTMLElementTagNameMap {
    'pb-assistant-add': PbAssistantAdd
  }
}
