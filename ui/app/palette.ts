import { html, nothing } from 'lit'
import { api, type Page, segment } from '../api/client.ts'
import { type GroupRecord, refOf, type ServerRecord } from '../api/types.ts'
import { PbElement } from '../components/element.ts'
import { dialog, hide } from '../components/layers/layer.ts'
import { icon } from '../text/icon.ts'
import { t } from '../text/t.ts'
import type { Keys } from './keys.ts'
import { placesNow } from './places.ts'
import { preferences } from './preferences.ts'
import { router } from './router.ts'
import { session } from './session.ts'

interface Option {
  readonly group: string
  readonly icon: string
  readonly label: string
  readonly note?: string
  readonly run: () => void
}

/** Options of one kind that are shown. */
const MOST = 6

/** The palette over pages, servers, groups and deeds (Ctrl K), and the list of keys (?). */
export class PbPalette extends PbElement {
  static override properties = {
    keys: { attribute: false },
    text: { state: true },
    at: { state: true },
    found: { state: true },
  }
  declare keys: Keys
  declare text: string
  /** Index of the option that Enter takes. */
  declare at: number
  declare found: readonly Option[]
  #search: ReturnType<typeof setTimeout> | undefined
  #abort = new AbortController()

  constructor() {
    super()
    this.text = ''
    this.at = 0
    this.found = []
  }

  override firstUpdated(): void {
    this.keys.useLayer(this)
  }

  override render(): unknown {
    const { open } = this.keys
    return html`${dialog({ open: open === 'help', title: t('Keys'), body: helpTable(), onClose: () => this.keys.close() })}
      <wa-dialog class="pb-palette" without-header label=${t('Go to or do')} ?open=${open === 'palette'} @wa-after-show=${this.#shown}
        @wa-after-hide=${this.#closed}>${open === 'palette' ? this.#palette() : nothing}</wa-dialog>`
  }

