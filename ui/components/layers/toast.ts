import { Signal } from '@lit-labs/signals'
import { html, nothing } from 'lit'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { PbElement } from '../element.ts'

/** Time for which a message stays, in milliseconds; with Undo ten seconds. */
const STAY_MS = 6000
const UNDO_MS = 10_000

interface Message {
  readonly text: string
  readonly undo?: (() => void) | undefined
  readonly endsAtMs: number
}

const current = new Signal.State<Message | undefined>(undefined)

/** Shows a message at the bottom right. `undo`: offered for ten seconds. */
export function toast(text: string, undo?: () => void): void {
  current.set({ text, undo, endsAtMs: Date.now() + (undo ? UNDO_MS : STAY_MS) })
}

/** Shows the messages of {@link toast}; exists once in the frame. */
export class PbToasts extends PbElement {
  #timer: ReturnType<typeof setInterval> | undefined

  override connectedCallback(): void {
    super.connectedCallback()
    this.#timer = setInterval(() => {
      const message = current.get()
      if (!message) return
      if (Date.now() >= message.endsAtMs) current.set(undefined)
      else if (message.undo) this.requestUpdate()
    }, 500)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    clearInterval(this.#timer)
  }

  override render(): unknown {
    const message = current.get()
    return html`<div role="status" aria-live="polite">${message ? this.#message(message) : nothing}</div>`
  }

  #message(message: Message): unknown {
    const seconds = Math.max(1, Math.ceil((message.endsAtMs - Date.now()) / 1000))
    const close = (): void => current.set(undefined)
    const undo = (): void => {
      close()
      message.undo?.()
    }
    return html`<div class="toast"><span>${message.text}</span>${
      message.undo
        ? html`<button type="button" class="btn sm" @click=${undo}>${t('Undo')}</button><span class="f tn" aria-hidden="true">${t('{n} s', { n: seconds })}</span>`
        : nothing
    }<button type="button" class="btn ghost sm ico" aria-label=${t('Close')} @click=${close}>${icon('x')}</button></div>`
  }
}
customElements.define('pb-toasts', PbToasts)

declare global {
  interface HTMLElementTagNameMap {
    'pb-toasts': PbToasts
  }
}
