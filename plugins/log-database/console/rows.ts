import { html, nothing } from 'lit'
import {
  callsMark,
  formatClock,
  formatDateTime,
  formatNumber,
  ListWindow,
  PbElement,
  recycled,
  t,
  UNKNOWN,
} from 'patchbay/console'
import type { LogRow } from './feed.ts'
import { COLUMNS, type ColumnName } from './view.ts'
import { columnLabel, levelMark, outcomeLabel } from './words.ts'

/** Lists of more rows have only those near the view in the document. */
const VIRTUAL_FROM = 40
const ROW_PX = 28

/**
 * Log records as rows of 28 px, the newest first; on a phone two lines each. Arrows move, Enter opens a record.
 *
 * @fires pb-record - `detail: LogRow`, when a record was opened
 */
export class PbLogRows extends PbElement {
  static override properties = {
    rows: { attribute: false },
    columns: { attribute: false },
    wrap: { type: Boolean },
    open: { attribute: false },
    link: { attribute: false },
    focused: { state: true },
  }
  declare rows: readonly LogRow[]
  declare columns: readonly ColumnName[]
  /** Whole messages instead of one line. */
  declare wrap: boolean
  /** Id of the row whose record is open. */
  declare open: number | undefined
  /** Address of a record. */
  declare link: (row: LogRow) => string
  declare focused: number | undefined
  readonly #window = new ListWindow(this, VIRTUAL_FROM, ROW_PX)

  constructor() {
    super()
    this.rows = []
    this.columns = []
    this.wrap = false
  }

  override render(): unknown {
    const { rows } = this
    const { first, end } = this.#window.slice(rows.length)
    const columns = COLUMNS.filter(name => this.columns.includes(name) && name !== 'duration')
    const hasDuration = this.columns.includes('duration')
    const spacer = (count: number): unknown =>
      count <= 0
        ? nothing
        : html`<tr data-spacer=${count} aria-hidden="true"><td colspan=${columns.length + 4}></td></tr>`
    return html`<table class="tlog cards ${this.wrap ? 'wraps' : ''}" aria-rowcount=${rows.length + 1}>
      <thead><tr><th scope="col" class="l-time">${t('Time')}</th><th scope="col" class="l-level">${t('Level')}</th>${columns.map(
        name => html`<th scope="col" class="l-${name}">${columnLabel(name)}</th>`,
      )}<th scope="col" class="l-message">${t('Message')}</th>${hasDuration ? html`<th scope="col" class="num l-duration">${columnLabel('duration')}</th>` : nothing}</tr></thead>
      <tbody @keydown=${this.#pressed}>${spacer(first)}${recycled(
        rows.slice(first, end),
        ({ id }) => id,
        (row, at) => this.#row(row, first + at, columns, hasDuration),
      )}${spacer(rows.length - end)}</tbody></table>`
  }

  #row(row: LogRow, at: number, columns: readonly ColumnName[], hasDuration: boolean): unknown {
    const { record, id } = row
    const isOpen = this.open === id
    const open = (event: Event): void => {
      if ((event as MouseEvent).ctrlKey || (event as MouseEvent).metaKey || getSelection()?.type === 'Range') return
      event.preventDefault()
      this.focused = id
      this.dispatchEvent(new CustomEvent('pb-record', { detail: row }))
    }
    const isFocusable = (this.focused ?? this.open ?? this.rows[0]?.id) === id
    return html`<tr data-key=${id} class=${isOpen ? 'sel' : ''} aria-current=${isOpen ? 'true' : nothing} aria-rowindex=${at + 2} @click=${open}>
      <td class="mono tn nw" title=${formatDateTime(record.timestamp)}>${formatClock(record.timestamp, true)}</td><td>${levelMark(record.level)}</td>${columns.map(
        name => html`<td class="mono nw lsrv" title=${text(record[name])}>${cell(name, record[name])}</td>`,
      )}<td class="lmsg full"><a href=${this.link(row)} class="mono ${this.wrap ? 'whole' : 'cut'}" tabindex=${isFocusable ? 0 : -1}
        title=${this.wrap ? nothing : record.message}>${message(row)}${callsMark(record)}</a></td>${
          hasDuration
            ? html`<td class="num mono x hide-m">${record.duration === undefined ? UNKNOWN : formatNumber(record.duration, 0)}</td>`
            : nothing
        }</tr>`
  }

  protected override updated(): void {
    this.#window.rendered(this.querySelector('tbody'))
  }

  readonly #pressed = (event: KeyboardEvent): void => {
    const link = event.target
    if (!(link instanceof HTMLAnchorElement)) return
    const id = Number(link.closest<HTMLElement>('tr')?.dataset.key)
    const at = this.rows.findIndex(row => row.id === id)
    const target = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: this.rows.length - 1 }[event.key]
    const row = target === undefined ? undefined : this.rows[Math.min(Math.max(target, 0), this.rows.length - 1)]
    if (!row) return
    event.preventDefault()
    void this.focusRow(row.id)
  }

  /** Moves the focus to a row, which is scrolled to first. */
  async focusRow(id: number): Promise<void> {
    this.focused = id
    await this.updateComplete
    const find = (): HTMLElement | null => this.querySelector(`tr[data-key="${id}"] a`)
    if (!find()) {
      const at = this.rows.findIndex(row => row.id === id)
      const body = this.querySelector('tbody')
      if (at < 0 || !body) return
      scrollTo(0, body.getBoundingClientRect().top + scrollY + this.#window.heightOf(at) - innerHeight / 2)
      await new Promise(resolve => requestAnimationFrame(resolve))
      this.requestUpdate()
      await this.updateComplete
    }
    find()?.focus()
  }
}
customElements.define('pb-log-rows', PbLogRows)

/** Calls have the tool behind their message, failed ones their outcome too; requests have their path. */
function message({ record }: LogRow): string {
  if (record.component === 'http' && typeof record.path === 'string') {
    return `${record.message} ${text(record.method)} ${record.path} ${text(record.status)}`
  }
  const { message: said, tool, status, error } = record
  const why = typeof error === 'string' ? `: ${error}` : ''
  const failed = status !== undefined && status !== 'success' ? `, ${status}${why}` : ''
  return tool === undefined || said.includes(tool) ? said : `${said} ${tool}${failed}`
}

function cell(name: ColumnName, value: unknown): string {
  return name === 'outcome' && typeof value === 'string' ? outcomeLabel(value) : text(value)
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-log-rows': PbLogRows
  }
}