  #palette(): unknown {
    const options = this.#options()
    let group = ''
    return html`<div class="pin">${icon('search')}<input role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list"
        aria-activedescendant=${options.length > 0 ? `palette-${this.at}` : nothing} aria-label=${t('Go to or do')} placeholder=${t('Page, server, group, tool or deed')}
        autocomplete="off" spellcheck="false" .value=${this.text} @input=${this.#typed} @keydown=${(event: KeyboardEvent) => this.#pressed(event, options)}></div>
      <div id="palette-list" role="listbox" aria-label=${t('Results')}>${options.map((option, at) => {
        const head = option.group === group ? nothing : html`<div class="grp" role="presentation">${option.group}</div>`
        group = option.group
        return html`${head}<div id="palette-${at}" class="opt" role="option" aria-selected=${at === this.at ? 'true' : 'false'}
          @click=${(event: Event) => this.#take(event, option)}>${icon(option.icon)}<span>${option.label}</span>${option.note ? html`<span class="d">${option.note}</span>` : nothing}</div>`
      })}${options.length === 0 ? html`<p class="grp">${t('Nothing matches')}</p>` : nothing}</div>
      <div class="pf"><span><kbd>↑</kbd> <kbd>↓</kbd> ${t('choose')}</span><span><kbd>Enter</kbd> ${t('go')}</span><span><kbd>Esc</kbd> ${t('close')}</span></div>`
  }

  #options(): readonly Option[] {
    const words = this.text.trim().toLowerCase().split(/\s+/)
    const matches = ({ label }: { label: string }): boolean => words.every(word => label.toLowerCase().includes(word))
    const pages: Option[] = placesNow()
      .filter(place => (!place.adminOnly || session.isAdmin) && !place.paths[0]?.includes(':'))
      .map(place => ({
        group: t('Pages'),
        icon: place.icon,
        label: place.title(),
        run: () => void router.go(place.paths[0] ?? '/'),
      }))
    const own = [...pages.filter(matches).slice(0, this.text === '' ? 20 : MOST), ...deeds().filter(matches)]
    return this.text === '' ? own : [...this.found, ...own]
  }

  readonly #shown = (): void => this.querySelector<HTMLInputElement>('.pin input')?.focus()

  readonly #closed = (event: Event): void => {
    if (event.target !== event.currentTarget) return
    this.text = ''
    this.found = []
    this.at = 0
    this.keys.close()
  }

  readonly #typed = (event: InputEvent): void => {
    this.text = (event.target as HTMLInputElement).value
    this.at = 0
    clearTimeout(this.#search)
    this.#search = setTimeout(() => void this.#find(), 120)
  }

  async #find(): Promise<void> {
    const q = this.text.trim()
    this.#abort.abort()
    if (q === '') return
    this.#abort = new AbortController()
    const options = { query: { q, limit: MOST, scope: 'visible' }, signal: this.#abort.signal }
    const [servers, groups] = await Promise.allSettled([
      api.get<Page<ServerRecord>>('/api/servers', options),
      api.get<Page<GroupRecord>>('/api/groups', options),
    ])
    if (this.text.trim() !== q) return
    const notMine = (owner: string): { note?: string } => (owner === session.user?.name ? {} : { note: owner })
    const found: Option[] = []
    if (servers.status === 'fulfilled') {
      for (const one of servers.value.items)
        found.push({
          group: t('Servers'),
          icon: 'server',
          label: one.name,
          ...notMine(one.owner),
          run: () => void router.go(`/servers/${segment(refOf(one))}`),
        })
    }
    if (groups.status === 'fulfilled') {
      for (const one of groups.value.items)
        found.push({
          group: t('Groups'),
          icon: 'cable',
          label: one.name,
          ...notMine(one.owner),
          run: () => void router.go(`/groups/${segment(refOf(one))}`),
        })
    }
    this.found = found
  }

  #pressed(event: KeyboardEvent, options: readonly Option[]): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && options.length > 0) {
      event.preventDefault()
      this.at = (this.at + step + options.length) % options.length
      void this.updateComplete.then(() =>
        this.querySelector(`#palette-${this.at}`)?.scrollIntoView({ block: 'nearest' }),
      )
    } else if (event.key === 'Enter') {
      const option = options[this.at]
      if (option) this.#take(event, option)
    }
  }

  #take(event: Event, option: Option): void {
    hide(event)
    option.run()
  }
}
customElements.define('pb-palette', PbPalette)

function deeds(): readonly Option[] {
  const group = t('Do')
  return [
    { group, icon: 'plus', label: t('Add server'), run: () => void router.go('/servers/new') },
    { group, icon: 'plus', label: t('New group'), run: () => void router.go('/groups/new') },
    { group, icon: 'key', label: t('New API key'), run: () => void router.go('/keys?new=1') },
    {
      group,
      icon: 'sun-moon',
      label: t('Switch between light and dark'),
      run: () => {
        preferences.theme = preferences.dark ? 'light' : 'dark'
      },
    },
    { group, icon: 'log-out', label: t('Sign out'), run: () => void session.signOut() },
  ]
}

function helpTable(): unknown {
  const rows: readonly (readonly [readonly string[], string])[] = [
    [['Ctrl', 'K'], t('Go to or do')],
    [['/'], t('Search on the page')],
    ...placesNow()
      .filter(({ key }) => key !== undefined)
      .map(place => [['g', place.key ?? ''], place.title()] as const),
    [['n'], t('Add, on lists')],
    [['x'], t('Start or stop the chosen server')],
    [['?'], t('These keys')],
    [['Esc'], t('Close the top layer')],
  ]
  return html`<table><tbody>${rows.map(
    ([keys, what]) => html`<tr><td>${keys.map(key => html`<kbd>${key}</kbd> `)}</td><td>${what}</td></tr>`,
  )}</tbody></table><label class="chk"><input type="checkbox" .checked=${preferences.letterKeys} @change=${(
    event: Event,
  ) => {
    preferences.letterKeys = (event.target as HTMLInputElement).checked
  }}><span>${t('Keys of a single letter')}</span></label>`
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-palette': PbPalette
  }
}
