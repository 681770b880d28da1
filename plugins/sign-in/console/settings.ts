import { html, PbElement } from 'patchbay/console'
import './factors.ts'
import './identities.ts'

/** The section of one's own settings on how one signs in. */
export class PbSignInSettings extends PbElement {
  override render(): unknown {
    return html`<pb-factors></pb-factors><pb-identities></pb-identities>`
  }
}
customElements.define('pb-sign-in-settings', PbSignInSettings)
