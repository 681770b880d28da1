import { html, nothing } from 'lit'
import { asApiError, errorText, href, icon, menu, PbPage, Resource, segments, show, t, toast } from 'patchbay/console'
import { searchLogs } from './api.ts'
import { csvOf, download, EXPORT_RECORDS, readAll } from './export.ts'
import { LogFeed, type LogRow } from './feed.ts'
import { filterLabel, type ViewChanges } from './filters.ts'
import './filters.ts'
import './help.ts'
import { aroundList, fixedRow, recordLink, recordList } from './list.ts'
import './over-time.ts'
import { recordKey } from './record.ts'
import './record.ts'
import './saved.ts'
import { FILTERS, type LogView, type Part, partsOf, queryOf, type Range, readView } from './view.ts'
import { mistakeText, partLabel } from './words.ts'

/** Records before and after the one that others are shown around. */
const AROUND = 10

/** Searches the log, follows it live, and shows single records. */
class PbPageLogs extends PbPage {
  static override properties = { ...PbPage.properties, layer: { state: true }, draft: { state: true } }
  declare layer: 'filters' | 'help' | 'saved' | undefined
  /** The query as it is typed. */
  declare draft: string | undefined
  readonly #feed = new LogFeed(this, () => this.#view)
  readonly #around = new Resource<readonly LogRow[]>(this, {
    key: () => this.view('around'),
    read: signal => readAround(this.view('around') ?? '', signal),
  })
  /** The record of the address, if it is not in the list. */
  readonly #single = new Resource<LogRow | undefined>(this, {
    key: () => (this.#feed.found && !this.#inList() ? this.view('record') : undefined),
    read: signal => readSingle(this.view('record') ?? '', signal),
  })
  #read: { readonly text: string; readonly view: LogView } | undefined
  #typing: ReturnType<typeof setTimeout> | undefined

  get #view(): LogView {
    const text = this.query.toString()
    if (this.#read?.text !== text) this.#read = { text, view: readView(this.query) }
    return this.#read.view
  }

  override crumbs() {
    return [{ label: t('Logs') }]
  }

  override connectedCallback(): void {
    super.connectedCallback()
    addEventListener('scroll', this.#scrolled, { passive: true })
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    removeEventListener('scroll', this.#scrolled)
    clearTimeout(this.#typing)
  }

  override actions() {
    const { tail, range } = this.#view
    const ranges = (['15m', '1h', '24h', '7d', '30d'] as const).map(id => ({ id, label: rangeLabel(id) }))
    const saved = html`<button type="button" class="btn" aria-label=${t('Saved views')} @click=${() => this.#open('saved')}>${icon('bookmark')}<span class="wide">${t('Saved views')}</span></button>`
    if (tail) {
      const { paused } = this.#feed
      return html`${saved}<button type="button" class="btn" @click=${() => this.setView({ tail: undefined, record: undefined }, { push: true })}>${icon('square')}${t('End live tail')}</button>
        <button type="button" class="btn pri" @click=${paused ? this.#resume : () => this.#feed.pause('hand')}>${icon(paused ? 'play' : 'pause')}${paused ? t('Resume') : t('Pause')}</button>`
    }
    return html`<div class="wide">${segments(t('Time range'), ranges, range, id => this.setView({ range: id === '1h' ? undefined : id, from: undefined, to: undefined }, { push: true }))}</div>
      ${saved}${menu(
        t('Export'),
        [
          { label: t('JSON'), action: () => void this.#export('json') },
          { label: t('CSV'), action: () => void this.#export('csv') },
        ],
        html`<button type="button" slot="trigger" class="btn" aria-label=${t('Export')}>${icon('download')}<span class="wide">${t('Export')}</span></button>`,
      )}<button type="button" class="btn pri" @click=${() => this.setView({ tail: '1', record: undefined, around: undefined, from: undefined, to: undefined }, { push: true })}>${icon('play')}${t('Live tail')}</button>`
  }

  override content() {
    const view = this.#view
    const around = this.view('around')
    const options = {
      view,
      open: this.#opened()?.id,
      link: (row: LogRow) => recordLink(this.query, recordKey(row.record)),
      onRecord: (row: LogRow) => this.setView({ record: recordKey(row.record) }, { push: !this.view('record') }),
    }
    const list =
      around === undefined
        ? recordList({
            ...{ ...options, feed: this.#feed, onWithout: this.#without },
            onWiden: (range: Range) => this.setView({ range, from: undefined, to: undefined }),
          })
        : show(this.#around, rows => aroundList(options, rows, around, this.#back()))
    const record = this.#opened()
    return html`${this.#queryBox()}${this.#chips()}${
      view.tail || around !== undefined
        ? nothing
        : html`<pb-log-over-time .view=${view} .found=${this.#feed.found} @pb-view=${this.#changed}></pb-log-over-time>`
    }<div class=${record ? 'logg' : ''}>${list}${
      record
        ? html`<pb-log-record .record=${record.record} @pb-term=${(event: CustomEvent<string>) => this.#addTerm(event.detail)}
            @pb-step=${(event: CustomEvent<number>) => this.#step(event.detail)} @pb-close=${this.#closeRecord}></pb-log-record>`
        : nothing
    }</div>${this.#layers()}`
  }

  #layers() {
    const close = () => this.#open(undefined)
    return html`<pb-log-filters .open=${this.layer === 'filters'} .view=${this.#view} @pb-view=${this.#changed} @pb-close=${close}></pb-log-filters>
      <pb-log-help .open=${this.layer === 'help'} @pb-close=${close}></pb-log-help>
      <pb-log-saved .open=${this.layer === 'saved'} @pb-close=${close}></pb-log-saved>`
  }

  #queryBox() {
    const text = this.draft ?? this.#view.text
    const mistake = mistakeText(this.#view.text, this.#view.parsed)
    return html`<div class="field"><div class="qrow"><div class="wrapin qbox">${icon('search', { class: 's14' })}<input class="in code ${mistake ? 'err' : ''}" type="search" data-search
        aria-label=${t('Query')} aria-invalid=${mistake ? 'true' : nothing} aria-describedby=${mistake ? 'qe' : nothing} autocomplete="off" spellcheck="false"
        placeholder=${t('level:ERROR server:github "text"')} maxlength="4096" .value=${text} @input=${this.#typed} @change=${this.#take} @keydown=${(
          event: KeyboardEvent,
        ) => {
          if (event.key === 'Enter') this.#take()
        }}><span class="ina"><button type="button" class="btn ghost sm ico" aria-label=${t('How to write a query')} @click=${() => this.#open('help')}>${icon('circle-question-mark')}</button></span></div>
      <button type="button" class="btn" @click=${() => this.#open('filters')}>${icon('sliders-horizontal')}${t('Filters')}</button></div>${
        mistake
          ? html`<p class="hint bad" id="qe" role="status">${icon('circle-alert')}<span>${mistake}</span></p>`
          : nothing
      }</div>`
  }

  #chips() {
    const { filters } = this.#view
    const set = FILTERS.filter(name => filters[name] !== undefined)
    if (set.length === 0) return nothing
    return html`<div class="row wrap" role="group" aria-label=${t('Filters in use')}>${set.map(
      name =>
        html`<button type="button" class="chip on" aria-label=${t('Take filter {name} away', { name: filterLabel(name) })} @click=${() => this.setView({ [name]: undefined })}>${filterLabel(name)} <b class="mono">${filters[name]}</b>${icon('x')}</button>`,
    )}</div>`
  }

  #back(): string {
    const query = Object.fromEntries(this.query)
    return href('/logs', { ...query, around: undefined, record: undefined })
  }

  #open(layer: PbPageLogs['layer']): void {
    this.layer = layer
  }

  readonly #changed = (event: Event): void => {
    this.setView({ ...(event as CustomEvent<ViewChanges>).detail, around: undefined })
  }

  readonly #typed = (event: Event): void => {
    this.draft = (event.target as HTMLInputElement).value
    clearTimeout(this.#typing)
    this.#typing = setTimeout(this.#take, 400)
  }

  readonly #take = (): void => {
    clearTimeout(this.#typing)
    const { draft } = this
    if (draft === undefined) return
    this.setView({ q: draft.trim() === '' ? undefined : draft, around: undefined })
    // After a syntax error the text stays as entered; otherwise it is in the address.
    this.draft = draft === this.#view.text ? draft : undefined
  }

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    super.willUpdate(changed as never)
    // Back, a link or a saved view has brought another query than the one that is typed.
    if (changed.has('query') && this.draft !== undefined && this.draft.trim() !== this.#view.text.trim()) {
      if (document.activeElement?.matches('[data-search]') !== true) this.draft = undefined
    }
  }

  #addTerm(term: string): void {
    this.draft = undefined
    const { text } = this.#view
    if (text.split(/\s+/).includes(term)) return
    this.setView({ q: `${text.trim()} ${term}`.trim(), around: undefined }, { push: true })
  }

  readonly #without = (part: Part): void => {
    const { text } = this.#view
    this.draft = undefined
    if (part.kind === 'term' && part.term) {
      this.setView({ q: `${text.slice(0, part.term.start)}${text.slice(part.term.end)}`.trim() || undefined })
    } else if (part.kind === 'time') this.setView({ range: '30d', from: undefined, to: undefined })
    else if (part.kind === 'levels') this.setView({ levels: undefined, level: undefined })
    else this.setView({ [part.kind]: undefined })
    toast(t('{part} taken away', { part: partLabel(part) }))
  }

  #rows(): readonly LogRow[] {
    return this.view('around') === undefined ? this.#feed.rows : (this.#around.data ?? [])
  }

  #inList(): LogRow | undefined {
    const key = this.view('record')
    if (key === undefined) return undefined
    const at = key.slice(0, key.lastIndexOf('~'))
    return this.#rows().find(({ record }) => record.timestamp === at && recordKey(record) === key)
  }

  #opened(): LogRow | undefined {
    return this.view('record') === undefined ? undefined : (this.#inList() ?? this.#single.data)
  }

  #step(by: number): void {
    const rows = this.#rows()
    const row = rows[rows.findIndex(({ id }) => id === this.#inList()?.id) + by]
    if (row && this.#inList()) this.setView({ record: recordKey(row.record) })
  }

  readonly #closeRecord = (): void => {
    const id = this.#inList()?.id
    this.setView({ record: undefined })
    if (id !== undefined) void this.querySelector('pb-log-rows')?.focusRow(id)
  }

  readonly #scrolled = (): void => {
    if (!this.#view.tail || this.#feed.paused) return
    const list = this.querySelector('.tlog')
    if (list && list.getBoundingClientRect().top < 0) this.#feed.pause('scroll')
  }

  readonly #resume = (): void => {
    scrollTo(0, 0)
    this.#feed.resume()
  }

  async #export(format: 'json' | 'csv'): Promise<void> {
    const view = this.#view
    const name = `logs-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.${format}`
    try {
      const { records, isCut } = await readAll(queryOf(partsOf(view)), view.mine ? 'mine' : undefined)
      const text = format === 'csv' ? csvOf(records) : `${JSON.stringify(records, undefined, 2)}\n`
      download(name, format === 'csv' ? 'text/csv' : 'application/json', text)
      toast(
        isCut
          ? t('Exported the first {n} records; there are more. Choose a shorter time for the rest.', {
              n: EXPORT_RECORDS,
            })
          : t('Exported {n} records', { n: records.length }),
      )
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
  }
}
customElements.define('pb-page-logs', PbPageLogs)

function rangeLabel(range: Range): string {
  const labels: Readonly<Record<Range, string>> = {
    '15m': t('15 min'),
    '1h': t('1 h'),
    '24h': t('24 h'),
    '7d': t('7 d'),
    '30d': t('30 d'),
  }
  return labels[range]
}

/** Records on both sides of a time, the newest first. */
async function readAround(at: string, signal: AbortSignal): Promise<readonly LogRow[]> {
  const before = await searchLogs({ timestamp: { lte: at } }, { limit: AROUND + 1, signal })
  const after = await searchLogs({ timestamp: { gt: at } }, { limit: AROUND, order: 'asc', signal })
  return [...after.records.toReversed(), ...before.records].map(fixedRow)
}

async function readSingle(key: string, signal: AbortSignal): Promise<LogRow | undefined> {
  const at = key.slice(0, key.lastIndexOf('~'))
  if (Number.isNaN(Date.parse(at))) return undefined
  const { records } = await searchLogs({ timestamp: at }, { signal })
  return records.map((record, index) => fixedRow(record, -1 - index)).find(({ record }) => recordKey(record) === key)
}
