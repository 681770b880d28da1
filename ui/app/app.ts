import { html, type PropertyValues } from 'lit'
import { PbElement } from '../components/element.ts'
import { t } from '../text/t.ts'
import { hubState } from './hub-state.ts'
import { live } from './live.ts'
import { namedElement, pageElement } from './page-element.ts'
import { piecesOf } from './parts.ts'
import { placeCounts } from './place-counts.ts'
import { placeOf } from './places.ts'
import { pluginPages } from './plugin-pages.ts'
import { router } from './router.ts'
import { session } from './session.ts'
import '../components/layers/toast.ts'

/**
 * The whole console: the sign-in page without a session, otherwise the frame with the page of the present address. The address
 * is unchanged during the sign-in, so that a link leads to its page afterwards.
 */
export class PbApp extends PbElement {
  #user: string | undefined

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    const id = session.user?.id
    if (id === this.#user) return
    this.#user = id
    // After the sign-in, the form with the focus was removed: the next page takes the focus.
    if (this.hasUpdated) this.toggleAttribute('data-entered', id !== undefined)
    if (id === undefined) {
      live.stop()
      hubState.stop()
      pluginPages.stop()
      placeCounts.stop()
    } else {
      live.start()
      hubState.start()
      pluginPages.start()
      placeCounts.start()
    }
  }

  override render(): unknown {
    const proof = session.proving ? html`<section>${this.#piece('proof')}</section>` : ''
    return html`${this.#content()}${proof}<pb-toasts></pb-toasts>`
  }

  #content(): unknown {
    const { user } = session
    if (router.place.path === '/reset-password') {
      return this.#lazy(import('../pages/sign-in/reset.ts'), html`<pb-reset-password></pb-reset-password>`)
    }
    const match = placeOf(router.place.path)
    if (match?.place.isPublic) return this.#lazy(match.place.load(), pageElement(match, router.place))
    // The set-up continues after its first step has created the account.
    const setup = document.documentElement.dataset.setup === 'open' && (!user || router.place.path === '/setup')
    if (user && user.mustChangePassword !== true && !setup) {
      if (session.mustSetSecondFactor) return this.#piece('factor-gate')
      if (match?.place.isBare && match.closedBy === undefined)
        return this.#lazy(match.place.load(), pageElement(match, router.place))
      return this.#lazy(import('./frame.ts'), html`<pb-frame></pb-frame>`)
    }
    if (setup) return this.#lazy(import('../pages/setup/page.ts'), html`<pb-setup></pb-setup>`)
    return this.#lazy(import('../pages/sign-in/page.ts'), html`<pb-sign-in></pb-sign-in>`)
  }

  #piece(slot: 'proof' | 'factor-gate'): unknown {
    const [piece] = piecesOf(slot)
    // Without the plugin nobody can be asked: the request ends with the hub's words, which say to sign in again.
    if (!piece && slot === 'proof') queueMicrotask(() => session.proved(false))
    return piece && this.#lazy(piece.load(), namedElement(piece.element))
  }

  /** Shows the element, which is upgraded when its chunk has loaded; a chunk that cannot be loaded causes an error message. */
  #lazy(chunk: Promise<unknown>, element: unknown): unknown {
    const begin = (): void => document.querySelector('#boot')?.remove()
    chunk.then(begin, () => {
      begin()
      const text = document.createElement('p')
      text.setAttribute('role', 'alert')
      text.textContent = t('A part of the console could not be loaded. Load the page again.')
      this.append(text)
    })
    return element
  }
}
customElements.define('pb-app', PbApp)

declare global {
  interface HTMLElementTagNameMap {
    'pb-app': PbApp
  }
}
