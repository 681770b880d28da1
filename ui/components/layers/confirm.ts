import { Signal } from '@lit-labs/signals'
import { html, nothing } from 'lit'
import { t } from '../../text/t.ts'
import { PbElement } from '../element.ts'
import { dialog, hide } from './layer.ts'

/** Content of a confirmation before an action that cannot be undone. */
export interface Question {
  /** "Delete server github?" */
  readonly title: string
  /** Further losses: clients, assistants, keys. */
  readonly text: unknown
  /** The deed: "Delete server". */
  readonly action: string
  /** Must be typed before the deed. Default nothing. */
  readonly typed?: string
  /** Default true: the button is red. */
  readonly danger?: boolean
}

interface Asked extends Question {
  readonly answer: (yes: boolean) => void
}

const openQuestion = new Signal.State<Asked | undefined>(undefined)

/** Shows a confirmation; true: confirmed. */
export function confirmed(question: Question): Promise<boolean> {
  return new Promise(resolve => {
    openQuestion.get()?.answer(false)
    openQuestion.set({ ...question, answer: resolve })
  })
}

/** Shows the confirmations of {@link confirmed}; exists once in the frame. */
export class PbConfirm extends PbElement {
  static override properties = { text: { state: true } }
  declare text: string
  #yes = false

  override render(): unknown {
    const question = openQuestion.get()
    return dialog({
      open: question !== undefined,
      title: question?.title ?? '',
      body: question ? this.#body(question) : nothing,
      foot: question ? this.#foot(question) : nothing,
      onClose: () => this.#closed(),
    })
  }

  #body(question: Asked): unknown {
    const { typed } = question
    return html`<div class="stack">${typeof question.text === 'string' ? html`<p>${question.text}</p>` : question.text}${
      typed === undefined
        ? nothing
        : html`<div class="field"><label class="lbl" for="confirm-typed">${t('Type {name} to go on', { name: typed })}</label>
            <input id="confirm-typed" class="in code" autocomplete="off" spellcheck="false" .value=${this.text ?? ''}
              @input=${(event: InputEvent) => {
                this.text = (event.target as HTMLInputElement).value
              }} @keydown=${(event: KeyboardEvent) => {
                if (event.key === 'Enter' && this.text === typed) this.#agree(event)
              }}></div>`
    }</div>`
  }

  #foot({ action, typed, danger = true }: Asked): unknown {
    const ready = typed === undefined || this.text === typed
    return html`<button type="button" class="btn push" @click=${hide}>${t('Cancel')}</button>
      <button type="button" class="btn ${danger ? 'danger' : 'pri'}" ?disabled=${!ready} @click=${this.#agree}>${action}</button>`
  }

  readonly #agree = (event: Event): void => {
    this.#yes = true
    hide(event)
  }

  #closed(): void {
    const question = openQuestion.get()
    const yes = this.#yes
    this.#yes = false
    this.text = ''
    openQuestion.set(undefined)
    question?.answer(yes)
  }
}
customElements.define('pb-confirm', PbConfirm)

declare global {
  interface HTMLElementTagNameMap {
    'pb-confirm': PbConfirm
  }
}
