import { html, nothing } from 'lit'
import { api, segment } from '../../api/client.ts'
import { type GroupRecord, refOf, type ToolRecord } from '../../api/types.ts'
import { Resource } from '../../app/resource.ts'
import { router } from '../../app/router.ts'
import { PbElement } from '../../components/element.ts'
import { emptyState, show } from '../../components/states.ts'
import { formatNumber } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import { type Preview, wholePreview } from './preview.ts'
import '../server/try.ts'

/** Number of tools above which further ones are found only by the search. */
const MOST_SHOWN = 300

/** The tools that the reader gets of a group, as a client sees them, and the pane to try one. */
export class PbGroupTools extends PbElement {
  static override properties = { group: { attribute: false }, query: { attribute: false }, text: { state: true } }
  declare group: GroupRecord
  /** Parameters of the address: `tool` is the chosen one. */
  declare query: URLSearchParams
  declare text: string
  readonly #tools = new Resource<Preview>(this, {
    key: () => refOf(this.group),
    read: signal =>
      wholePreview(query => api.get(`/api/groups/${segment(refOf(this.group))}/tools`, { query, signal })),
    topics: ['servers', 'shares'],
    pauseMs: 2000,
  })

  constructor() {
    super()
    this.text = ''
  }

  override render(): unknown {
    return show(this.#tools, preview => this.#whole(preview))
  }

  #whole({ items, tokens }: Preview): unknown {
    const tools = (items as unknown as readonly ToolRecord[]).filter(({ appOnly }) => appOnly !== true)
    if (tools.length === 0)
      return html`<section class="card">${emptyState({
        icon: 'wrench',
        title: t('It has no tools for you now'),
        text: t(
          'Its servers are not online yet, or belong to people who do not share them with you. Tools appear here at once.',
        ),
      })}</section>`
    const text = this.text.toLowerCase()
    const shown = tools.filter(({ name, title = '', description = '' }) =>
      `${name} ${title} ${description}`.toLowerCase().includes(text),
    )
    const wanted = this.query.get('tool')
    const chosen = tools.find(({ name }) => name === wanted) ?? shown[0] ?? tools[0]
    const { owner, name, ref } = this.group
    return html`<div class="try">${this.#list(tools.length, shown, chosen, tokens)}<div class="stack trymain">${
      chosen
        ? html`<pb-try-tool .target=${{ kind: 'group', owner, name, ref }} .tool=${chosen}></pb-try-tool>`
        : nothing
    }</div></div>`
  }

  #list(count: number, shown: readonly ToolRecord[], chosen: ToolRecord | undefined, tokens: number): unknown {
    const hint = plural(count, '{n} tool', '{n} tools')
    return html`<section class="card toollist" aria-label=${t('Tools of {name}', { name: this.group.name })}><div class="ch line"><div class="wrapin">${icon('search', { class: 's14' })}<input class="in" type="search" data-search
      placeholder=${hint} aria-label=${t('Search tools')} .value=${this.text} @input=${(event: InputEvent) => {
        this.text = (event.target as HTMLInputElement).value
      }}></div></div>
      <ul>${shown.slice(0, MOST_SHOWN).map(tool => this.#item(tool, tool === chosen))}</ul>${shown.length === 0 ? html`<p class="s q pad">${t('No tool fits.')}</p>` : nothing}
      <div class="tf"><span>${hint}, ${t('about {n} tokens', { n: formatNumber(tokens, 0) })}${
        shown.length > MOST_SHOWN ? ` · ${t('first {n} shown', { n: MOST_SHOWN })}` : ''
      }</span></div></section>`
  }

  #item({ name, title, description }: ToolRecord, isChosen: boolean): unknown {
    const choose = (event: Event): void => {
      event.preventDefault()
      router.setQuery({ tool: name }, { push: true })
    }
    const query = new URLSearchParams(this.query)
    query.set('tool', name)
    return html`<li class="toolitem"><a href="?${query.toString()}" aria-current=${isChosen ? 'true' : nothing} @click=${choose}><span class="mono cut tn1" title=${name}>${name}</span><span
      class="row"><span class="cellsub">${title ?? description ?? ''}</span></span></a></li>`
  }
}
customElements.define('pb-group-tools', PbGroupTools)

declare global {
  interface HTMLElementTagNameMap {
    'pb-group-tools': PbGroupTools
  }
}
