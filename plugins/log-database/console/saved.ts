import { html, nothing } from 'lit'
import { dialog, hide, href, icon, PbElement, router, session, t, toast } from 'patchbay/console'

interface SavedView {
  readonly name: string
  /** The query of the address. */
  readonly query: string
}

const MOST_VIEWS = 50
/** Parameters of the address that belong to a moment and not to a view. */
const MOMENTARY = ['record', 'around', 'from', 'to']

/**
 * Views of the log that this browser keeps for the user.
 *
 * @fires pb-close
 */
export class PbLogSaved extends PbElement {
  static override properties = { open: { type: Boolean }, views: { state: true }, problem: { state: true } }
  declare open: boolean
  declare views: readonly SavedView[]
  declare problem: string | undefined

  constructor() {
    super()
    this.views = read()
  }

  override render(): unknown {
    return dialog({
      open: this.open,
      title: t('Saved views'),
      body: this.open ? this.#body() : nothing,
      onClose: () => this.dispatchEvent(new CustomEvent('pb-close')),
    })
  }

  #body(): unknown {
    return html`<div class="stack l">${
      this.views.length === 0
        ? html`<p class="q">${t('None yet. A view keeps query, filters, levels, range and columns in this browser.')}</p>`
        : html`<ul class="list plain">${this.views.map(view => this.#view(view))}</ul>`
    }<form class="field" @submit=${this.#save}><label for="log-view-name">${t('Name of the present view')}</label>
      <div class="row"><input id="log-view-name" name="name" class="in ${this.problem ? 'err' : ''}" maxlength="64" autocomplete="off" aria-describedby=${this.problem ? 'log-view-problem' : nothing}
        aria-invalid=${this.problem ? 'true' : nothing}><button type="submit" class="btn pri">${t('Save view')}</button></div>
      ${this.problem === undefined ? nothing : html`<p class="hint bad" id="log-view-problem">${icon('circle-alert')}${this.problem}</p>`}</form></div>`
  }

  #view({ name, query }: SavedView): unknown {
    return html`<li><div class="tx"><a class="t1" href=${`${href('/logs')}?${query}`} @click=${hide}>${name}</a><p class="t2 mono">${decodeURIComponent(query.replaceAll('+', ' ')).replaceAll('&', ' · ') || t('everything')}</p></div>
      <button type="button" class="btn ghost sm ico" aria-label=${t('Delete view {name}', { name })} @click=${() => this.#delete(name)}>${icon('trash-2')}</button></li>`
  }

  readonly #save = (event: SubmitEvent): void => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const name = String(new FormData(form).get('name') ?? '').trim()
    if (name === '') this.problem = t('Give the view a name.')
    else if (this.views.length >= MOST_VIEWS) this.problem = t('There are 50 views. Delete one first.')
    else {
      const query = new URLSearchParams(router.place.query)
      for (const one of MOMENTARY) query.delete(one)
      this.problem = undefined
      this.#keep([...this.views.filter(view => view.name !== name), { name, query: query.toString() }])
      form.reset()
      toast(t('View {name} saved', { name }))
    }
  }

  #delete(name: string): void {
    const before = this.views
    this.#keep(before.filter(view => view.name !== name))
    toast(t('View {name} deleted', { name }), () => this.#keep(before))
  }

  #keep(views: readonly SavedView[]): void {
    this.views = views.toSorted((left, right) => left.name.localeCompare(right.name))
    localStorage.setItem(storageKey(), JSON.stringify(this.views))
  }
}
customElements.define('pb-log-saved', PbLogSaved)

function storageKey(): string {
  return `patchbay.log-views.${session.user?.id ?? ''}`
}

function read(): readonly SavedView[] {
  try {
    const views = JSON.parse(localStorage.getItem(storageKey()) ?? '[]') as readonly Partial<SavedView>[]
    return views.filter((view): view is SavedView => typeof view.name === 'string' && typeof view.query === 'string')
  } catch {
    return []
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-log-saved': PbLogSaved
  }
}
