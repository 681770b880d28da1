import { html, nothing, type TemplateResult } from 'lit'
import { errorState, formatClock, formatNumber, href, icon, plural, skeleton, t } from 'patchbay/console'
import type { LogRecord } from './api.ts'
import './empty.ts'
import { LIVE_RECORDS, type LogFeed, type LogRow } from './feed.ts'
import './rows.ts'
import { type LogView, type Part, partsOf, RANGES, type Range } from './view.ts'
import { extentText } from './words.ts'

/** Data and handlers of the list. */
export interface ListOptions {
  readonly view: LogView
  readonly feed: LogFeed
  readonly open: number | undefined
  readonly link: (row: LogRow) => string
  readonly onRecord: (row: LogRow) => void
  readonly onWithout: (part: Part) => void
  readonly onWiden: (range: Range) => void
}

/** The list of results, or of live records. */
export function recordList(options: ListOptions): TemplateResult {
  const { view } = options
  return view.tail ? liveList(options) : foundList(options)
}

function rowsOf(
  { view, open, link, onRecord }: Pick<ListOptions, 'view' | 'open' | 'link' | 'onRecord'>,
  rows: readonly LogRow[],
): TemplateResult {
  return html`<pb-log-rows .rows=${rows} .columns=${view.columns} .wrap=${view.wrap} .open=${open} .link=${link}
    @pb-record=${(event: CustomEvent<LogRow>) => onRecord(event.detail)}></pb-log-rows>`
}

function foundList(options: ListOptions): TemplateResult {
  const { feed, view } = options
  const { rows, found, error, loading } = feed
  return html`<section class="card" aria-label=${t('Records')} aria-busy=${loading ? 'true' : 'false'}>${
    error ? html`<div class="pad">${errorState(error, () => void feed.reload())}</div>` : nothing
  }${
    found === undefined
      ? error
        ? nothing
        : skeleton(8)
      : rows.length === 0
        ? nothingFound(options)
        : html`<div class="tw">${rowsOf(options, rows)}</div>`
  }${found === undefined || rows.length === 0 ? nothing : foot(feed, view)}</section>`
}

function foot(feed: LogFeed, view: LogView): TemplateResult {
  const { rows, found, loading } = feed
  if (!found) return html``
  const ranOut = !found.totalIsExact && found.total < 10_000
  return html`<div class="tf"><span role="status">${extentText(rows.length, found)}</span>${
    found.behind > 0
      ? html`<span>${plural(found.behind, '{n} record is not stored yet.', '{n} records are not stored yet.')}</span>`
      : nothing
  }${ranOut && view.from === undefined ? html`<span>${t('Choose a part of the histogram to narrow it.')}</span>` : nothing}<span class="push row">${
    found.nextCursor === undefined
      ? nothing
      : html`<button type="button" class="btn ghost sm" ?disabled=${loading} @click=${() => void feed.more()}>${t('Load more')}</button>`
  }</span></div>`
}

function nothingFound({ view, feed, onWithout, onWiden }: ListOptions): TemplateResult {
  const { found } = feed
  if (found?.nextCursor !== undefined) {
    return html`<div class="empty">${icon('timer')}<h2>${t('Nothing found in the time for looking')}</h2>
      <p>${t('There may be matches further back. Go on, or choose a shorter time.')}</p>
      <button type="button" class="btn" ?disabled=${feed.loading} @click=${() => void feed.more()}>${t('Go on looking')}</button></div>`
  }
  const wider = (Object.keys(RANGES) as Range[]).find(range => RANGES[range].ms > RANGES[view.range].ms)
  return html`<pb-log-empty .parts=${partsOf(view)} .mine=${view.mine} .canWiden=${wider !== undefined}
    @pb-without=${(event: CustomEvent<Part>) => onWithout(event.detail)} @pb-widen=${() => wider && onWiden(wider)}></pb-log-empty>`
}

function liveList(options: ListOptions): TemplateResult {
  const { feed } = options
  const { rows, paused, waiting, rate, error, cut } = feed
  const state =
    paused === 'scroll' ? t('Paused because you scrolled') : paused === 'hand' ? t('Paused') : t('Live tail')
  return html`<section class="card" aria-label=${t('Live records')}><div class="ch line"><span class="st">${icon(paused ? 'pause' : 'radio', { class: 's14' })}${state}</span>
      <div class="r"><span class="q xs wide">${t('{n} records a second', { n: formatNumber(rate) })}</span></div></div>
    ${error ? html`<div class="pad">${errorState(error, () => void feed.reload())}</div>` : nothing}
    <div class="newrec" role="status">${
      waiting === 0
        ? nothing
        : html`<button type="button" class="btn sm pill" @click=${() => feed.resume()}>${icon('arrow-up')}${t('{n} new', { n: waiting })}</button>`
    }</div>
    <div class="tw" role="log" aria-live="off" aria-label=${t('Live records')}>${
      rows.length === 0
        ? html`<div class="empty">${icon('radio', { class: 's20' })}<h2>${t('Waiting for records')}</h2><p>${t('They appear here as they are logged.')}</p></div>`
        : rowsOf(options, rows)
    }</div>
    <div class="tf"><span>${cut ? t('The newest {n}; older ones have left the list', { n: LIVE_RECORDS }) : plural(rows.length, '{n} record', '{n} records')}</span></div></section>`
}

/** Records around a moment, regardless of the filters. */
export function aroundList(
  options: Omit<ListOptions, 'feed' | 'onWithout' | 'onWiden'>,
  rows: readonly LogRow[],
  at: string,
  back: string,
): TemplateResult {
  return html`<section class="card" aria-label=${t('Records around {time}', { time: formatClock(at, true) })}>
    <div class="ch line"><h2 class="s">${t('20 lines around {time}, without filters', { time: formatClock(at, true) })}</h2><div class="r"><a class="btn sm" href=${back}>${icon('arrow-left')}${t('Back to the search')}</a></div></div>
    <div class="tw">${rowsOf(options, rows)}</div></section>`
}

/** Address of the view with one record open. */
export function recordLink(query: URLSearchParams, key: string): string {
  return href('/logs', { ...Object.fromEntries(query), record: key })
}

/** A record as a row of a list that does not change. */
export function fixedRow(record: LogRecord, id: number): LogRow {
  return { id, record }
}
