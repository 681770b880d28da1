import { html } from 'lit'
import { formatAgo, formatDateTime } from '../text/format.ts'
import { PbElement } from './element.ts'

/** All relative times of the page move together, every 10 s. */
const STEP_MS = 10_000

/**
 * A time as its distance from now, in full on hover and focus: `<pb-time .at=${record.updatedAt}></pb-time>`.
 */
export class PbTime extends PbElement {
  static override properties = { at: {} }
  /** ISO 8601, or milliseconds since 1970. */
  declare at: string | number
  #timer: ReturnType<typeof setInterval> | undefined

  override connectedCallback(): void {
    super.connectedCallback()
    this.#timer = setInterval(() => this.requestUpdate(), STEP_MS)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    clearInterval(this.#timer)
  }

  override render(): unknown {
    const time = new Date(this.at)
    const full = formatDateTime(time)
    return html`<time datetime=${time.toISOString()} title=${full}>${formatAgo(time)}<span class="vh">, ${full}</span></time>`
  }
}
customElements.define('pb-time', PbTime)

declare global {
  interface HTMLElementTagNameMap {
    'pb-time': PbTime
  }
}
