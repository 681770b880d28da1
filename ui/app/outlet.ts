import { html, type TemplateResult } from 'lit'
import { type ApiError, asApiError } from '../api/problem.ts'
import { adminsOnly } from '../components/admins-only.ts'
import { closedBy } from '../components/closed-by.ts'
import { PbElement } from '../components/element.ts'
import { emptyState, errorState, skeleton } from '../components/states.ts'
import { t } from '../text/t.ts'
import { pageElement } from './page-element.ts'
import { type Match, placeOf } from './places.ts'
import { router } from './router.ts'
import { session } from './session.ts'

/** The part of the frame that shows the page of the present address, loading its chunk first. */
export class PbOutlet extends PbElement {
  static override properties = { loaded: { state: true }, failure: { state: true } }
  declare loaded: string
  declare failure: ApiError | undefined
  #wanted = ''
  #shownPath = ''
  #focusedPath = ''
  #namedPath = ''
  /** The place has changed, and its page has not taken the focus yet. */
  #moves = false

  override render(): unknown {
    const { place } = router
    const match = placeOf(place.path)
    if (!match) return this.#notFound()
    if (match.place.adminOnly && !session.isAdmin) return this.#notAllowed()
    if (match.closedBy !== undefined) return this.#closed(match.closedBy)
    const { element } = match.place
    if (this.#wanted !== element) this.#load(match)
    if (this.failure)
      return html`<main id="main" class="page" tabindex="-1">${errorState(this.failure, () => this.#load(match))}</main>`
    if (this.loaded !== element) return html`<main id="main" class="page" tabindex="-1">${skeleton(6)}</main>`
    return pageElement(match, place)
  }

  protected override updated(): void {
    const { path } = router.place
    this.#nameClosed(path)
    const isNew = this.#shownPath !== path
    // At the first load the browser itself announces the page to a screen reader; later the heading does.
    const isLoad = this.#shownPath === '' && this.closest('pb-app[data-entered]') === null
    this.#shownPath = path
    if (isNew && !isLoad) {
      this.#moves = true
      scrollTo(0, 0)
    }
    if (this.#moves) requestAnimationFrame(() => this.#focusPlace())
  }

  /** A page whose plugin is off has its title, though nothing of it is shown. */
  #nameClosed(path: string): void {
    const match = placeOf(path)
    const before = this.#namedPath
    this.#namedPath = match?.closedBy === undefined ? '' : path
    if (match?.closedBy === undefined || before === path) return
    const label = match.place.title()
    document.title = `${label} · Patchbay`
    this.dispatchEvent(new CustomEvent('pb-crumbs', { detail: [{ label }], bubbles: true }))
  }

  /** Focuses the heading; until the page's script has loaded, its placeholder, which is removed together with the focus. */
  #focusPlace(): void {
    const active = document.activeElement
    const stands = active === null || active === document.body || !this.contains(active) || active.matches('main')
    if (stands || this.#shownPath !== this.#focusedPath)
      this.querySelector<HTMLElement>('h1, main')?.focus({ preventScroll: true })
    this.#focusedPath = this.#shownPath
    if (this.loaded === this.#wanted) this.#moves = false
  }

  #load(match: Match): void {
    const { element } = match.place
    this.#wanted = element
    this.failure = undefined
    match.place.load().then(
      () => {
        this.loaded = this.#wanted === element ? element : this.loaded
      },
      error => {
        this.failure = asApiError(error)
      },
    )
  }

  #notFound(): TemplateResult {
    const back = html`<a class="btn pri" href=${document.documentElement.dataset.base || '/'}>${t('To the dashboard')}</a>`
    return html`<main id="main" class="page" tabindex="-1"><h1 class="vh" tabindex="-1">${t('Not found')}</h1>${emptyState(
      {
        icon: 'map-pin-off',
        title: t('There is nothing at this address'),
        text: t('It may have been renamed or deleted, or you may not see it.'),
        action: back,
      },
    )}</main>`
  }

  #closed(plugin: string): TemplateResult {
    return html`<main id="main" class="page" tabindex="-1"><h1 class="vh" tabindex="-1">${t('This page is off')}</h1>${closedBy(plugin)}</main>`
  }

  #notAllowed(): TemplateResult {
    return html`<main id="main" class="page" tabindex="-1"><h1 class="vh" tabindex="-1">${t('Not allowed')}</h1>${adminsOnly()}</main>`
  }
}
customElements.define('pb-outlet', PbOutlet)

declare global {
  interface HTMLElementTagNameMap {
    'pb-outlet': PbOutlet
  }
}
