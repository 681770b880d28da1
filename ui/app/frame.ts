import { html, nothing, type TemplateResult } from 'lit'
import { api } from '../api/client.ts'
import { brandMark } from '../components/brand.ts'
import { PbElement } from '../components/element.ts'
import { menu } from '../components/layers/menu.ts'
import type { Crumb } from '../components/page.ts'
import { segments } from '../components/page.ts'
import { formatSpan } from '../text/format.ts'
import { icon } from '../text/icon.ts'
import { LANGUAGES, type Language, t } from '../text/t.ts'
import { hubState } from './hub-state.ts'
import { Keys } from './keys.ts'
import { live } from './live.ts'
import type { PlaceDefinition, RailPart } from './part.ts'
import { placeCounts } from './place-counts.ts'
import { placeOf, placesNow } from './places.ts'
import { iconOf, pathOf, pluginPages, titleOf } from './plugin-pages.ts'
import { preferences, type Scope, type Theme } from './preferences.ts'
import { href, router } from './router.ts'
import { scopeOf } from './scope.ts'
import { session } from './session.ts'
import '../components/layers/confirm.ts'
import './outlet.ts'
import './palette.ts'
import './rules.ts'

const PARTS: readonly RailPart[] = ['work', 'watch', 'own', 'admin']
/** Tabs at the bottom of a phone; other places are behind "More". */
const PHONE_TABS: ReadonlySet<string> = new Set(['dashboard', 'servers', 'groups', 'logs'])

/** Parts around every page: rail, top bar, banner, and the layers that any page may use. */
export class PbFrame extends PbElement {
  static override properties = { crumbs: { state: true }, more: { state: true }, now: { state: true } }
  declare crumbs: readonly Crumb[]
  /** True when the phone's list of all places is open. */
  declare more: boolean
  declare now: number
  readonly #keys = new Keys(this)
  #timer: ReturnType<typeof setInterval> | undefined

