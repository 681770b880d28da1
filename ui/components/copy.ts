import { html } from 'lit'
import { icon } from '../text/icon.ts'
import { t } from '../text/t.ts'
import { PbElement } from './element.ts'
import { toast } from './layers/toast.ts'

/** A button that copies a text: `<pb-copy .text=${endpoint} label="Copy address"></pb-copy>`. */
export class PbCopy extends PbElement {
  static override properties = { text: {}, label: {}, caption: {}, copied: { state: true } }
  declare text: string
  /** Label of the button for screen readers. Default "Copy". */
  declare label: string
  /** Visible words beside the icon. Default none. */
  declare caption: string
  declare copied: boolean

  override render(): unknown {
    const label = this.label || t('Copy')
    const small = this.caption ? 'btn' : 'btn ghost sm ico'
    return html`<button type="button" class=${small} aria-label=${label} title=${label} @click=${this.#copy}>${icon(
      this.copied ? 'check' : 'copy',
    )}${this.caption ?? ''}</button><span class="vh" role="status">${this.copied ? t('Copied') : ''}</span>`
  }

  async #copy(): Promise<void> {
    if (!(await copyText(this.text)))
      return toast(t('This browser lets nothing be copied here. Select the text instead.'))
    this.copied = true
    setTimeout(() => {
      this.copied = false
    }, 2000)
  }
}
customElements.define('pb-copy', PbCopy)

/** Copies a text; over plain HTTP, where pages cannot use the clipboard, by a selection. False: neither worked. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const field = document.createElement('textarea')
    field.value = text
    field.className = 'vh'
    document.body.append(field)
    field.select()
    const done = document.execCommand('copy')
    field.remove()
    return done
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-copy': PbCopy
  }
}
