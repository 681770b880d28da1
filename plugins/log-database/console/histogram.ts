import { html, nothing, svg } from 'lit'
import { formatClock, formatCount, formatDateTime, formatNumber, PbElement, t } from 'patchbay/console'
import { LEVELS, type Level } from './levels.ts'

/** Records of one step, by level. */
export interface Bar {
  readonly at: number
  readonly counts: Partial<Readonly<Record<Level, number>>>
}

/** A part of the time axis, in milliseconds since 1970. */
export interface Span {
  readonly from: number
  readonly to: number
}

const HEIGHT = 104
const TOP = 8
const BOTTOM = 84
const LEFT = 40
const FILLS: Readonly<Record<Level, string>> = {
  ERROR: 'fbad',
  WARN: 'fwarn',
  INFO: 'f6',
  DEBUG: 'frest',
  TRACE: 'fnone',
}

/**
 * Numbers of records over time, errors at the bottom. A range is selected by pointer, or by keys: arrows move, Shift extends,
 * Home and End go to the ends, Enter confirms it, Escape cancels it.
 *
 * @fires pb-span - `detail: Span | undefined`, when a range was selected or cleared
 */
export class PbLogHistogram extends PbElement {
  static override properties = {
    bars: { attribute: false },
    stepMs: { type: Number },
    levels: { attribute: false },
    span: { attribute: false },
    width: { state: true },
    cursor: { state: true },
    anchor: { state: true },
  }
  declare bars: readonly Bar[]
  declare stepMs: number
  /** Levels that are drawn. */
  declare levels: readonly Level[]
  /** The chosen part. */
  declare span: Span | undefined
  declare width: number
  /** Index of the bar at the keyboard cursor or pointer, and of the start of the selection. */
  declare cursor: number | undefined
  declare anchor: number | undefined
  readonly #resize = new ResizeObserver(([entry]) => {
    if (entry) this.width = Math.max(280, Math.round(entry.contentRect.width))
  })
  #dragging = false

  constructor() {
    super()
    this.bars = []
    this.stepMs = 60_000
    this.levels = LEVELS
    this.width = 960
  }

  override connectedCallback(): void {
    super.connectedCallback()
    this.#resize.observe(this)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#resize.disconnect()
  }

  override render(): unknown {
    const most = niceTop(Math.max(1, ...this.bars.map(bar => this.#total(bar))))
    const ticks = most >= 2 ? [0, most / 2, most] : [0, most]
    return html`<svg class="chart hist" viewBox="0 0 ${this.width} ${HEIGHT}" width=${this.width} height=${HEIGHT} tabindex="0" role="slider"
        aria-label=${this.#label()} aria-valuemin="0" aria-valuemax=${Math.max(0, this.bars.length - 1)} aria-valuenow=${this.cursor ?? 0}
        aria-valuetext=${this.#valueText()} @keydown=${this.#pressed} @blur=${this.#left} @pointerdown=${this.#down} @pointermove=${this.#moved}
        @pointerup=${this.#up} @pointercancel=${this.#left}>
      ${ticks.map(tick => this.#line(tick, most))}${this.#selection()}${this.bars.map((bar, at) => this.#bar(bar, at, most))}${this.#cursor()}${this.#times()}
    </svg><p class="xs q histread" aria-hidden="true">${this.cursor === undefined ? t('Drag, or use the arrow keys with Shift, to choose a part.') : this.#valueText()}</p>`
  }

  #total({ counts }: Bar): number {
    return this.levels.reduce((sum, level) => sum + (counts[level] ?? 0), 0)
  }

  #x(at: number): number {
    return LEFT + (at * (this.width - LEFT - 4)) / Math.max(1, this.bars.length)
  }

  #line(tick: number, most: number): unknown {
    const y = BOTTOM - (tick / most) * (BOTTOM - TOP)
    return svg`<line class="gl" x1=${LEFT} x2=${this.width - 4} y1=${y} y2=${y}></line><text x=${LEFT - 6} y=${y + 4} text-anchor="end">${formatCount(tick)}</text>`
  }

  #bar(bar: Bar, at: number, most: number): unknown {
    const gap = this.bars.length > 80 ? 0.5 : 1.5
    const width = Math.max(1, this.#x(at + 1) - this.#x(at) - gap)
    let y = BOTTOM
    return this.levels.map(level => {
      const count = bar.counts[level] ?? 0
      if (count === 0) return nothing
      const height = Math.max(0.7, (count / most) * (BOTTOM - TOP))
      y -= height
      return svg`<rect class=${FILLS[level]} x=${this.#x(at)} y=${y} width=${width} height=${height}></rect>`
    })
  }

  #selection(): unknown {
    const picked = this.#picked()
    const start = this.bars[0]?.at
    if (start === undefined) return nothing
    const place = (ms: number): number => Math.min(Math.max((ms - start) / this.stepMs, 0), this.bars.length)
    const [from, to] = picked
      ? [picked.first, picked.last + 1]
      : this.span
        ? [place(this.span.from), place(this.span.to)]
        : []
    if (from === undefined || to === undefined) return nothing
    const width = Math.max(2, this.#x(to) - this.#x(from))
    return svg`<rect class="selr" x=${this.#x(from)} y=${TOP} width=${width} height=${BOTTOM - TOP}></rect>`
  }

  #cursor(): unknown {
    if (this.cursor === undefined) return nothing
    const x = (this.#x(this.cursor) + this.#x(this.cursor + 1)) / 2
    return svg`<line class="hcur" x1=${x} x2=${x} y1=${TOP} y2=${BOTTOM}></line>`
  }

  #times(): unknown {
    const count = this.width < 500 ? 3 : 5
    return Array.from({ length: count }, (_, place) => {
      const at = Math.round((place * this.bars.length) / (count - 1))
      const ms = (this.bars[0]?.at ?? 0) + at * this.stepMs
      const anchor = place === 0 ? 'start' : place === count - 1 ? 'end' : 'middle'
      return this.bars.length === 0
        ? nothing
        : svg`<text x=${this.#x(at)} y=${HEIGHT - 4} text-anchor=${anchor}>${axisTime(ms, this.stepMs * this.bars.length)}</text>`
    })
  }

  #label(): string {
    const top = this.bars.reduce<Bar | undefined>(
      (best, bar) => (best === undefined || this.#total(bar) > this.#total(best) ? bar : best),
      undefined,
    )
    if (!top || this.#total(top) === 0)
      return t('Records over time: none. Arrow keys move, Shift extends, Enter chooses.')
    return t('Records over time, most at {time}: {n}. Arrow keys move, Shift extends, Enter chooses.', {
      time: axisTime(top.at, this.stepMs * this.bars.length),
      n: this.#total(top),
    })
  }

  #valueText(): string {
    const picked = this.#picked() ?? { first: this.cursor ?? 0, last: this.cursor ?? 0 }
    const [first, last] = [this.bars[picked.first], this.bars[picked.last]]
    if (!first || !last) return ''
    const counts = this.levels.flatMap(level => {
      const n = this.bars.slice(picked.first, picked.last + 1).reduce((sum, bar) => sum + (bar.counts[level] ?? 0), 0)
      return n === 0 ? [] : [`${level} ${formatNumber(n)}`]
    })
    return t('{from} to {to}: {counts}', {
      from: axisTime(first.at, this.stepMs * this.bars.length, true),
      to: formatClock(last.at + this.stepMs),
      counts: counts.join(', ') || t('nothing'),
    })
  }

  #picked(): { readonly first: number; readonly last: number } | undefined {
    if (this.cursor === undefined || this.anchor === undefined) return undefined
    return { first: Math.min(this.cursor, this.anchor), last: Math.max(this.cursor, this.anchor) }
  }

  readonly #pressed = (event: KeyboardEvent): void => {
    const last = this.bars.length - 1
    // Not read yet: nothing can be selected.
    if (last < 0) return
    const at = this.cursor ?? (event.key === 'ArrowRight' ? -1 : last + 1)
    const target = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key]
    if (target !== undefined) {
      if (!event.shiftKey) this.anchor = undefined
      else this.anchor ??= Math.min(Math.max(at, 0), last)
      this.cursor = Math.min(Math.max(target, 0), last)
    } else if (event.key === 'Enter' || event.key === ' ') {
      this.anchor ??= this.cursor
      this.#choose()
    } else if (event.key === 'Escape' && (this.span || this.anchor !== undefined)) {
      this.#left()
      this.#emit(undefined)
    } else return
    event.preventDefault()
  }

  readonly #left = (): void => {
    this.#dragging = false
    this.cursor = undefined
    this.anchor = undefined
  }

  readonly #down = (event: PointerEvent): void => {
    if (event.button !== 0) return
    this.#dragging = true
    ;(event.currentTarget as Element).setPointerCapture(event.pointerId)
    this.cursor = this.#barAt(event)
    this.anchor = this.cursor
  }

  readonly #moved = (event: PointerEvent): void => {
    if (this.#dragging || event.pointerType === 'mouse') this.cursor = this.#barAt(event)
  }

  readonly #up = (): void => {
    if (this.#dragging) this.#choose()
    this.#dragging = false
  }

  #barAt(event: PointerEvent): number {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect()
    const x = ((event.clientX - left) / width) * this.width
    const at = Math.floor(((x - LEFT) / (this.width - LEFT - 4)) * this.bars.length)
    return Math.min(Math.max(at, 0), Math.max(0, this.bars.length - 1))
  }

  #choose(): void {
    const picked = this.#picked()
    const [first, last] = picked ? [this.bars[picked.first], this.bars[picked.last]] : []
    if (!first || !last) return
    this.anchor = undefined
    this.#emit({ from: first.at, to: last.at + this.stepMs })
  }

  #emit(detail: Span | undefined): void {
    this.dispatchEvent(new CustomEvent('pb-span', { detail }))
  }
}
customElements.define('pb-log-histogram', PbLogHistogram)

/** The next of 1, 2, 4, 5, 10, 20 … that is not smaller. */
function niceTop(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most))
  return ([1, 2, 4, 5, 10].find(step => step * power >= most) ?? 10) * power
}

/** A time on an axis of this length: the clock, or the day too. */
export function axisTime(ms: number, rangeMs: number, seconds = false): string {
  const language = document.documentElement.lang || 'en'
  if (rangeMs > 86_400_000 * 1.5) {
    const day = { day: 'numeric', month: 'short' } as const
    const hour = rangeMs < 86_400_000 * 10 ? ({ hour: '2-digit', hourCycle: 'h23' } as const) : {}
    return new Intl.DateTimeFormat(language, { ...day, ...hour }).format(ms)
  }
  return seconds ? formatClock(ms) : formatClock(ms).slice(0, 5)
}

/** Both ends of a range in words, with dates if it is longer than a day. */
export function spanText({ from, to }: Span): string {
  if (to - from > 86_400_000 || Date.now() - from > 86_400_000)
    return t('{from} to {to}', { from: formatDateTime(from), to: formatDateTime(to) })
  return t('{from} to {to}', { from: formatClock(from), to: formatClock(to) })
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-log-histogram': PbLogHistogram
  }
}
