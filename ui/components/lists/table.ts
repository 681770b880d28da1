import { html, nothing, type PropertyValues } from 'lit'
import { collator } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import { PbElement } from '../element.ts'
import { recycled } from './recycled.ts'
import { ListWindow } from './window.ts'

/** Lists of more rows have only those near the view in the document. */
const VIRTUAL_FROM = 60

/** A column of a {@link PbTable}. */
export interface Column<T> {
  readonly id: string
  /** Heading of the column, with the unit of numbers. */
  readonly head: string
  /** True when the heading is only for screen readers. */
  readonly quiet?: boolean
  readonly cell: (row: T) => unknown
  /** Right-aligned figures. */
  readonly num?: boolean
  /** Value by which the column sorts; absent: not sortable. */
  readonly sort?: (row: T) => string | number
  /** Further classes of its cells, such as `c-name`; `x` hides them on a phone, `full` gives them a line of their own. */
  readonly class?: string
  /** Label before the value on a phone, where there is no head. */
  readonly label?: string
}

/** Column and direction that a table is sorted by. */
export interface Sort {
  readonly by: string
  readonly down: boolean
}

/**
 * A real table: sorted by its heads, chosen and opened by keys, cards on a phone, and of long lists only the rows near the
 * view. Rows that change keep their place: what would move is offered by "Sort again" in the foot.
 *
 * Keys: arrows move, Space chooses, Enter opens, Home and End go to the ends.
 *
 * @fires pb-sort - `detail: Sort`, when a head was pressed
 * @fires pb-select - `detail: ReadonlySet<string>`, the chosen keys
 * @fires pb-open - `detail: row`
 */
export class PbTable<T = unknown> extends PbElement {
  static override properties = {
    rows: { attribute: false },
    columns: { attribute: false },
    keyOf: { attribute: false },
    label: {},
    sort: { attribute: false },
    selectable: { type: Boolean },
    selected: { attribute: false },
    rowClass: { attribute: false },
    nameOf: { attribute: false },
    foot: { attribute: false },
    head: { attribute: false },
    kind: {},
    focused: { state: true },
  }
  declare rows: readonly T[]
  declare columns: readonly Column<T>[]
  declare keyOf: (row: T) => string
  /** Label of the table for screen readers. */
  declare label: string
  declare sort: Sort | undefined
  /** True when rows have a checkbox. */
  declare selectable: boolean
  declare selected: ReadonlySet<string>
  declare rowClass: ((row: T) => string) | undefined
  /** The name of a row, for the label of its box. */
  declare nameOf: ((row: T) => string) | undefined
  /** Content of the foot, such as a count. A text that stays the same spares the table a rendering, which a template does not. */
  declare foot: unknown
  /** Takes the place of the table's head, such as a bar of deeds for the chosen rows. */
  declare head: unknown
  /** Further classes of the table, such as `tserv`. */
  declare kind: string
  /** Key of the row with the keyboard focus. */
  declare focused: string | undefined
  readonly #window = new ListWindow(this, VIRTUAL_FROM, 37)
  #order: readonly string[] = []
  #sorted: readonly T[] = []
  #moved = 0

  constructor() {
    super()
    this.rows = []
    this.columns = []
    this.selected = new Set()
    this.kind = ''
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    if (changed.has('sort')) this.#order = []
    if (changed.has('rows') || changed.has('sort') || changed.has('columns')) this.#arrange()
  }

