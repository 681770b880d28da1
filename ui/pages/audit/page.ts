import { html, nothing } from 'lit'
import { api, type Page, send } from '../../api/client.ts'
import { Resource } from '../../app/resource.ts'
import { download } from '../../components/download.ts'
import type { Column } from '../../components/lists/table.ts'
import { type Crumb, PbPage } from '../../components/page.ts'
import { emptyState, show } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import '../../components/lists/table.ts'
import '../../components/time.ts'

interface AuditEntry {
  readonly id: number
  readonly at: string
  readonly user: string
  readonly action: string
  readonly target: string | null
  readonly requestId: string | null
  /** Address of the client; null if no request was the cause. */
  readonly address: string | null
  readonly detail?: Readonly<Record<string, unknown>>
}

/** Entries that are read at once. */
const STEP = 200

/** Actions of users, newest first. */
export class PbPageAudit extends PbPage {
  static override properties = { ...PbPage.properties, most: { state: true } }
  declare most: number
  #typing: ReturnType<typeof setTimeout> | undefined
  readonly #entries = new Resource<Page<AuditEntry>>(this, {
    key: () => [this.view('action'), this.view('user'), this.most],
    read: signal =>
      api.get('/api/admin/audit', {
        query: { action: this.view('action'), user: this.view('user'), limit: this.most },
        signal,
      }),
  })

  constructor() {
    super()
    this.most = STEP
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    clearTimeout(this.#typing)
  }

  override crumbs(): readonly Crumb[] {
    return [{ label: t('Audit') }]
  }

  override actions(): unknown {
    return html`<button type="button" class="btn" @click=${() => void this.#export()}>${icon('download')}${t('Export')}</button>`
  }

  override content(): unknown {
    return html`<div class="filters">${this.#filter('user', t('User'))}${this.#filter('action', t('Deed, such as server.delete'))}
      <button type="button" class="btn ghost" @click=${() => void this.#entries.reload()}>${icon('rotate-cw')}${t('Read again')}</button></div>
      ${show(this.#entries, page => this.#table(page))}`
  }

  #filter(name: string, label: string): unknown {
    return html`<div class="wrapin">${icon('search')}<input class="in" type="search" ?data-search=${name === 'user'} placeholder=${label} aria-label=${label} .value=${this.view(name) ?? ''} @input=${(
      event: InputEvent,
    ) => {
      const { value } = event.target as HTMLInputElement
      clearTimeout(this.#typing)
      this.#typing = setTimeout(() => this.setView({ [name]: value.trim() }), 200)
    }}></div>`
  }

  #table({ items, total }: Page<AuditEntry>): unknown {
    if (items.length === 0)
      return emptyState({
        icon: 'history',
        title: t('Nothing was recorded that matches'),
        text: t('Enter whole names, as they are in the list.'),
      })
    const columns: readonly Column<AuditEntry>[] = [
      { id: 'at', head: t('When'), cell: entry => html`<pb-time .at=${entry.at}></pb-time>` },
      { id: 'user', head: t('Who'), cell: entry => html`<span class="nm">${entry.user}</span>` },
      { id: 'action', head: t('What'), cell: entry => html`<code>${entry.action}</code>` },
      { id: 'address', head: t('From where'), cell: entry => html`<span class="f">${entry.address ?? '–'}</span>` },
      { id: 'target', head: t('To what'), cell: entry => entry.target ?? '–' },
      { id: 'detail', head: t('Details'), class: 'full', cell: entry => detail(entry) },
    ]
    const foot = html`<span>${t('{shown} of {total}', { shown: items.length, total })}</span>${
      items.length < total && items.length < 1000
        ? html`<button type="button" class="btn sm" @click=${() => {
            this.most = Math.min(this.most + STEP, 1000)
          }}>${t('Show more')}</button>`
        : nothing
    }`
    return html`<pb-table .label=${t('Audit')} .rows=${items} .columns=${columns} .keyOf=${(entry: AuditEntry) => String(entry.id)} .foot=${foot}></pb-table>`
  }

  async #export(): Promise<void> {
    const response = await send('GET', '/api/admin/audit', {
      query: { action: this.view('action'), user: this.view('user'), limit: 1000 },
    })
    download('audit.json', await response.blob())
  }
}
customElements.define('pb-page-audit', PbPageAudit)

function detail({ detail: values, requestId }: AuditEntry): unknown {
  const entries = Object.entries(values ?? {})
  const text = entries
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ')
  return html`<span class="q" translate="no">${text}${requestId ? html` <code class="f">${requestId}</code>` : nothing}</span>`
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-page-audit': PbPageAudit
  }
}
