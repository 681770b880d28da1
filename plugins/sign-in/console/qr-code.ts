import QrCreator from '@konnorr/qr-creator'
import { html } from 'lit'
import { PbElement, t } from 'patchbay/console'

/** Side in pixels, twice that on the canvas for fine screens. */
const SIDE = 192

/** A text as a QR code, dark on light in both themes, as readers want it. */
export class PbQrCode extends PbElement {
  static override properties = { text: {} }
  declare text: string

  override render(): unknown {
    return html`<canvas class="qr" width=${2 * SIDE} height=${2 * SIDE} role="img" aria-label=${t('QR code of the key')}></canvas>`
  }

  protected override updated(): void {
    const canvas = this.querySelector('canvas')
    if (!canvas) return
    const options = {
      text: this.text,
      radius: 0,
      quiet: 2,
      ecLevel: 'M',
      fill: 'black',
      background: 'white',
      size: 2 * SIDE,
    } as const
    QrCreator.render(options, canvas)
  }
}
customElements.define('pb-qr-code', PbQrCode)

declare global {
  interface HTMLElementTagNameMap {
    'pb-qr-code': PbQrCode
  }
}
