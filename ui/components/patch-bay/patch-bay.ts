import { html, nothing, type PropertyValues } from 'lit'
import { api } from '../../api/client.ts'
import type { Connections } from '../../api/connections.ts'
import { Resource } from '../../app/resource.ts'
import { href, router } from '../../app/router.ts'
import { icon } from '../../text/icon.ts'
import { rich, t } from '../../text/t.ts'
import { PbElement } from '../element.ts'
import { segments } from '../page.ts'
import { emptyState, show } from '../states.ts'
import { bayTable } from './bay-table.ts'
import { type BayView, cordsLegend, cordsView } from './cords.ts'
import { jackLegend } from './jacks.ts'
import { type Bay, type BayNode, bayOf, wayOf } from './model.ts'
import { phoneView, stripsView } from './strips.ts'

/** Servers up to which cords are drawn to each of them. */
const CORDS_TO = 24
/** The picture changes at most so often, in milliseconds. */
const EVERY_MS = 5000
/** True if there is no room for cords; the groups are listed instead. */
const PHONE = matchMedia('(max-width: 699px)')

type Look = 'cords' | 'strips' | 'table'

/**
 * Live picture of clients, groups and servers with the calls and faults between them. The address holds the followed node
 * (`follow`), the marked jack (`jack`) and the kind of picture (`bay`): cords, strips or table; without it cords up to 24
 * servers, strips above. Properties: `scope`; `query`, that of the page; `match`, a text that nodes must contain to stay in the
 * picture; `only`: `faults`, `traffic` or `ungrouped`.
 *
 * Keys: up and down move along a column, left and right across, Enter follows, Escape ends following; in strips `[` and `]` go
 * from jack to jack.
 */
