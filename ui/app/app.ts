import { html, type PropertyValues } from 'lit'
import { PbElement } from '../components/element.ts'
import { t } from '../text/t.ts'
import { hubState } from './hub-state.ts'
import { live } from './live.ts'
import { pluginPages } from './plugin-pages.ts'
import { router } from './router.ts'
import { session } from './session.ts'
import '../components/toast.ts'

/**
 * The whole console: the gate for whoever is not signed in, else the frame with the page of the present address. The
 * address stays while somebody signs in, so that a link leads to its place afterwards.
 */
export class PbApp extends PbElement {
  #user: string | undefined

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    const id = session.user?.id
    if (id === this.#user) return
    this.#user = id
    // Whoever has just passed the gate stood in a form that is gone: the page that follows takes the focus.
    if (this.hasUpdated) this.toggleAttribute('data-entered', id !== undefined)
    if (id === undefined) {
      live.stop()
      hubState.stop()
      pluginPages.stop()
    } else {
      live.start()
      hubState.start()
      pluginPages.start()
    }
  }

  override render(): unknown {
    return html`${this.#content()}<pb-toasts></pb-toasts>`
  }

  #content(): unknown {
    const { user } = session
    if (router.place.path === '/reset-password') {
      return this.#lazy(import('../pages/sign-in/reset.ts'), html`<pb-reset-password></pb-reset-password>`)
    }
    // The set-up goes on after its first step has made the account.
    const setup = document.documentElement.dataset.setup === 'open' && (!user || router.place.path === '/setup')
    if (user && user.mustChangePassword !== true && !setup) {
      return this.#lazy(import('./frame.ts'), html`<pb-frame></pb-frame>`)
    }
    if (setup) return this.#lazy(import('../pages/setup/page.ts'), html`<pb-setup></pb-setup>`)
    return this.#lazy(import('../pages/sign-in/page.ts'), html`<pb-sign-in></pb-sign-in>`)
  }

  /** The element is upgraded when its chunk is there; a chunk that cannot be loaded says so. */
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