  /** Known rows keep their place until the next sorting by the user; new ones are inserted in their sorted place. */
  #arrange(): void {
    const wanted = this.#wanted()
    const arranged = this.#order.length === 0 ? wanted : merged(this.#order, wanted, this.keyOf)
    this.#moved = arranged.reduce((sum, row, index) => sum + (row === wanted[index] ? 0 : 1), 0)
    this.#sorted = arranged
    this.#order = arranged.map(this.keyOf)
  }

  #wanted(): readonly T[] {
    const column = this.columns.find(({ id }) => id === this.sort?.by)
    if (!column?.sort) return [...this.rows]
    const { sort } = column
    const sign = this.sort?.down ? -1 : 1
    const { compare } = collator()
    // The rows start in the last sorted order, since sorting a nearly sorted list takes a tenth of the comparisons.
    const places = new Map(this.#sorted.map((row, at) => [this.keyOf(row), at]))
    const entries = this.rows.map((row, at) => {
      const by = sort(row)
      return { row, at, by, text: String(by), place: places.get(this.keyOf(row)) ?? places.size + at }
    })
    entries.sort((left, right) => left.place - right.place)
    entries.sort((left, right) => {
      const { by: a, text } = left
      const { by: b } = right
      const order = typeof a === 'number' && typeof b === 'number' ? a - b : compare(text, right.text)
      return sign * order || left.at - right.at
    })
    return entries.map(({ row }) => row)
  }

  override render(): unknown {
    const rows = this.#sorted
    const { first, end } = this.#window.slice(rows.length)
    const spacer = (count: number): unknown =>
      count === 0
        ? nothing
        : html`<tr data-spacer=${count} aria-hidden="true"><td colspan=${this.columns.length + 1}></td></tr>`
    return html`<div class="card">${this.head ?? nothing}<div class="tw"><table class="cards ${this.kind}" aria-label=${this.label} aria-rowcount=${
      end - first < rows.length ? rows.length : nothing
    }><thead class=${this.head ? 'vh' : ''}><tr>${this.selectable ? html`<th class="ck">${this.#allBox()}</th>` : nothing}${this.columns.map(column => this.#head(column))}</tr></thead>
      <tbody @keydown=${this.#pressed}>${spacer(first)}${recycled(rows.slice(first, end), this.keyOf, (row, at) => this.#row(row, first + at))}${spacer(rows.length - end)}</tbody></table></div>
      ${this.#foot()}</div>`
  }

  #head(column: Column<T>): unknown {
    const present = this.sort?.by === column.id
    const direction = present ? (this.sort?.down ? 'descending' : 'ascending') : nothing
    const press = (): void => this.#emit('pb-sort', { by: column.id, down: present && !this.sort?.down })
    return html`<th class=${column.num ? 'num' : ''} scope="col" aria-sort=${direction}>${
      column.sort
        ? html`<button type="button" @click=${press}>${column.head}${present ? icon(this.sort?.down ? 'arrow-up' : 'arrow-down') : nothing}</button>`
        : column.quiet
          ? html`<span class="vh">${column.head}</span>`
          : column.head
    }</th>`
  }

  #row(row: T, at: number): unknown {
    const key = this.keyOf(row)
    const chosen = this.selected.has(key)
    const focusable = (this.focused ?? this.#order[0]) === key
    return html`<tr data-key=${key} class="${chosen ? 'sel' : ''} ${this.rowClass?.(row) ?? ''}" tabindex=${focusable ? 0 : -1} aria-rowindex=${at + 1}
      aria-selected=${this.selectable ? String(chosen) : nothing} @focus=${() => {
        this.focused = key
      }} @click=${(event: Event) => this.#clicked(event, row)}>${this.selectable ? html`<td class="ck">${this.#box(row, key, chosen)}</td>` : nothing}${this.columns.map(
        column =>
          html`<td class="${column.num ? 'num' : ''} ${column.class ?? ''}" data-l=${column.label ?? nothing}>${column.cell(row)}</td>`,
      )}</tr>`
  }

  #box(row: T, key: string, chosen: boolean): unknown {
    return html`<input type="checkbox" tabindex="-1" aria-label=${t('Choose {name}', { name: this.nameOf?.(row) ?? key })} .checked=${chosen}
      @change=${() => this.#choose(key)}>`
  }

  #allBox(): unknown {
    const all = this.rows.length > 0 && this.rows.every(row => this.selected.has(this.keyOf(row)))
    const some = !all && this.selected.size > 0
    return html`<input type="checkbox" class=${some ? 'mixed' : ''} aria-label=${t('Choose all')} .checked=${all} .indeterminate=${some}
      @change=${() => this.#emit('pb-select', all ? new Set<string>() : new Set(this.rows.map(this.keyOf)))}>`
  }

  #foot(): unknown {
    if (this.foot === undefined && this.#moved === 0) return nothing
    const again = (): void => {
      this.#order = []
      this.#arrange()
      this.requestUpdate()
    }
    return html`<div class="tf">${typeof this.foot === 'string' ? html`<span>${this.foot}</span>` : (this.foot ?? nothing)}${
      this.#moved === 0
        ? nothing
        : html`<span class="row push">${icon('arrow-up-down', { class: 's14' })}${plural(this.#moved, '{n} row would move.', '{n} rows would move.')}
          <button type="button" class="btn ghost sm" @click=${again}>${t('Sort again')}</button></span>`
    }</div>`
  }

  protected override updated(): void {
    this.#window.rendered(this.querySelector('tbody'))
  }

  #clicked(event: Event, row: T): void {
    const inside = event.composedPath()
    const own = inside.slice(0, inside.indexOf(event.currentTarget as EventTarget))
    // Links, buttons and fields in a row mean themselves.
    if (own.some(node => node instanceof Element && node.matches('a, button, input, select, label, wa-dropdown')))
      return
    this.#emit('pb-open', row)
  }

  #choose(key: string): void {
    const next = new Set(this.selected)
    if (!next.delete(key)) next.add(key)
    this.#emit('pb-select', next)
  }

  readonly #pressed = (event: KeyboardEvent): void => {
    if (!(event.target instanceof HTMLTableRowElement)) return
    const key = event.target.dataset.key ?? ''
    const at = this.#order.indexOf(key)
    const target = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: this.#order.length - 1 }[event.key]
    const row = this.#sorted[at]
    if (target !== undefined) void this.#focusRow(this.#order[Math.min(Math.max(target, 0), this.#order.length - 1)])
    else if (event.key === ' ' && this.selectable) this.#choose(key)
    else if (event.key === 'Enter' && row !== undefined) this.#emit('pb-open', row)
    else return
    event.preventDefault()
  }

  async #focusRow(key: string | undefined): Promise<void> {
    this.focused = key
    await this.updateComplete
    const row = [...this.querySelectorAll<HTMLElement>('tr[data-key]')].find(one => one.dataset.key === key)
    if (row) return row.focus()
    // Beyond the rows in the document: scroll there first.
    const at = this.#order.indexOf(key ?? '')
    const body = this.querySelector('tbody')
    if (at < 0 || !body) return
    scrollTo(0, body.getBoundingClientRect().top + scrollY + this.#window.heightOf(at) - innerHeight / 2)
    requestAnimationFrame(async () => {
      await this.updateComplete
      ;[...this.querySelectorAll<HTMLElement>('tr[data-key]')].find(one => one.dataset.key === key)?.focus()
    })
  }

  #emit(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }))
  }
}
customElements.define('pb-table', PbTable)

/** Rows whose keys are in `order` in that order, and each new one after its predecessor in the wanted order. */
function merged<T>(order: readonly string[], wanted: readonly T[], keyOf: (row: T) => string): readonly T[] {
  const known = new Set(order)
  const kept = new Map<string, T>()
  const followers = new Map<string | undefined, T[]>()
  let last: string | undefined
  for (const row of wanted) {
    const key = keyOf(row)
    if (known.has(key)) {
      kept.set(key, row)
      last = key
    } else {
      const present = followers.get(last)
      if (present) present.push(row)
      else followers.set(last, [row])
    }
  }
  const result = [...(followers.get(undefined) ?? [])]
  for (const key of order) {
    const row = kept.get(key)
    if (row !== undefined) result.push(row, ...(followers.get(key) ?? []))
  }
  return result
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-table': PbTable
  }
}
