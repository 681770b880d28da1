import { html, nothing } from 'lit'
import { PbElement } from '../components/element.ts'
import { drawer } from '../components/layers/layer.ts'
import { t } from '../text/t.ts'
import type { Piece, PieceSubject } from './part.ts'
import { piecesOf } from './parts.ts'
import './piece-element.ts'

/** A part of a plugin, and the thing whose part it shows. */
export interface ShownRules {
  readonly piece: Piece
  readonly subject: PieceSubject
}

/** Shows a part of a plugin for a thing in a drawer while `shown` is set; emits `pb-closed` when it has closed. */
export class PbRuleDrawer extends PbElement {
  static override properties = { shown: { attribute: false } }
  declare shown: ShownRules | undefined

  override render(): unknown {
    const { piece, subject } = this.shown ?? {}
    return drawer({
      open: this.shown !== undefined,
      title: piece && subject ? t('{part} of {name}', { part: piece.title(), name: subject.name }) : '',
      body: html`<pb-piece .piece=${piece} .subject=${subject}></pb-piece>`,
      onClose: () => this.dispatchEvent(new Event('pb-closed')),
    })
  }
}
customElements.define('pb-rule-drawer', PbRuleDrawer)

/** A button for each part that plugins have for a thing, such as the quota of a client, with the drawer in which it is shown. */
export class PbRules extends PbElement {
  static override properties = { subject: { attribute: false }, shown: { state: true } }
  declare subject: PieceSubject
  declare shown: ShownRules | undefined

  override render(): unknown {
    const { subject, shown } = this
    const buttons = piecesOf(`${subject.kind}-rules`).map(
      piece =>
        html`<button type="button" class="btn sm" aria-label=${t('{part} of {name}', { part: piece.title(), name: subject.name })} @click=${() => {
          this.shown = { piece, subject }
        }}>${piece.title()}</button>`,
    )
    return html`${buttons}${
      buttons.length === 0
        ? nothing
        : html`<pb-rule-drawer .shown=${shown} @pb-closed=${() => {
            this.shown = undefined
          }}></pb-rule-drawer>`
    }`
  }
}
customElements.define('pb-rules', PbRules)

declare global {
  interface HTMLElementTagNameMap {
    'pb-rules': PbRules
    'pb-rule-drawer': PbRuleDrawer
  }
}
