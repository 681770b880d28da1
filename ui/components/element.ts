import { updateWhenLocaleChanges } from '@lit/localize'
import { SignalWatcher } from '@lit-labs/signals'
import { LitElement } from 'lit'

/**
 * Base of the console's elements. They render into the page itself and not into a shadow tree, so that one style sheet
 * serves all, labels find their fields, and headings form one outline. They follow signals and the language.
 */
export class PbElement extends SignalWatcher(LitElement) {
  constructor() {
    super()
    updateWhenLocaleChanges(this)
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }
}