  override connectedCallback(): void {
    super.connectedCallback()
    this.addEventListener('pb-crumbs', event => {
      this.crumbs = (event as CustomEvent<readonly Crumb[]>).detail
    })
    this.#timer = setInterval(() => {
      if (live.state.kind === 'retrying') this.now = Date.now()
    }, 1000)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    clearInterval(this.#timer)
  }

  override render(): unknown {
    const present = placeOf(router.place.path)?.place
    const marked = present?.within ?? present?.id
    return html`<a class="skip" href="#main" @click=${skip}>${t('Skip to the content')}</a>
      <div class="app ${preferences.narrowRail ? 'narrow' : ''}">${this.#rail(marked)}
        <div class="main">${this.#top()}${this.#banner()}<pb-outlet></pb-outlet></div>${this.#tabBar(marked)}</div>
      <pb-palette .keys=${this.#keys}></pb-palette><pb-confirm></pb-confirm>`
  }

  #places(part: RailPart): readonly PlaceDefinition[] {
    return placesNow()
      .filter(place => place.rail === part && (!place.adminOnly || session.isAdmin))
      .toSorted((left, right) => (left.order ?? 0) - (right.order ?? 0))
  }

  #rail(marked: string | undefined): TemplateResult {
    const { health } = hubState
    const degraded = health !== undefined && health.status !== 'ok'
    return html`<aside class="rail" aria-label=${t('Main navigation')}><a class="brand" href=${href('/')} aria-label="Patchbay">${brandMark()}<span class="wd">patchbay</span></a>
      ${PARTS.map(part => {
        const places = this.#places(part)
        return places.length === 0
          ? nothing
          : html`${part === 'admin' ? this.#plugins() : nothing}<nav class="nav" aria-label=${railLabel(part)}>${places.map(place => this.#link(place, marked))}</nav>`
      })}${session.isAdmin ? nothing : this.#plugins()}
      <div class="foot">${icon(degraded ? 'triangle-alert' : 'circle-check', { class: degraded ? 'st-warn' : '' })}<span class="wd">${
        health ? `${degraded ? t('Hub degraded') : t('Hub healthy')} · ${health.version}` : ''
      }</span><button type="button" class="btn ghost sm ico" aria-pressed=${preferences.narrowRail ? 'true' : 'false'}
        aria-label=${t('Narrow rail')} title=${t('Narrow rail')} @click=${() => {
          preferences.narrowRail = !preferences.narrowRail
        }}>${icon('panel-left-close')}</button></div></aside>`
  }

  /** Pages of plugins, between one's own places and administration. */
  #plugins(): unknown {
    const links = this.#pluginLinks()
    return links.length === 0 ? nothing : html`<nav class="nav" aria-label=${t('Plugins')}>${links}</nav>`
  }

  #pluginLinks(): readonly unknown[] {
    const { path } = router.place
    return (pluginPages.items ?? []).map(page => {
      const title = titleOf(page)
      return html`<a href=${href(pathOf(page))} aria-current=${path === pathOf(page) ? 'page' : nothing} title=${preferences.narrowRail ? title : nothing}>${icon(iconOf(page))}<span
        class="wd">${title}</span></a>`
    })
  }

  #link(place: PlaceDefinition, marked: string | undefined): TemplateResult {
    const { [place.id]: count } = hubState.counts
    const title = place.title()
    return html`<a href=${href(place.paths[0] ?? '/')} aria-current=${place.id === marked ? 'page' : nothing} title=${preferences.narrowRail ? title : nothing}>${icon(place.icon)}<span
      class="wd">${title}</span>${countMark(place.id, count)}${dueMark(placeCounts.of(place), place)}</a>`
  }

  #top(): TemplateResult {
    const crumbs = this.crumbs ?? []
    return html`<header class="top"><a class="brand phone" href=${href('/')} aria-label="Patchbay">${brandMark()}</a>
      <nav class="crumbs" aria-label=${t('You are here')}><ol>${crumbs.map(({ label, path }, at) =>
        path === undefined
          ? html`<li>${at > 0 ? html`<span aria-hidden="true">/ </span>` : nothing}<span aria-current="page">${label}</span></li>`
          : html`<li>${at > 0 ? html`<span aria-hidden="true">/ </span>` : nothing}<a href=${href(path)}>${label}</a></li>`,
      )}</ol></nav><span class="sp"></span>${this.#live()}${this.#scope()}
      <button type="button" class="find wide" @click=${this.#openPalette}>${icon('search', { class: 's14' })}${t('Go to or do')}<kbd>Ctrl K</kbd></button>
      <button type="button" class="btn ghost ico phone" aria-label=${t('Go to or do')} @click=${this.#openPalette}>${icon('search')}</button>
      ${this.#userMenu()}</header>`
  }

  #live(): TemplateResult {
    const { state } = live
    if (state.kind === 'live') return html`<span class="live wide">${icon('radio')}${t('Live')}</span>`
    if (state.kind === 'retrying') {
      const left = Math.max(0, state.atMs - Date.now())
      return html`<span class="live warn">${icon('wifi-off')}${t('retrying in {time}', { time: formatSpan(Math.max(left, 1000)) })}</span>`
    }
    return html`<span class="live wide">${icon('loader-circle')}${t('Connecting')}</span>`
  }

  #scope(): TemplateResult {
    const entries: { id: Scope; label: string }[] = [
      { id: 'mine', label: t('Mine') },
      { id: 'visible', label: t('Visible') },
    ]
    if (session.isAdmin) entries.push({ id: 'all', label: t('All') })
    return html`<div class="wide">${segments(t('Whose'), entries, scopeOf(router.place.query), scope =>
      router.setQuery({ scope: scope === 'visible' ? undefined : scope }),
    )}</div>`
  }

  #banner(): unknown {
    const { state } = live
    if (state.kind !== 'retrying') return nothing
    return html`<div class="banner" role="status">${icon('wifi-off')}<span>${t(
      'The hub does not answer. What you see is as of {time} ago; nothing can be changed until it is back.',
      { time: formatSpan(Math.max(1000, Date.now() - state.sinceMs)) },
    )}</span><button type="button" class="btn sm" @click=${() => live.retryNow()}>${t('Try now')}</button></div>`
  }

  #userMenu(): TemplateResult {
    const name = session.user?.name ?? ''
    const themes: readonly (readonly [Theme, string, string])[] = [
      ['system', t('As the system'), 'monitor'],
      ['light', t('Light'), 'sun'],
      ['dark', t('Dark'), 'moon'],
    ]
    const choices = [
      ...themes.map(([theme, label, image]) => ({
        label,
        icon: image,
        checked: preferences.theme === theme,
        action: () =>
          keep({ theme }, () => {
            preferences.theme = theme
          }),
      })),
      ...(Object.entries(LANGUAGES) as [Language, string][]).map(([code, label]) => ({
        label,
        icon: 'languages',
        checked: preferences.language === code,
        action: () => keep({ language: code }, () => void preferences.useLanguage(code)),
      })),
      { label: t('Keys'), icon: 'keyboard', action: () => this.#keys.showHelp() },
      { label: t('Settings'), icon: 'settings-2', action: () => void router.go('/settings') },
      { label: t('API reference'), icon: 'book-open', action: () => void router.go('/reference') },
      { label: t('Sign out'), icon: 'log-out', action: () => void session.signOut() },
    ]
    const label = t('{name}, user menu', { name })
    return menu(
      label,
      choices,
      html`<button type="button" slot="trigger" class="avatar" aria-label=${label}>${initial(name)}</button>`,
    )
  }

  #tabBar(marked: string | undefined): TemplateResult {
    const tabs = placesNow().filter(({ id }) => PHONE_TABS.has(id))
    const others = PARTS.flatMap(part => this.#places(part)).filter(({ id }) => !PHONE_TABS.has(id))
    const waiting = others.filter(place => placeCounts.of(place) > 0)
    const due = waiting.reduce((sum, place) => sum + placeCounts.of(place), 0)
    const words = waiting.map(place => place.count?.label(placeCounts.of(place))).join(', ')
    const close = (): void => {
      this.more = false
    }
    return html`${this.more ? html`<div class="shade phone" @click=${close}></div><nav class="sheet phone" aria-label=${t('More')} @click=${close}>${others.map(place => this.#link(place, marked))}${this.#pluginLinks()}</nav>` : nothing}
      <nav class="tabbar" aria-label=${t('Places')}>${tabs.map(
        place =>
          html`<a href=${href(place.paths[0] ?? '/')} aria-current=${place.id === marked ? 'page' : nothing}>${icon(place.icon)}${place.title()}</a>`,
      )}<button type="button" aria-expanded=${this.more ? 'true' : 'false'} @click=${() => {
        this.more = !this.more
      }}>${icon('ellipsis')}${t('More')}${due === 0 ? nothing : badge(due, words)}</button></nav>`
  }

  readonly #openPalette = (): void => this.#keys.openPalette()
}
customElements.define('pb-frame', PbFrame)

/** Applies a choice at once and stores it with the user; the choice stays even if the hub cannot store it. */
function keep(settings: Readonly<Record<string, string>>, apply: () => void): void {
  apply()
  void api.patch('/api/settings', { body: settings }).catch(() => {})
}

function countMark(id: string, count: number | undefined): unknown {
  if (id === 'alerts')
    return count
      ? html`<span class="n bad">${icon('bell-ring', { class: 's14', label: t('firing') })}${count}</span>`
      : nothing
  return count === undefined ? nothing : html`<span class="n">${count}</span>`
}

/** Things that wait for the user, at the link of their page. */
function dueMark(due: number, { count }: PlaceDefinition): unknown {
  return due === 0 || !count ? nothing : badge(due, count.label(due))
}

function badge(due: number, label: string): unknown {
  return html`<span class="n due" aria-hidden="true">${due > 99 ? '99+' : due}</span><span class="vh"> ${label}</span>`
}

function railLabel(part: RailPart): string {
  if (part === 'work') return t('Work')
  if (part === 'watch') return t('Watch')
  return part === 'own' ? t('Own things') : t('Administration')
}

/** One letter: more than one would be a word that has to be part of the button's name. */
function initial(name: string): string {
  return [...name.replace(/^[\s._-]+/, '')][0]?.toUpperCase() ?? ''
}

function skip(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('main')?.focus()
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-frame': PbFrame
  }
}
