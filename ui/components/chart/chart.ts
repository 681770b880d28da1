import { html, nothing, type PropertyValues, svg } from 'lit'
import type uPlot from 'uplot'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { PbElement } from '../element.ts'
import { type Aligned, aligned, type ChartSeries, lastOf } from './aligned.ts'
import { type ChartGap, type ChartThreshold, colorName, DASHES, drawPlot } from './plot.ts'
import { formatPointTime } from './time-axis.ts'
import { type ChartUnit, valueText } from './units.ts'

/** Rows of the table view; the caption mentions further points. */
const TABLE_ROWS = 500

/**
 * Lines over time in a card of their own: heading, figure, plot, legend of buttons, and the same as a table.
 *
 * <pb-chart heading="Errors" note="share of calls" unit="ratio" .series=${[{ label: 'Failed', points: [[atMs, 0.01]] }]}
 * label="Errors over one hour: 0.9 % now, at most 4 %." .thresholds=${[{ value: 0.02, name: 'alert at 2 %' }]}></pb-chart>
 *
 * Properties: `heading`, without which there is no card; `note` behind it (the unit); `foot`, a sentence below all; `figure` and
 * `figureNote` above the plot; `series` (up to six lines can be distinguished well; one unit for all); `unit`; `label`, the
 * finding in words, as the text alternative of the picture; `stepMs`: a missing step is a gap; `gaps`: bands with their reason;
 * `thresholds`; `from`, `to`: ends of the axis in milliseconds since 1970; `endLabels`: names at the ends of lines; `height` of
 * the plot in pixels, default 130; `empty`: the text in place of a plot without a point.
 *
 * Keys on the plot: left and right read values, Home and End go to the ends, Escape stops reading.
 */
export class PbChart extends PbElement {
  static override properties = {
    heading: {},
    note: {},
    foot: {},
    figure: {},
    figureNote: { attribute: 'figure-note' },
    series: { attribute: false },
    unit: {},
    label: {},
    stepMs: { attribute: false },
    gaps: { attribute: false },
    thresholds: { attribute: false },
    from: { attribute: false },
    to: { attribute: false },
    endLabels: { type: Boolean, attribute: 'end-labels' },
    height: { type: Number },
    empty: { attribute: false },
    asTable: { state: true },
    hiddenLines: { state: true },
    point: { state: true },
  }
  declare heading: string | undefined
  declare note: string | undefined
  declare foot: string | undefined
  declare figure: string | undefined
  declare figureNote: string | undefined
  declare series: readonly ChartSeries[]
  declare unit: ChartUnit
  declare label: string
  declare stepMs: number | undefined
  declare gaps: readonly ChartGap[]
  declare thresholds: readonly ChartThreshold[]
  declare from: number | undefined
  declare to: number | undefined
  declare endLabels: boolean
  declare height: number
  declare empty: unknown
  declare asTable: boolean
  declare hiddenLines: ReadonlySet<string>
  /** Index of the time that is read. */
  declare point: number | undefined
  #plot: uPlot | undefined
  #data: Aligned = { times: [], values: [] }
  #size = new ResizeObserver(() => this.#fit())

  constructor() {
    super()
    this.series = []
    this.unit = 'any'
    this.label = ''
    this.gaps = []
    this.thresholds = []
    this.height = 130
    this.hiddenLines = new Set()
  }

  override connectedCallback(): void {
    super.connectedCallback()
    addEventListener('patchbay-theme', this.#redraw)
    this.#size.observe(this)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    removeEventListener('patchbay-theme', this.#redraw)
    this.#size.disconnect()
    this.#plot?.destroy()
    this.#plot = undefined
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    if (['series', 'stepMs', 'from', 'to'].some(name => changed.has(name)))
      this.#data = aligned(this.series, this.stepMs, this.from, this.to)
    if (this.point !== undefined && this.point >= this.#data.times.length) this.point = undefined
  }

  override render(): unknown {
    if (this.heading === undefined)
      return html`<div class="pbc">${this.#body()}<div class="pbc-sw">${this.#switch()}</div></div>`
    return html`<section class="card pbc"><div class="ch"><h2>${this.heading}${
      this.note ? html` <span class="q">${this.note}</span>` : nothing
    }</h2><div class="r">${this.#switch()}</div></div><div class="cb">${this.#body()}${this.foot ? html`<p class="xs q">${this.foot}</p>` : nothing}</div></section>`
  }

  #switch(): unknown {
    const what = this.heading ?? this.label
    const label = this.asTable ? t('{what} as a chart', { what }) : t('{what} as a table', { what })
    return html`<button type="button" class="btn ghost sm ico" aria-label=${label} title=${label} aria-pressed=${this.asTable ? 'true' : 'false'}
      @click=${() => {
        this.asTable = !this.asTable
      }}>${icon(this.asTable ? 'chart-line' : 'table-2')}</button>`
  }

  #body(): unknown {
    const some = this.#data.times.length > 0
    const figure =
      this.figure === undefined
        ? nothing
        : html`<div class="stat"><b>${this.figure}</b><span>${this.figureNote ?? ''}</span></div>`
    if (!some && this.empty !== undefined) return html`${figure}<div class="pbc-none q">${this.empty}</div>`
    return html`${figure}${this.asTable ? this.#table() : nothing}<div class="pbc-plot" ?hidden=${this.asTable} role="img" tabindex="0"
        aria-label=${this.label} @keydown=${this.#pressed}></div>
      <p class="pbc-read" aria-live="polite" ?hidden=${this.asTable}>${this.#reading()}</p>${this.#legend()}`
  }

