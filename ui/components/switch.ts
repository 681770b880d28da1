import { html, type PropertyValues } from 'lit'
import { live as asShown } from 'lit/directives/live.js'
import { PbElement } from './element.ts'

/**
 * A switch for a setting of the hub. It stays as the person set it until the page has the change, so that a second click
 * reverses the visible state; a rejected change is reverted. Changes are sent one after the other: two at once could arrive in
 * either order.
 */
export class PbSwitch extends PbElement {
  static override properties = {
    label: { attribute: false },
    isOn: { attribute: false },
    disabled: { attribute: false },
    set: { attribute: false },
    chosen: { state: true },
  }
  declare label: string
  declare isOn: boolean
  declare disabled: boolean
  /** Makes the change. Resolves with true if the hub accepted it; does not reject. */
  declare set: (isOn: boolean) => Promise<boolean>
  /** State that the page does not have yet. */
  declare chosen: boolean | undefined
  #isSending = false

  override willUpdate(changed: PropertyValues<this>): void {
    // A row of a table may be drawn for another thing.
    if (changed.has('label') || (changed.has('isOn') && !this.#isSending)) this.chosen = undefined
  }

  override render(): unknown {
    return html`<input type="checkbox" role="switch" class="sw" aria-label=${this.label} ?disabled=${this.disabled}
      .checked=${asShown(this.chosen ?? this.isOn)} @change=${(event: Event) => void this.#change((event.target as HTMLInputElement).checked)}>`
  }

  async #change(isOn: boolean): Promise<void> {
    this.chosen = isOn
    if (this.#isSending) return
    this.#isSending = true
    for (let sent: boolean | undefined; this.chosen !== undefined && this.chosen !== sent; ) {
      sent = this.chosen
      const isTaken = await this.set(sent)
      if (!isTaken && this.chosen === sent) this.chosen = undefined
    }
    this.#isSending = false
    if (this.chosen === this.isOn) this.chosen = undefined
  }
}
customElements.define('pb-switch', PbSwitch)

declare global {
  interface HTMLElementTagNameMap {
    'pb-switch': PbSwitch
  }
}
