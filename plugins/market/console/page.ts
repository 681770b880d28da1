import { html, nothing } from 'lit'
import {
  api,
  asApiError,
  type Crumb,
  drawer,
  emptyState,
  errorText,
  href,
  icon,
  type Page,
  PbPage,
  plural,
  problemText,
  Resource,
  segment,
  session,
  show,
  t,
  toast,
} from 'patchbay/console'
import { localized, type MarketSource, type Template, type Update } from './api.ts'
import './template.ts'
import { updatesCard } from './installed.ts'
import './upgrade.ts'
import { categoryName, kindMark } from './names.ts'

/** Templates that are read at once; more on request. */
const STEP = 60

interface Listing {
  readonly templates: Page<Template>
  readonly categories: readonly { readonly name: string; readonly templates: number }[]
  readonly sources: readonly MarketSource[]
  readonly updates: readonly Update[]
}

/** Templates of servers: cards with search and categories, and one template with what installing it would do. */
export class PbPageMarket extends PbPage {
  static override properties = { ...PbPage.properties, most: { state: true }, typed: { state: true } }
  /** Cards that are read. */
  declare most: number
  declare typed: string | undefined
  #typing: ReturnType<typeof setTimeout> | undefined
  readonly #list = new Resource<Listing>(this, {
    key: () =>
      this.params.id === undefined
        ? [this.view('q'), this.view('category'), this.view('source'), this.view('installed'), this.most]
        : undefined,
    read: signal => this.#read(signal),
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
    if (this.params.id === undefined) return [{ label: t('Market') }]
    return [{ label: t('Market'), path: '/market' }, { label: this.params.id.split(':').pop() ?? '' }]
  }

  override render() {
    // A template has a heading of its own.
    if (this.params.id !== undefined) return html`<pb-template .id=${this.params.id}></pb-template>${this.#change()}`
    return super.render()
  }

  override actions(): unknown {
    return html`<button type="button" class="btn ghost" @click=${() => this.setView({ drawer: 'sources' }, { push: true })}>${icon('database')}${t('Sources')}</button>`
  }

  override content(): unknown {
    return html`${this.#filters()}${show(this.#list, listing => html`${updatesCard(listing.updates)}${this.#cards(listing)}`)}${this.#sources()}${this.#change()}`
  }

  /** The drawer of a change to another version: `change` names the server, `way` the direction. */
  #change(): unknown {
    const server = this.view('change')
    return html`<pb-upgrade .server=${server} .way=${this.view('way') === 'back' ? 'back' : 'up'} @pb-close=${() => this.setView({ change: undefined, way: undefined })} @pb-changed=${this.#reload}></pb-upgrade>`
  }

  #filters(): unknown {
    const present = this.view('category')
    const categories = this.#list.data?.categories.filter(({ templates }) => templates > 0) ?? []
    const chip = (name: string | undefined, label: string): unknown =>
      html`<button type="button" class="chip ${present === name ? 'on' : ''}" aria-pressed=${present === name ? 'true' : 'false'} @click=${() => this.setView({ category: name })}>${label}</button>`
    return html`<div class="filters"><div class="wrapin">${icon('search')}<input class="in" type="search" data-search placeholder=${t('Name, tool or publisher')} aria-label=${t('Name, tool or publisher')}
      .value=${this.typed ?? this.view('q') ?? ''} @input=${this.#search}></div><span class="chips row wrap">${chip(undefined, t('All'))}<button type="button" class="chip ${this.view('installed') ? 'on' : ''}" aria-pressed=${this.view('installed') ? 'true' : 'false'} @click=${() => this.setView({ installed: this.view('installed') ? undefined : 'true' })}>${icon('check', { class: 's14' })}${t('Installed')}</button>${categories.map(({ name }) => chip(name, categoryName(name)))}</span></div>`
  }

  #cards({ templates, sources }: Listing): unknown {
    const troubled = sources.filter(({ state }) => state !== 'ready' && state !== 'off')
    const { items, total } = templates
    return html`${troubled.map(source => this.#sourceNote(source))}${
      items.length === 0
        ? emptyState({
            icon: 'store',
            title: t('No template matches'),
            text: t('Try another word, or all categories.'),
            action: html`<button type="button" class="btn" @click=${() => this.setView({ q: undefined, category: undefined, installed: undefined })}>${t('Clear')}</button>`,
          })
        : html`<ul class="mkt">${items.map(card)}</ul><p class="s q row">${t('{shown} of {total}', { shown: items.length, total })}${
            items.length < total
              ? html`<button type="button" class="btn sm" @click=${() => {
                  this.most += STEP
                }}>${t('Show more')}</button>`
              : nothing
          }</p>`
    }`
  }

  #sourceNote(source: MarketSource): unknown {
    return html`<div class="callout warn">${icon('triangle-alert')}<p class="grow"><b>${source.label}</b> ${t('does not answer.')} ${source.readAt ? html`${t('You see its copy of')} <pb-time .at=${source.readAt}></pb-time>.` : nothing}</p>${
      session.isAdmin
        ? html`<button type="button" class="btn sm" @click=${() => void this.#refresh(source)}>${t('Try now')}</button>`
        : nothing
    }</div>`
  }

  #sources(): unknown {
    const sources = this.#list.data?.sources ?? []
    return drawer({
      open: this.view('drawer') === 'sources',
      title: t('Sources'),
      onClose: () => this.setView({ drawer: undefined }),
      body: html`<ul class="list bordered">${sources.map(
        source =>
          html`<li><div class="tx"><span class="t1">${source.id === 'bundled' ? t('Bundled') : source.label}<span class="tag">${sourceState(source.state)}</span></span><p class="t2">${plural(source.templates, '{n} template', '{n} templates')}${
            source.readAt ? html`, ${t('read')} <pb-time .at=${source.readAt}></pb-time>` : nothing
          }</p>${source.lastError ? html`<p class="hint bad">${typeof source.lastError === 'string' ? source.lastError : problemText(source.lastError)}</p>` : nothing}</div>${
            session.isAdmin
              ? html`<button type="button" class="btn sm" @click=${() => void this.#refresh(source)}>${icon('rotate-cw')}${t('Read again')}</button>`
              : nothing
          }</li>`,
      )}</ul><p class="hint">${t('Administrators add further sources in the settings of the hub.')}</p>`,
    })
  }

  readonly #reload = (): void => {
    if (this.params.id === undefined) void this.#list.reload()
    else void this.querySelector('pb-template')?.reload()
  }

  async #read(signal: AbortSignal): Promise<Listing> {
    const query = {
      ...{ q: this.view('q'), category: this.view('category'), source: this.view('source') },
      ...{ installed: this.view('installed'), limit: this.most },
    }
    const [templates, categories, sources, updates] = await Promise.all([
      api.get<Page<Template>>('/api/market/templates', { query, signal }),
      api.get<Page<Listing['categories'][number]>>('/api/market/categories', { signal }),
      api.get<Page<MarketSource>>('/api/market/sources', { signal }),
      api.get<Page<Update>>('/api/market/updates', { query: { limit: 200 }, signal }),
    ])
    return { templates, categories: categories.items, sources: sources.items, updates: updates.items }
  }

  readonly #search = (event: InputEvent): void => {
    this.typed = (event.target as HTMLInputElement).value
    clearTimeout(this.#typing)
    this.#typing = setTimeout(() => {
      this.setView({ q: this.typed })
      this.typed = undefined
    }, 150)
  }

  async #refresh({ id }: MarketSource): Promise<void> {
    try {
      await api.post(`/api/market/sources/${segment(id)}/refresh`)
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
    await this.#list.reload()
  }
}
customElements.define('pb-page-market', PbPageMarket)