export class PbPatchBay extends PbElement {
  static override properties = { scope: {}, query: { attribute: false }, match: {}, only: {} }
  declare scope: 'mine' | 'visible' | 'all'
  declare query: URLSearchParams
  declare match: string
  declare only: string | undefined
  #bay: Bay | undefined
  #from: Connections | undefined
  readonly #data = new Resource<Connections>(this, {
    read: signal =>
      api.get('/api/monitoring/connections', {
        query: { scope: this.scope === 'visible' ? undefined : this.scope },
        signal,
      }),
    key: () => this.scope,
    topics: ['servers'],
    pauseMs: EVERY_MS,
    everyMs: EVERY_MS,
  })

  constructor() {
    super()
    this.scope = 'visible'
    this.match = ''
    this.query = new URLSearchParams()
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    const { data } = this.#data
    if (data === undefined || (data === this.#from && !changed.has('match') && !changed.has('only'))) return
    this.#from = data
    this.#bay = narrowed(bayOf(data, this.#bay), this.match, this.only)
    this.dispatchEvent(new CustomEvent('pb-bay', { detail: bayOf(data), bubbles: true }))
  }

  override render(): unknown {
    return html`<section class="card baycard" @keydown=${this.#pressed}>${show(this.#data, () => (this.#bay ? this.#picture(this.#bay) : nothing))}</section>`
  }

  #look(bay: Bay): Look {
    const view = this.query.get('bay')
    if (view === 'cords' || view === 'strips' || view === 'table') return view
    return bay.servers.length > CORDS_TO ? 'strips' : 'cords'
  }

  #picture(bay: Bay): unknown {
    const look = this.#look(bay)
    const followed = this.query.get('follow') ?? undefined
    const node = bay.nodes.get(followed ?? '')
    const view: BayView = {
      ...{ bay, followed: node?.id, way: node ? wayOf(bay, node.id) : new Set() },
      linkTo: id => this.#link({ follow: id === followed ? undefined : id }),
    }
    return html`<div class="ch"><h2>${t('Patch bay')}</h2><div class="r">${node ? this.#following(node) : nothing}${segments(
      t('Show the patch bay as'),
      [
        { id: 'cords', label: PHONE.matches ? t('Groups') : t('Cords') },
        { id: 'strips', label: t('Strips') },
        { id: 'table', label: t('Table') },
      ] as const,
      look,
      bayLook => router.setQuery({ bay: bayLook }),
      'sm',
    )}</div></div>${this.#body(bay, look, view)}`
  }

  #body(bay: Bay, look: Look, view: BayView): unknown {
    if (bay.nodes.size === 0) {
      const filtered = this.match !== '' || this.only !== undefined
      return filtered
        ? emptyState({ icon: 'search', title: t('Nothing matches'), text: t('No client, group or server is so.') })
        : emptyState({
            icon: 'cable',
            title: t('Nothing is plugged in yet'),
            text: t('Add a server, and put it into a group that clients use.'),
          })
    }
    if (look === 'table') return bayTable(bay)
    const jack = this.query.get('jack') ?? undefined
    const chooseJack = (id: string): void => router.setQuery({ jack: id === jack ? undefined : id })
    return html`<div class="vh">${bayTable(bay, true)}</div>${
      look === 'cords'
        ? html`${cordsView(view)}${phoneView(bay)}${cordsLegend()}`
        : html`${stripsView({ ...view, jack, chooseJack })}${jackLegend()}`
    }${
      this.#data.data?.omitted
        ? html`<p class="xs q padt">${t('{n} links with the fewest calls are left out.', { n: this.#data.data.omitted })}</p>`
        : nothing
    }`
  }

  #following(node: BayNode): unknown {
    return html`<span class="q xs wide">${rich('Following {name}', { name: html`<b class="med">${node.name}</b>` })}</span>${
      node.path === undefined ? nothing : html`<a class="btn ghost sm" href=${href(node.path)}>${t('Open')}</a>`
    }<button type="button" class="btn ghost sm ico" aria-label=${t('Stop following')} title=${t('Stop following')} @click=${() => router.setQuery({ follow: undefined })}>${icon('x')}</button>`
  }

  #link(changes: Readonly<Record<string, string | undefined>>): string {
    const query = new URLSearchParams(this.query)
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined) query.delete(name)
      else query.set(name, value)
    }
    const text = query.toString()
    return `${router.place.path}${text === '' ? '' : `?${text}`}`
  }

  readonly #pressed = (event: KeyboardEvent): void => {
    const link = (event.target as Element).closest<HTMLElement>('[data-node]')
    if (event.key === 'Escape' && this.query.get('follow')) return router.setQuery({ follow: undefined })
    if (!link) return
    if (event.key === '[' || event.key === ']')
      return this.#nextJack(link.dataset.node ?? '', event.key === ']' ? 1 : -1)
    const target = this.#neighbour(link, event.key)
    if (!target) return
    event.preventDefault()
    target.focus()
  }

  #neighbour(link: HTMLElement, key: string): HTMLElement | undefined {
    const column = link.closest<HTMLElement>('[data-col]')
    const links = [...(column?.querySelectorAll<HTMLElement>('[data-node]') ?? [])]
    const step = { ArrowDown: 1, ArrowUp: -1 }[key]
    if (step !== undefined) return links[links.indexOf(link) + step]
    const across = { ArrowRight: 1, ArrowLeft: -1 }[key]
    if (across === undefined) return undefined
    const next = this.querySelector(`[data-col="${Number(column?.dataset.col) + across}"]`)
    const others = [...(next?.querySelectorAll<HTMLElement>('[data-node]') ?? [])]
    const id = link.dataset.node
    const joined = others.find(other =>
      this.#bay?.cords.some(
        ({ from, to }) => (from === id && to === other.dataset.node) || (to === id && from === other.dataset.node),
      ),
    )
    return joined ?? others[0]
  }

  #nextJack(group: string, step: number): void {
    const jacks = this.#bay?.nodes.get(group)?.servers ?? []
    const at = jacks.indexOf(this.query.get('jack') ?? '')
    const next = jacks[at < 0 ? (step > 0 ? 0 : jacks.length - 1) : (at + step + jacks.length) % jacks.length]
    if (next !== undefined) router.setQuery({ jack: next })
  }
}
customElements.define('pb-patch-bay', PbPatchBay)

/** Keeps only matching nodes, and those connected to them. */
function narrowed(bay: Bay, match: string, only: string | undefined): Bay {
  const wanted = match.trim().toLowerCase()
  if (wanted === '' && only === undefined) return bay
  const grouped = new Set(bay.groups.flatMap(({ servers = [] }) => servers))
  const fits = ({ id, kind, name, tone, rate }: BayNode): boolean => {
    if (!name.toLowerCase().includes(wanted)) return false
    if (only === 'faults') return kind === 'server' && (tone === 'bad' || tone === 'warn')
    if (only === 'traffic') return kind === 'server' && rate > 0
    return only !== 'ungrouped' || (kind === 'server' && !grouped.has(id))
  }
  const kept = new Set([...bay.nodes.values()].filter(fits).flatMap(({ id }) => [...wayOf(bay, id)]))
  const keep = (nodes: readonly BayNode[]): BayNode[] => nodes.filter(({ id }) => kept.has(id))
  const [clients, groups, servers] = [keep(bay.clients), keep(bay.groups), keep(bay.servers)]
  const nodes = new Map([...clients, ...groups, ...servers].map(node => [node.id, node]))
  return {
    clients,
    groups,
    servers,
    nodes,
    cords: bay.cords.filter(({ from, to }) => nodes.has(from) && nodes.has(to)),
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-patch-bay': PbPatchBay
  }
}
