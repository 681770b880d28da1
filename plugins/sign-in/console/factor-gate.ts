import { html } from 'lit'
import { gate, PbElement, session, t } from 'patchbay/console'
import './factors.ts'

/** The page of a user who must set a second factor before anything else. */
export class PbFactorGate extends PbElement {
  override render(): unknown {
    document.title = `${t('Set a second factor')} · Patchbay`
    return gate(html`<h1 class="vh">${t('Set a second factor')}</h1><div class="stack"><p class="s q">${t('Users of this hub sign in with a second factor. Set one to go on.')}</p><pb-factors></pb-factors></div>
      <p class="xs q gfoot"><button type="button" class="btn ghost sm" @click=${() => void session.signOut()}>${t('Sign out')}</button></p>`)
  }
}
customElements.define('pb-factor-gate', PbFactorGate)

declare global {
  interface HTMLElementTagNameMap {
    'pb-factor-gate': PbFactorGate
  }
}
