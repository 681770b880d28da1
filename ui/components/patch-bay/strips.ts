import { html, nothing, svg, type TemplateResult } from 'lit'
import { repeat } from 'lit/directives/repeat.js'
import { href } from '../../app/router.ts'
import { plural, t } from '../../text/t.ts'
import { mark } from '../servers/status.ts'
import { type BayView, plate } from './cords.ts'
import { JACK_STEP, JACKS_PER_LINE, jackField } from './jacks.ts'
import { type Bay, type BayNode, rateText } from './model.ts'

/** Height of a group's row, in pixels. */
const STRIP_HEIGHT = 60

/** Data and handlers of strips beyond {@link BayView}. */
export interface StripsView extends BayView {
  /** The server whose jack is marked in all strips. */
  readonly jack: string | undefined
  readonly chooseJack: (id: string) => void
}

/** The patch bay for many servers: a group is a row in which its servers are jacks. */
export function stripsView(view: StripsView): TemplateResult {
  const { bay } = view
  const height = Math.max(bay.groups.length, 1) * STRIP_HEIGHT + 1
  return html`<div class="bigbay ${inspected(view) ? '' : 'noinsp'}"><div class="bayframe" role="group" aria-label=${t('Patch bay: clients and groups')}><div class="strips">
    <ul class="col bigcol wide" data-col="0">${repeat(
      bay.clients,
      ({ id }) => id,
      node => html`<li>${plate(view, node)}</li>`,
    )}</ul><div class="bay bigcords wide">${cords(view, height)}</div>
    <ul class="striplist" data-col="1">${repeat(
      bay.groups,
      ({ id }) => id,
      node => html`<li>${strip(view, node)}</li>`,
    )}</ul></div></div>${inspector(view)}</div>`
}

/** The jacks of a group. */
export function jacksOf(bay: Bay, node: BayNode): BayNode[] {
  return (node.servers ?? []).flatMap(id => bay.nodes.get(id) ?? [])
}

function strip(view: StripsView, node: BayNode): TemplateResult {
  const { bay, followed, way, linkTo, jack } = view
  const on = followed !== undefined && way.has(node.id)
  const corded = bay.cords.some(({ to }) => to === node.id)
  return html`<a class="strip ${on ? 'on' : ''} ${corded ? '' : 'nocord'}" href=${href(linkTo(node.id))} data-node=${node.id} aria-current=${node.id === followed ? 'true' : nothing}
    @click=${(event: MouseEvent) => jackAt(event, view, node)}><span class="grow"><b class="med cut">${node.name}</b><span class="cellsub">${node.sub}</span></span>${jackField(jacksOf(bay, node), jack)}<span class="rt num s q">${node.note}</span></a>`
}

/** A click on a jack chooses it, beside following its group. */
function jackAt(event: MouseEvent, view: StripsView, node: BayNode): void {
  const field = (event.currentTarget as Element).querySelector('.jackfield')?.getBoundingClientRect()
  if (!field || event.clientX < field.left || event.clientX > field.right) return
  const scale = field.width / (Math.min(JACKS_PER_LINE, jacksOf(view.bay, node).length) * JACK_STEP)
  const column = Math.floor((event.clientX - field.left) / (JACK_STEP * scale))
  const line = Math.floor((event.clientY - field.top) / (JACK_STEP * scale))
  const server = node.servers?.[line * JACKS_PER_LINE + column]
  if (server !== undefined) view.chooseJack(server)
}

function cords({ bay, followed, way }: StripsView, height: number): TemplateResult {
  const from = new Map(bay.clients.map(({ id }, at) => [id, (height * (at + 0.5)) / bay.clients.length]))
  const to = new Map(bay.groups.map(({ id }, at) => [id, (at + 0.5) * STRIP_HEIGHT]))
  const drawn = bay.cords.filter(cord => from.has(cord.from) && to.has(cord.to))
  const seen = new Map<string, number>()
  const place = (id: string): number => {
    const at = seen.get(id) ?? 0
    seen.set(id, at + 1)
    return ((at % 2 === 0 ? 1 : -1) * Math.ceil(at / 2) * 4.5) / (at > 8 ? 3 : 1)
  }
  return html`<svg class="cords" viewBox="0 0 100 ${height}" height=${height} preserveAspectRatio="none" aria-hidden="true">${drawn.map(
    cord => {
      const y1 = (from.get(cord.from) ?? 0) + place(cord.from)
      const y2 = (to.get(cord.to) ?? 0) + place(cord.to)
      const lit = followed !== undefined && way.has(cord.from) && way.has(cord.to)
      return svg`<path class="${cord.look} ${lit ? 'lit' : ''}" d="M0 ${y1}C46 ${y1 + 5} 54 ${y2 + 5} 100 ${y2}"></path>`
    },
  )}</svg>`
}

