import { html, nothing } from 'lit'
import { api, type Page } from '../../api/client.ts'
import { refOf, serverPath } from '../../api/servers.ts'
import type { ServerRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { PbElement } from '../../components/element.ts'
import { hasLogs, logLink, requestLink } from '../../components/log-link.ts'
import { emptyState, show } from '../../components/states.ts'
import { formatClock, formatDateTime } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'

interface StderrLine {
  readonly at: string
  readonly line: string
}

interface LogRecord {
  readonly timestamp: string
  readonly level: string
  readonly message: string
  readonly tool?: string
  readonly requestId?: string
}

const LEVELS: Readonly<Record<string, readonly [string, string]>> = {
  ERROR: ['octagon-x', 'bad'],
  WARN: ['triangle-alert', 'warn'],
  INFO: ['info', 'rest'],
  DEBUG: ['bug', 'rest'],
  TRACE: ['footprints', 'rest'],
}

/** A server's output on stderr, and its records in the hub's log. */
export class PbServerLogs extends PbElement {
  static override properties = { server: { attribute: false } }
  declare server: ServerRecord
  readonly #stderr = new Resource<Page<StderrLine>>(this, {
    key: () => (this.server.transport === 'stdio' ? refOf(this.server) : undefined),
    read: signal =>
      api.get<Page<StderrLine>>(`${serverPath(refOf(this.server))}/logs`, { query: { limit: 200 }, signal }),
    everyMs: 5000,
  })
  readonly #records = new Resource<{ readonly items: readonly LogRecord[] }>(this, {
    key: () => (hasLogs() ? refOf(this.server) : undefined),
    read: signal => api.get('/api/logs/search', { query: { server: refOf(this.server), limit: 100 }, signal }),
    topics: ['logs'],
    apply: ({ event, data }) => (event === 'log.record' && data.server === this.server.name ? 'stale' : 'same'),
    pauseMs: 2000,
  })

  override render(): unknown {
    const isProcess = this.server.transport === 'stdio'
    return html`${isProcess ? this.#errors() : nothing}${hasLogs() ? this.#stored() : isProcess ? nothing : noRecords()}`
  }

  #stored(): unknown {
    const all = logLink({ server: this.server.name }, t('All of its records'))
    return html`<section class="card"><div class="ch"><h2>${t('Log records')}</h2><div class="r">${all}</div></div>
      ${show(this.#records, ({ items }) =>
        items.length === 0
          ? emptyState({
              icon: 'scroll-text',
              title: t('No records yet'),
              text: t('Starts, ends, calls and errors of this server come here.'),
            })
          : html`<div class="tw loglist" tabindex="0" role="region" aria-label=${t('Log records')}><table class="tlog tlog-own cards"><tbody>${items.map(record => this.#record(record))}</tbody></table></div>
            <div class="tf"><span>${plural(items.length, 'The last {n} record', 'The last {n} records')}</span></div>`,
      )}</section>`
  }

  #errors(): unknown {
    return html`<section class="card"><div class="ch"><h2>stderr</h2><span class="r f xs">${live.reachable ? t('the last 200 lines, since its last start') : nothing}</span></div>
      <div class="cb">${show(this.#stderr, ({ items }) =>
        items.length === 0
          ? html`<p class="q s">${t('It has written nothing to stderr.')}</p>`
          : html`<pre class="code wrap stderr" tabindex="0" role="region" aria-label="stderr">${items.map(
              ({ at, line }) =>
                html`<span class="ck-c" title=${formatDateTime(at)}>${formatClock(at)}</span> ${line}\n`,
            )}</pre>`,
      )}</div></section>`
  }

  #record({ timestamp, level, message, tool, requestId }: LogRecord): unknown {
    const [name, tone] = LEVELS[level] ?? ['info', 'rest']
    return html`<tr><td class="mono nw q" title=${formatDateTime(timestamp)}>${formatClock(timestamp, true)}</td><td class="nw"><span class="st ${tone}">${icon(name)}${level}</span></td>
      <td class="mono lsaid">${message}${tool === undefined ? nothing : html` <span class="q">${tool}</span>`}</td><td class="nw lrequest">${
        requestId === undefined ? nothing : requestLink(requestId, 'mono xs')
      }</td></tr>`
  }
}
function noRecords(): unknown {
  return emptyState({
    icon: 'scroll-text',
    title: t('No records are stored'),
    text: t('An administrator can switch on the plugin log-database.'),
  })
}

customElements.define('pb-server-logs', PbServerLogs)

declare global {
  interface HTMLElementTagNameMap {
    'pb-server-logs': PbServerLogs
  }
}