  #reading(): unknown {
    const { point } = this
    const time = point === undefined ? undefined : this.#data.times[point]
    if (point === undefined || time === undefined) return nothing
    const gap = this.gaps.find(({ fromMs, toMs }) => time * 1000 >= fromMs && time * 1000 <= toMs)
    const values = this.series
      .map(({ label }, at) => `${label} ${valueText(this.#data.values[at]?.[point], this.unit)}`)
      .join(' · ')
    return `${formatPointTime(time * 1000)} · ${values}${gap ? ` · ${gap.reason}` : ''}`
  }

  #legend(): unknown {
    return html`<div class="legend">${this.series.map((line, at) => {
      const shown = !this.hiddenLines.has(line.label)
      const number = colorName(line, at).slice(-1)
      return html`<button type="button" aria-pressed=${shown ? 'true' : 'false'} @click=${() => this.#toggle(line.label)}>
        <svg viewBox="0 0 16 8" aria-hidden="true">${svg`<line class="c${number}" x1="0" x2="16" y1="4" y2="4" stroke-dasharray=${DASHES[at % DASHES.length]?.join(' ') || nothing}></line>`}</svg>${line.label}
        <b>${valueText(lastOf(line), this.unit)}</b></button>`
    })}</div>`
  }

  #table(): unknown {
    const { times, values } = this.#data
    const first = Math.max(0, times.length - TABLE_ROWS)
    const rows = times
      .slice(first)
      .map((time, at) => ({ time, at: first + at }))
      .reverse()
    return html`<div class="tw pbc-table" tabindex="0" role="region" aria-label=${t('{what}, table', { what: this.heading ?? this.label })}><table>
      <caption class="vh">${this.label}</caption><thead><tr><th scope="col">${t('Time')}</th>${this.series.map(
        ({ label }) => html`<th scope="col" class="num">${label}</th>`,
      )}</tr></thead><tbody>${rows.map(
        ({ time, at }) =>
          html`<tr><td>${formatPointTime(time * 1000)}</td>${values.map(line => html`<td class="num">${valueText(line[at], this.unit)}</td>`)}</tr>`,
      )}</tbody></table></div>${
        first > 0
          ? html`<p class="xs q">${t('The last {n} of {all} points.', { n: TABLE_ROWS, all: times.length })}</p>`
          : nothing
      }`
  }

  protected override updated(changed: PropertyValues): void {
    super.updated(changed)
    // Reading a point changes nothing in the picture.
    if (changed.size === 1 && changed.has('point')) return
    this.#draw()
  }

  readonly #redraw = (): void => this.#draw()

  #draw(): void {
    const target = this.querySelector<HTMLElement>('.pbc-plot')
    this.#plot?.destroy()
    this.#plot = undefined
    if (!target || target.clientWidth === 0) return
    const style = getComputedStyle(this)
    this.#plot = drawPlot(target, {
      ...{ series: this.series, hidden: this.hiddenLines, data: this.#data, unit: this.unit },
      ...{ thresholds: this.thresholds, gaps: this.gaps, endLabels: this.endLabels },
      ...{ width: target.clientWidth, height: this.height + 24, fromMs: this.from, toMs: this.to },
      color: name => style.getPropertyValue(name).trim(),
      onPoint: index => {
        if (target.matches(':hover')) this.point = index
      },
    })
  }

  #fit(): void {
    const width = this.querySelector<HTMLElement>('.pbc-plot')?.clientWidth ?? 0
    if (width === 0) return
    if (!this.#plot) this.#draw()
    else if (this.#plot.width !== width) this.#plot.setSize({ width, height: this.height + 24 })
  }

  #toggle(label: string): void {
    const next = new Set(this.hiddenLines)
    if (!next.delete(label)) next.add(label)
    this.hiddenLines = next
  }

  readonly #pressed = (event: KeyboardEvent): void => {
    const last = this.#data.times.length - 1
    const at = this.point ?? last + 1
    const target = { ArrowLeft: Math.max(0, at - 1), ArrowRight: Math.min(last, at + 1), Home: 0, End: last }[event.key]
    if (event.key === 'Escape' && this.point !== undefined) this.point = undefined
    else if (target === undefined || last < 0) return
    else this.point = target
    event.preventDefault()
    const time = this.point === undefined ? undefined : this.#data.times[this.point]
    this.#plot?.setCursor({ left: time === undefined ? -10 : this.#plot.valToPos(time, 'x'), top: 0 })
  }
}
customElements.define('pb-chart', PbChart)

declare global {
  interface HTMLElementTagNameMap {
    'pb-chart': PbChart
  }
}
