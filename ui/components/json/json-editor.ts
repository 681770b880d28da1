import { html, nothing, type PropertyValues } from 'lit'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { PbElement } from '../element.ts'
import type { JsonEditor } from './codemirror.ts'
import { type JsonMistake, jsonMistake } from './lines.ts'

/** From this width on the editor takes the place of the textarea. */
const WIDE = matchMedia('(min-width: 700px)')

/**
 * A field for JSON: `<pb-json-editor label="Arguments" .text=${text} @pb-change=${changed}></pb-json-editor>`. It is a textarea
 * at first; on wide screens an editor replaces it when its chunk has loaded. A syntax error is shown below with its place.
 * @fires pb-change - `detail: { text: string, mistake?: JsonMistake }`, with every edit
 */
export class PbJsonEditor extends PbElement {
  static override properties = {
    text: {},
    label: {},
    rows: { type: Number },
    readonly: { type: Boolean },
    mistake: { state: true },
    rich: { state: true },
  }
  declare text: string
  /** Label of the field. */
  declare label: string
  /** Lines of the textarea. Default 12. */
  declare rows: number
  declare readonly: boolean
  declare mistake: JsonMistake | undefined
  /** True when the editor has replaced the textarea. */
  declare rich: boolean
  #editor: JsonEditor | undefined
  #loading = false

  constructor() {
    super()
    this.text = ''
    this.rows = 12
    this.readonly = false
    this.rich = false
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#editor?.destroy()
    this.#editor = undefined
    this.#loading = false
    this.rich = false
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    if (changed.has('text')) this.mistake = this.text.trim() === '' ? undefined : jsonMistake(this.text)
  }

  override render(): unknown {
    const invalid = this.mistake !== undefined
    return html`<div class="field jsoned"><div class="cm ${this.rich ? '' : 'hide'} ${invalid ? 'err' : ''}"></div>${
      this.rich
        ? nothing
        : html`<textarea class="in code ${invalid ? 'err' : ''}" rows=${this.rows} spellcheck="false" autocomplete="off" ?readonly=${this.readonly}
            aria-label=${this.label} aria-invalid=${invalid ? 'true' : nothing} .value=${this.text}
            @input=${(event: InputEvent) => this.#changed((event.target as HTMLTextAreaElement).value)}></textarea>`
    }${this.#hint()}</div>`
  }

  protected override updated(changed: PropertyValues): void {
    super.updated(changed)
    if (this.#editor && this.#editor.text !== this.text) this.#editor.setText(this.text)
    if (!this.#editor && !this.#loading && WIDE.matches) void this.#load()
  }

  override focus(): void {
    if (this.#editor) this.#editor.focus()
    else this.querySelector('textarea')?.focus()
  }

  #hint(): unknown {
    const { mistake } = this
    if (!mistake) return nothing
    const text =
      mistake.line === undefined
        ? mistake.message
        : t('Line {line}, column {column}: {message}', {
            line: mistake.line,
            column: mistake.column ?? 1,
            message: mistake.message,
          })
    return html`<p class="hint bad" role="status">${icon('circle-x')}${text}</p>`
  }

  /** If its chunk cannot be loaded the textarea stays: it has all needed functions. */
  async #load(): Promise<void> {
    this.#loading = true
    const module = await import('./codemirror.ts').catch(() => undefined)
    if (!module || !this.isConnected || this.#editor) return
    const place = this.querySelector('.cm')
    if (!place) return
    const hadFocus = this.contains(document.activeElement)
    const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' })
    this.#editor = module.createEditor(root, {
      text: this.text,
      label: this.label,
      readonly: this.readonly,
      onChange: text => {
        if (text !== this.text) this.#changed(text)
      },
    })
    this.rich = true
    if (hadFocus) this.#editor.focus()
  }

  #changed(text: string): void {
    this.text = text
    this.mistake = text.trim() === '' ? undefined : jsonMistake(text)
    const detail = { text, ...(this.mistake ? { mistake: this.mistake } : {}) }
    this.dispatchEvent(new CustomEvent('pb-change', { detail, bubbles: true }))
  }
}
customElements.define('pb-json-editor', PbJsonEditor)

declare global {
  interface HTMLElementTagNameMap {
    'pb-json-editor': PbJsonEditor
  }
}
