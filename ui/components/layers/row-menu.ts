import { html, LitElement } from 'lit'
import { icon } from '../../text/icon.ts'
import { type MenuItem, menu } from './menu.ts'

/**
 * The menu of a row in a long list: `<pb-row-menu .items=${() => [...]} label="Actions for github"></pb-row-menu>`. A plain
 * button until it is pressed, so that a hundred rows do not make a hundred menus; for the same reason it follows neither
 * signals nor the language by itself, but is rendered with its row.
 */
export class PbRowMenu extends LitElement {
  static override properties = { label: {}, used: { state: true } }
  /** Purpose of the button. */
  declare label: string
  declare used: boolean
  #items: () => readonly MenuItem[] = () => []

  /** Called when the menu is shown. */
  get items(): () => readonly MenuItem[] {
    return this.#items
  }

  set items(items: () => readonly MenuItem[]) {
    this.#items = items
    // Each rendering of the row brings a new function, on which the button does not depend.
    if (this.used) this.requestUpdate()
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  override render(): unknown {
    if (this.used) return menu(this.label, this.items())
    return html`<button type="button" class="btn ghost sm ico" aria-haspopup="menu" aria-label=${this.label} title=${this.label} @click=${this.#open}>${icon('ellipsis')}</button>`
  }

  async #open(): Promise<void> {
    this.used = true
    await this.updateComplete
    const dropdown = this.querySelector('wa-dropdown')
    await dropdown?.updateComplete
    this.querySelector('button')?.focus()
    if (dropdown) dropdown.open = true
  }
}
customElements.define('pb-row-menu', PbRowMenu)

declare global {
  interface HTMLElementTagNameMap {
    'pb-row-menu': PbRowMenu
  }
}