function sourceState(state: string): string {
  const words: Readonly<Record<string, string>> = {
    ready: t('ready'),
    loading: t('is read'),
    failed: t('failed'),
    off: t('off'),
    offline: t('offline'),
  }
  return words[state] ?? state
}

function card(template: Template): unknown {
  const title = template.title ?? template.name
  const { installed } = template
  const outdated = installed.find(({ update }) => update)
  return html`<li><a class="card mcard" href=${href(`/market/${segment(template.id)}`)}><span class="row"><span class="mic">${icon('plug')}</span><span class="grow"><span class="med cut mname" title=${title}>${title}</span><span class="row xs q">${template.publisher ?? template.source}${
    template.verified ? html`<span class="vf">${icon('badge-check', { class: 's14' })}${t('verified')}</span>` : nothing
  }</span></span></span><span class="md">${localized(template.description)}</span><span class="row xs q mfoot">${kindMark(template)}${template.toolCount === undefined ? nothing : html`<span>${plural(template.toolCount, '{n} tool', '{n} tools')}</span>`}${
    outdated
      ? html`<span class="push med newer">${outdated.version} → ${template.version}</span>`
      : installed.length > 0
        ? html`<span class="push row okt">${icon('check', { class: 's14' })}${t('Installed')}</span>`
        : nothing
  }</span></a></li>`
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-page-market': PbPageMarket
  }
}