function inspected({ bay, followed, jack }: StripsView): BayNode | undefined {
  const node = bay.nodes.get(followed ?? '') ?? bay.nodes.get(jack ?? '')
  return node
}

function inspector(view: StripsView): unknown {
  const node = inspected(view)
  if (!node) return nothing
  const { bay, jack } = view
  const servers = node.kind === 'group' ? jacksOf(bay, node) : []
  const faults = servers.filter(({ tone }) => tone === 'bad' || tone === 'warn')
  const busiest = servers
    .filter(({ rate }) => rate > 0)
    .slice()
    .sort((a, b) => b.rate - a.rate)
    .slice(0, 5)
  const chosen = bay.nodes.get(jack ?? '')
  return html`<section class="card insp" aria-label=${node.name}><div class="ch line"><h2>${node.name}</h2><div class="r">${
    node.path === undefined ? nothing : html`<a class="btn sm" href=${href(node.path)}>${t('Open')}</a>`
  }</div></div><div class="cb stack padt"><p class="s q mt0">${node.note}</p>${
    faults.length === 0
      ? nothing
      : html`<div><h3 class="sech">${t('Not working')} <span class="f xs">${t('{n} of {all}', { n: faults.length, all: servers.length })}</span></h3>
        <ul class="il">${faults.map(server => row(view, server, server.note))}</ul></div>`
  }${
    busiest.length === 0
      ? nothing
      : html`<div><h3 class="sech">${t('Busiest')}</h3><ul class="il">${busiest.map(server => row(view, server, rateText(server.rate)))}</ul></div>`
  }${chosen ? chosenJack(bay, chosen) : nothing}</div></section>`
}

function row(view: StripsView, server: BayNode, note: string): TemplateResult {
  return html`<li><button type="button" class="linkish" aria-pressed=${server.id === view.jack ? 'true' : 'false'} @click=${() => view.chooseJack(server.id)}>${mark(server.tone, server.icon, server.name)}</button><span class="q xs cut" title=${note}>${note}</span></li>`
}

function chosenJack(bay: Bay, server: BayNode): TemplateResult {
  const groups = bay.groups.filter(({ servers }) => servers?.includes(server.id)).map(({ name }) => name)
  return html`<div><h3 class="sech">${t('Selected jack')}</h3><p class="s mt0"><b class="med">${server.name}</b> <span class="q">${
    groups.length === 0 ? t('is in no group') : t('is in {groups}', { groups: groups.join(', ') })
  }</span></p><div class="row mt"><a class="btn sm" href=${href(server.path ?? '/servers')}>${t('Open {name}', { name: server.name })}</a></div></div>`
}

/** The patch bay on a phone: each group with its jacks and, in words, its faults. */
export function phoneView(bay: Bay): TemplateResult {
  return html`<ul class="list phone">${bay.groups.map(node => {
    const servers = jacksOf(bay, node)
    const faults = servers.filter(({ tone }) => tone === 'bad' || tone === 'warn')
    return html`<li><div class="tx"><span class="t1">${
      node.path === undefined ? node.name : html`<a href=${href(node.path)}>${node.name}</a>`
    }<span class="push q tn">${node.note}</span></span><div class="row wrap">${jackField(servers)}</div>${faults
      .slice(0, 5)
      .map(
        server =>
          html`<span class="row s bayfault">${mark(server.tone, server.icon, server.name)}<span class="q cut" title=${server.note}>${server.note}</span></span>`,
      )}${faults.length > 5 ? html`<span class="s q">${plural(faults.length - 5, 'and {n} more', 'and {n} more')}</span>` : nothing}</div></li>`
  })}</ul>`
}
