import { html, nothing, svg, type TemplateResult } from 'lit'
import { repeat } from 'lit/directives/repeat.js'
import { href } from '../../app/router.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import type { Bay, BayCord, BayNode } from './model.ts'

/** Room of a server, and of a client or group, in pixels. */
const SERVER_HEIGHT = 36
const TALL_HEIGHT = 62
/** Distance of cords at a jack, and how far they sag, in pixels. */
const APART = 4.5
const SAG = 5

/** Data and handlers of the plates of a view. */
export interface BayView {
  readonly bay: Bay
  /** Id of the followed node. */
  readonly followed: string | undefined
  /** Everything on its way. */
  readonly way: ReadonlySet<string>
  readonly linkTo: (id: string) => string
}

/** The patch bay as three columns of plates with cords between them. */
export function cordsView(view: BayView): TemplateResult {
  const { clients, groups, servers } = view.bay
  const height = Math.max(servers.length * SERVER_HEIGHT, Math.max(clients.length, groups.length, 1) * TALL_HEIGHT)
  return html`<div class="bay wide" role="group" aria-label=${t('Patch bay: clients, groups and servers')}><div class="colh">${t('Clients and assistants')}</div>
    <div></div><div class="colh">${t('Groups')}</div><div></div><div class="colh">${t('Servers')}</div>
    ${column(view, clients, 0)}${cordsOf(view, clients, groups, height)}${column(view, groups, 1)}${cordsOf(view, groups, servers, height)}${column(view, servers, 2)}</div>`
}

function column(view: BayView, nodes: readonly BayNode[], at: number): TemplateResult {
  return html`<ul class="col" data-col=${at}>${repeat(
    nodes,
    ({ id }) => id,
    node => html`<li>${plate(view, node)}</li>`,
  )}</ul>`
}

/** A thing as a link that follows it. */
export function plate(view: BayView, node: BayNode): TemplateResult {
  const { id, kind, name, tone, note } = node
  const server = kind === 'server'
  return html`<a class="plate ${looksOf(view, node)}" href=${href(view.linkTo(id))} data-node=${id} aria-current=${id === view.followed ? 'true' : nothing}
    title=${`${name}, ${note}`}>${kind === 'group' ? nothing : icon(node.icon, { class: server ? tone : '' })}${
      server ? html`<span class="nm">${name}</span>` : namesOf(view.bay, node)
    }<span class="rt ${server ? 'cut' : ''}">${note}</span></a>`
}

const JACKS = { client: 'tall jr', group: 'tall jl jr', server: 'jl' } as const

function looksOf({ bay, followed, way }: BayView, { id, kind, tone }: BayNode): string {
  const corded = bay.cords.some(({ from, to }) => from === id || to === id)
  const classes: string[] = [JACKS[kind]]
  if (kind === 'server' && (tone === 'bad' || tone === 'warn')) classes.push(tone)
  if (id === followed) classes.push('lit')
  else if (way.has(id)) classes.push('on')
  if (!corded) classes.push('nocord')
  return classes.join(' ')
}

function namesOf({ nodes }: Bay, { name, sub, servers = [] }: BayNode): TemplateResult {
  const bad = servers.filter(id => nodes.get(id)?.tone === 'bad').length
  return html`<span class="grow"><span class="nm cut">${name}</span><span class="sub">${sub}${
    bad > 0 ? html`, <b class="bad-t">${plural(bad, '{n} offline', '{n} offline')}</b>` : nothing
  }</span></span>`
}

function cordsOf(
  { bay, followed, way }: BayView,
  left: readonly BayNode[],
  right: readonly BayNode[],
  height: number,
): TemplateResult {
  const y = (nodes: readonly BayNode[]) =>
    new Map(nodes.map(({ id }, at) => [id, (height * (at + 0.5)) / nodes.length]))
  const [from, to] = [y(left), y(right)]
  const cords = bay.cords.filter(cord => from.has(cord.from) && to.has(cord.to))
  const starts = spread(cords, 'from', from, to)
  const ends = spread(cords, 'to', to, from)
  // Highlighted cords are drawn last, and so are on top.
  const lit = (cord: BayCord): boolean => followed !== undefined && way.has(cord.from) && way.has(cord.to)
  const sorted = cords.map((cord, at) => ({ cord, at })).sort((a, b) => Number(lit(a.cord)) - Number(lit(b.cord)))
  return html`<svg class="cords" viewBox="0 0 100 ${height}" height=${height} preserveAspectRatio="none" aria-hidden="true">${repeat(
    sorted,
    ({ cord }) => `${cord.from}\n${cord.to}`,
    ({ cord, at }) => {
      const [y1, y2] = [starts[at] ?? 0, ends[at] ?? 0]
      return svg`<path class="${cord.look} ${lit(cord) ? 'lit' : ''}" d="M0 ${y1}C46 ${y1 + SAG} 54 ${y2 + SAG} 100 ${y2}"></path>`
    },
  )}</svg>`
}

/** Positions at which cords leave their jacks: side by side, in the order of their other ends. */
function spread(
  cords: readonly BayCord[],
  end: 'from' | 'to',
  own: ReadonlyMap<string, number>,
  others: ReadonlyMap<string, number>,
): number[] {
  const other = end === 'from' ? 'to' : 'from'
  const places: number[] = []
  for (const [id, at] of Map.groupBy(cords.keys(), index => cords[index]?.[end] ?? '')) {
    const sorted = at.sort(
      (a, b) => (others.get(cords[a]?.[other] ?? '') ?? 0) - (others.get(cords[b]?.[other] ?? '') ?? 0),
    )
    const apart = Math.min(APART, 24 / Math.max(1, sorted.length - 1))
    for (const [place, index] of sorted.entries())
      places[index] = Number(((own.get(id) ?? 0) + (place - (sorted.length - 1) / 2) * apart).toFixed(1))
  }
  return places
}

/** Legend of the cords. */
export function cordsLegend(): TemplateResult {
  const sample = (width: number, dash?: string, cls = ''): TemplateResult =>
    html`<svg class="sw ${cls}" viewBox="0 0 26 8" aria-hidden="true">${svg`<path d="M0 4h26" stroke-width=${width} stroke-dasharray=${dash ?? nothing}></path>`}</svg>`
  return html`<div class="bayfoot wide"><span class="k">${sample(1.25)}${t('under 5 calls a minute')}</span><span class="k">${sample(5)}${t('over 30')}</span>
    <span class="k">${sample(1.25, '1.5 4')}${t('plugged in, silent')}</span><span class="k">${sample(1.75, '6 4', 'swbad')}${t('calls fail')}</span>
    <span class="push">${t('Average of the last 5 minutes')}</span></div>`
}
