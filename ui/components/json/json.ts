import { html, nothing, type PropertyValues } from 'lit'
import { escapeHidden } from '../../../core/domain/text/visible-text.ts'
import { plural, t } from '../../text/t.ts'
import { PbElement } from '../element.ts'
import { type JsonLine, type JsonLines, jsonLines } from './lines.ts'

/** Coloured lines at first. */
const FIRST_LINES = 400
/** More than this is shown as plain text without colours. */
const COLOURED_LINES = 4000
/** Deeper lines are not indented further. */
const DEEPEST = 40

/**
 * Read-only JSON in colours: `<pb-json .value=${result} label="Result"></pb-json>`. Long texts show 400 lines and a button for
 * the others; numbers of `text` are shown as they are written.
 */
export class PbJson extends PbElement {
  static override properties = { value: { attribute: false }, text: {}, label: {}, limit: { state: true } }
  /** Any value that JSON can hold. */
  declare value: unknown
  /** JSON text, instead of a value. Text that is not JSON is shown unchanged. */
  declare text: string | undefined
  /** Label for screen readers. Default "JSON". */
  declare label: string
  declare limit: number
  #source = ''
  #shown: JsonLines | undefined

  constructor() {
    super()
    this.limit = FIRST_LINES
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    if (changed.has('value') || changed.has('text')) {
      this.#source = escapeHidden(this.text ?? written(this.value))
      if (!changed.has('limit')) this.limit = FIRST_LINES
    }
    this.#shown = this.limit > COLOURED_LINES ? undefined : jsonLines(this.#source, this.limit)
  }

  override render(): unknown {
    const shown = this.#shown
    return html`<pre class="code wrap rescode" tabindex="0" role="region" aria-label=${this.label || 'JSON'}>${
      shown ? shown.lines.map(lineOf) : this.#source
    }</pre>${shown?.cut ? this.#more() : nothing}`
  }

  #more(): unknown {
    const more = (limit: number) => (): void => {
      this.limit = limit
    }
    return html`<div class="row wrap xs q"><span class="grow">${plural(this.limit, 'First {n} line', 'First {n} lines')}</span>
      ${this.limit < COLOURED_LINES ? html`<button type="button" class="btn sm" @click=${more(COLOURED_LINES)}>${t('Show more')}</button>` : nothing}
      <button type="button" class="btn sm" @click=${more(Number.POSITIVE_INFINITY)}>${t('Show all as plain text')}</button></div>`
  }
}
customElements.define('pb-json', PbJson)

const CLASSES = { key: 'ck-k', string: 'ck-s', number: 'ck-n', mark: 'ck-c' } as const

function lineOf({ depth, tokens }: JsonLine): unknown {
  return html`${'  '.repeat(Math.min(depth, DEEPEST))}${tokens.map(({ kind, text }) => html`<span class=${CLASSES[kind]}>${text}</span>`)}${'\n'}`
}

/** JSON.stringify fails at depths that JSON.parse accepts. */
function written(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? ''
  } catch {
    return t('This value is nested too deeply to be shown.')
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-json': PbJson
  }
}
