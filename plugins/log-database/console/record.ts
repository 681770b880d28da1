import { html, nothing } from 'lit'
import { formatClock, formatDateTime, formatMs, href, icon, PbElement, Resource, session, t } from 'patchbay/console'
import { callerOf, type LogRecord, searchLogs } from './api.ts'
import { QUERY_FIELDS, termText } from './query.ts'
import { levelMark } from './words.ts'

const FIRST = [
  'server',
  'tool',
  'userId',
  'outcome',
  'error',
  'status',
  'code',
  'duration',
  'requestId',
  'component',
  'group',
]
const SHOWN_ELSEWHERE = new Set(['timestamp', 'level', 'message', 'serverId'])

/** Identifies a record in the address: its time, and a hash that distinguishes it from others of the same millisecond. */
export function recordKey(record: LogRecord): string {
  const { timestamp, level, message, server, tool, requestId } = record
  let hash = 5381
  for (const character of [level, message, server, tool, requestId].join(' ')) {
    hash = (Math.imul(hash, 33) ^ (character.codePointAt(0) ?? 0)) >>> 0
  }
  return `${timestamp}~${hash.toString(36)}`
}

/**
 * One record with all its fields.
 *
 * @fires pb-term - `detail: string`, a term to be added to the query
 * @fires pb-step - `detail: -1 | 1`, to the newer or older record
 * @fires pb-close
 */
export class PbLogRecord extends PbElement {
  static override properties = { record: { attribute: false }, json: { state: true } }
  declare record: LogRecord
  declare json: boolean
  readonly #sameRequest = new Resource<number>(this, {
    key: () => this.record.requestId,
    read: async signal => (await searchLogs({ requestId: this.record.requestId }, { limit: 1, signal })).total,
  })

  /** The caller's name, where another user called a server of the reader; records have ids alone. */
  readonly #caller = new Resource<string | undefined>(this, {
    key: () => (this.#isOthers ? recordKey(this.record) : undefined),
    read: signal => callerOf(this.record, signal),
  })

  get #isOthers(): boolean {
    const { userId, tool } = this.record
    return tool !== undefined && userId !== undefined && userId !== session.user?.id
  }

  override render(): unknown {
    const { record } = this
    const step = (by: -1 | 1) => () => this.#emit('pb-step', by)
    return html`<aside class="card rec" aria-label=${t('Record')} tabindex="-1" @keydown=${this.#pressed}>
      <div class="ch line">${levelMark(record.level)}<h2 class="tn" title=${formatDateTime(record.timestamp)}>${formatClock(record.timestamp, true)}</h2><div class="r">
        <button type="button" class="btn ghost sm ico" aria-label=${t('Newer record')} @click=${step(-1)}>${icon('chevron-up')}</button>
        <button type="button" class="btn ghost sm ico" aria-label=${t('Older record')} @click=${step(1)}>${icon('chevron-down')}</button>
        <button type="button" class="btn ghost sm ico" aria-label=${t('Close record')} @click=${() => this.#emit('pb-close', undefined)}>${icon('x')}</button>
      </div></div>
      <div class="cb padt stack"><p class="mono recm">${record.message}</p>${this.json ? this.#asJson() : this.#fields()}
        <div class="row wrap">${this.#request()}<a class="btn sm" href=${href('/logs', { around: record.timestamp, record: recordKey(record) })}>${t('20 lines around')}</a>
          <button type="button" class="btn ghost sm" aria-pressed=${this.json ? 'true' : 'false'} @click=${() => {
            this.json = !this.json
          }}>${t('JSON')}</button></div></div></aside>`
  }

  #request(): unknown {
    const { requestId } = this.record
    if (requestId === undefined) return nothing
    const n = this.#sameRequest.data
    return html`<a class="btn sm" href=${href('/logs', { requestId })}>${n === undefined ? t('Same request') : t('Same request, {n}', { n })}</a>`
  }

  #asJson(): unknown {
    const text = JSON.stringify(this.record, undefined, 2)
    return html`<pre class="mono recj" tabindex="0">${text}</pre><div><pb-copy .text=${text} .caption=${t('Copy')} .label=${t('Copy record')}></pb-copy></div>`
  }

  #fields(): unknown {
    const names = Object.keys(this.record).filter(name => !SHOWN_ELSEWHERE.has(name))
    const sorted = [...FIRST.filter(name => names.includes(name)), ...names.filter(name => !FIRST.includes(name))]
    return html`<dl class="kv recf">${sorted.map(name => this.#field(name, this.record[name]))}</dl>`
  }

  #field(name: string, value: unknown): unknown {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const canFilter = (QUERY_FIELDS as readonly string[]).includes(name) && text !== ''
    const label = { field: name, value: text }
    const caller = this.#isOthers ? this.#caller.data : session.user?.name
    const isKnown = name === 'userId' && caller !== undefined && (this.#isOthers || value === session.user?.id)
    const shown = name === 'duration' && typeof value === 'number' ? formatMs(value) : text
    return html`<dt>${name === 'userId' ? t('user') : name}</dt><dd class="row"><span class="mono cut" title=${text}>${isKnown ? caller : shown}</span>${
      canFilter
        ? html`<span class="push row fbtns"><button type="button" class="btn ghost sm ico" aria-label=${t('Filter for {field} {value}', label)}
            title=${t('Filter for')} @click=${() => this.#emit('pb-term', termText(name, text))}>${icon('circle-plus')}</button>
          <button type="button" class="btn ghost sm ico" aria-label=${t('Filter out {field} {value}', label)} title=${t('Filter out')}
            @click=${() => this.#emit('pb-term', termText(name, text, true))}>${icon('circle-minus')}</button></span>`
        : nothing
    }</dd>`
  }

  readonly #pressed = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return
    event.stopPropagation()
    this.#emit('pb-close', undefined)
  }

  #emit(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail }))
  }
}
customElements.define('pb-log-record', PbLogRecord)

declare global {
  interface HTMLElementTagNameMap {
    'pb-log-record': PbLogRecord
  }
}
