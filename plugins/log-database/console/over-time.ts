import { html, nothing } from 'lit'
import { errorState, formatNumber, PbElement, Resource, t, UNKNOWN } from 'patchbay/console'
import { type Found, logTimeline, searchLogs, type Timeline } from './api.ts'
import { levelsText } from './filters.ts'
import { type Bar, type Span, spanText } from './histogram.ts'
import { LEVELS, type Level } from './levels.ts'
import './histogram.ts'
import { type LogView, partsOf, queryOf, RANGES } from './view.ts'
import { totalText } from './words.ts'

const FILLS: Readonly<Record<Level, string>> = {
  ERROR: 'fbad',
  WARN: 'fwarn',
  INFO: 'f6',
  DEBUG: 'frest',
  TRACE: 'fnone',
}

/**
 * The card over the list: number of records, histogram and levels with their counts.
 *
 * @fires pb-view - `detail: ViewChanges`
 */
export class PbLogOverTime extends PbElement {
  static override properties = {
    view: { attribute: false },
    found: { attribute: false },
  }
  declare view: LogView
  declare found: Found | undefined
  readonly #timeline = new Resource<Timeline>(this, {
    key: () => [this.view.range, this.view.mine],
    read: signal =>
      logTimeline(this.view.range, RANGES[this.view.range].step, this.view.mine ? 'mine' : undefined, signal),
    everyMs: 30_000,
  })
  /** Number of records matching the query and the filters, for all levels and the whole range. */
  readonly #matches = new Resource<Found>(this, {
    key: () => {
      const { range, mine, text, filters } = this.view
      return isNarrowed(this.view) ? [range, mine, text, filters] : undefined
    },
    read: signal => {
      const { range, mine } = this.view
      const whole = { ...this.view, from: undefined, to: undefined, levels: LEVELS }
      const scope = mine ? 'mine' : undefined
      return searchLogs(queryOf(partsOf(whole)), { limit: 1, histogram: RANGES[range].step, scope, signal })
    },
    keep: true,
    everyMs: 30_000,
  })

  override render(): unknown {
    const { levels, found } = this.view.tail ? { ...this.view, found: undefined } : { ...this.view, found: this.found }
    const span = this.#span()
    const { bars, isPartial } = this.#bars()
    const counts = this.#counts(bars, span)
    const shown = LEVELS.filter(level => level !== 'TRACE' || counts.TRACE || levels.length < LEVELS.length)
    return html`<section class="card hist0" aria-label=${t('Records over time')}><div class="ch"><h2>${found ? totalText(found) : t('Records')}</h2>
      ${span ? html`<span class="q s">${spanText(span)}</span><button type="button" class="btn ghost sm" @click=${() => this.#choose(undefined)}>${t('Whole range')}</button>` : nothing}
      <div class="r"><div class="legend lg" role="group" aria-label=${t('Levels')}>${shown.map(level => this.#level(level, counts[level]))}</div></div></div>
      <div class="cb">${
        this.#timeline.error && !this.#timeline.data
          ? errorState(this.#timeline.error, () => void this.#timeline.reload())
          : html`<pb-log-histogram .bars=${bars} .stepMs=${RANGES[this.view.range].stepMs} .levels=${levels} .span=${span}
              @pb-span=${(event: CustomEvent<Span | undefined>) => this.#choose(event.detail)}></pb-log-histogram>`
      }${isPartial ? html`<p class="xs q">${t('The bars show the newest matches alone: there are more than the hub counts at a time.')}</p>` : nothing}</div></section>`
  }

  #level(level: Level, count: number | undefined): unknown {
    const { levels } = this.view
    const isOn = levels.includes(level)
    return html`<button type="button" aria-pressed=${isOn ? 'true' : 'false'} @click=${() => this.#toggle(level)}><svg viewBox="0 0 10 10" aria-hidden="true" class="sq"><rect
      class=${FILLS[level]} width="10" height="10" rx="2"></rect></svg>${level} <b title=${count === undefined ? t('Not read yet') : nothing}>${count === undefined ? UNKNOWN : formatNumber(count)}</b></button>`
  }

  #toggle(level: Level): void {
    const { levels } = this.view
    const next = LEVELS.filter(one => levels.includes(one) !== (one === level))
    this.#emit({ levels: levelsText(next), level: undefined })
  }

  #span(): Span | undefined {
    const { from, to } = this.view
    if (from === undefined && to === undefined) return undefined
    return { from: from ?? Date.now() - RANGES[this.view.range].ms, to: to ?? Date.now() }
  }

  /** Bars of all records, or of those that match the query and the filters, of which the hub counts at most 10,000. */
  #bars(): { readonly bars: readonly Bar[]; readonly isPartial: boolean } {
    const all = (this.#timeline.data?.points ?? []).map(({ timestamp, counts }) => ({
      at: Date.parse(timestamp),
      counts,
    }))
    if (!isNarrowed(this.view)) return { bars: all, isPartial: false }
    const { histogram, totalIsExact = true } = this.#matches.data ?? {}
    const counted = new Map(histogram?.points.map(({ timestamp, counts }) => [Date.parse(timestamp), counts]))
    return { bars: all.map(({ at }) => ({ at, counts: counted.get(at) ?? {} })), isPartial: !totalIsExact }
  }

  #counts(bars: readonly Bar[], span: Span | undefined): Partial<Record<Level, number>> {
    const { stepMs } = RANGES[this.view.range]
    const within = span ? bars.filter(({ at }) => at + stepMs > span.from && at < span.to) : bars
    if (bars.length === 0) return {}
    return Object.fromEntries(
      LEVELS.map(level => [level, within.reduce((sum, { counts }) => sum + (counts[level] ?? 0), 0)]),
    )
  }

  #choose(span: Span | undefined): void {
    const text = (ms: number | undefined): string | undefined =>
      ms === undefined ? undefined : new Date(ms).toISOString()
    this.#emit({ from: text(span?.from), to: text(span?.to), tail: undefined })
  }

  #emit(detail: Readonly<Record<string, string | undefined>>): void {
    this.dispatchEvent(new CustomEvent('pb-view', { detail }))
  }
}
function isNarrowed({ parsed, filters }: LogView): boolean {
  return parsed.terms.length > 0 || Object.keys(filters).length > 0
}

customElements.define('pb-log-over-time', PbLogOverTime)

declare global {
  interface HTMLElementTagNameMap {
    'pb-log-over-time': PbLogOverTime
  }
}
