import { html, nothing } from 'lit'
import { api, segment } from '../../api/client.ts'
import type { Dashboard, Widget, WidgetAnswer } from '../../api/monitoring.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { live } from '../../app/live.ts'
import { router } from '../../app/router.ts'
import { PbElement } from '../../components/element.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { errorState, errorText } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { fieldText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'
import { answerCard } from './widget.ts'

type Preview = WidgetAnswer | ApiError

/**
 * Form of an own dashboard: its name and widgets, each with its query and a preview of its data.
 *
 * @fires pb-saved - `detail: Dashboard`
 *
 * @fires pb-cancel
 */
export class PbBoardEditor extends PbElement {
  static override properties = {
    board: { attribute: false },
    range: {},
    name: { state: true },
    widgets: { state: true },
    previews: { state: true },
    error: { state: true },
    saving: { state: true },
  }
  declare board: Dashboard | undefined
  declare range: string
  declare name: string | undefined
  declare widgets: readonly Widget[] | undefined
  declare previews: ReadonlyMap<number, Preview>
  declare error: ApiError | undefined
  declare saving: boolean
  #unguard: (() => void) | undefined

  constructor() {
    super()
    this.previews = new Map()
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#unguard?.()
  }

  get #widgets(): readonly Widget[] {
    return this.widgets ?? this.board?.widgets ?? [{ type: 'metric', title: t('Calls'), query: 'request_count' }]
  }

  #changed(): void {
    this.#unguard ??= router.guard(() =>
      confirmed({
        title: t('Leave without saving?'),
        text: t('The changes of this dashboard are lost.'),
        action: t('Leave'),
        danger: false,
      }),
    )
  }

  override render(): unknown {
    const { error } = this
    const name = this.name ?? this.board?.name ?? ''
    const wrong = error?.field('/name') ?? error?.field('#/name')
    return html`<form class="stack" @submit=${this.#save}>${error ? errorState(error) : nothing}<section class="card"><div class="cb padt stack"><div class="field"><label for="board-name">${t('Name')}</label>
      <input id="board-name" class="in ${wrong ? 'bad' : ''}" required maxlength="64" .value=${name} @input=${(
        event: InputEvent,
      ) => {
        this.name = (event.target as HTMLInputElement).value
        this.#changed()
      }}>${wrong ? html`<p class="hint bad">${fieldText(wrong)}</p>` : nothing}</div></div></section>
      ${this.#widgets.map((widget, at) => this.#widget(widget, at))}
      <div class="row wrap"><button type="button" class="btn" @click=${() => this.#put([...this.#widgets, { type: 'chart', title: '', query: '' }])}>${icon('plus')}${t('Add widget')}</button>
      <button type="button" class="btn push" @click=${this.#cancel}>${t('Cancel')}</button><button type="submit" class="btn pri" ?disabled=${this.saving || !live.reachable}>${this.saving ? t('Saving') : t('Save dashboard')}</button></div></form>`
  }

  #widget(widget: Widget, at: number): unknown {
    const set = (changes: Partial<Widget>): void =>
      this.#put(this.#widgets.map((each, index) => (index === at ? { ...each, ...changes } : each)))
    const text = (event: InputEvent): string => (event.target as HTMLInputElement).value
    const wrong = this.error?.fields.find(({ pointer }) => pointer.includes(`/widgets/${at}/`))
    const preview = this.previews.get(at)
    const faulty = preview instanceof Error ? preview.fields[0] : wrong
    const mistake = faulty ? fieldText(faulty) : preview instanceof Error ? errorText(preview) : undefined
    return html`<fieldset class="card wform"><legend class="vh">${t('Widget {n}', { n: at + 1 })}</legend><div class="cb padt stack"><div class="form3"><div class="field"><label for="wt${at}">${t('Title')} <span class="o">${t('optional')}</span></label>
      <input id="wt${at}" class="in" maxlength="128" .value=${widget.title ?? ''} @input=${(event: InputEvent) => set({ title: text(event) })}></div>
      <div class="field"><label for="wk${at}">${t('Shown as')}</label><select id="wk${at}" class="in" @change=${(event: InputEvent) => set({ type: text(event) as Widget['type'] })}>${(
        [
          ['metric', t('A number')],
          ['chart', t('Lines over time')],
          ['table', t('Rows')],
        ] as const
      ).map(([id, word]) => html`<option value=${id} ?selected=${id === widget.type}>${word}</option>`)}</select></div>
      <div class="field"><label for="wq${at}">${t('Query')}</label><input id="wq${at}" class="in code ${mistake ? 'bad' : ''}" spellcheck="false" autocomplete="off" placeholder="request_count by server over 24h" .value=${widget.query}
        aria-describedby="wh${at}" aria-invalid=${mistake ? 'true' : 'false'} @input=${(event: InputEvent) => set({ query: text(event) })} @change=${() => this.#ask(at)}>
        <p class="hint ${mistake ? 'bad' : ''}" id="wh${at}">${mistake ?? t('source [{server="…"}] [by server] [over 1h] [step 1m] [limit 10]')}</p>${mistake ? this.#pointer(widget.query, mistake) : nothing}</div></div>
      ${preview && !(preview instanceof Error) ? answerCard(widget.title || widget.query, widget.type, preview, widget.query) : nothing}
      <div class="row"><button type="button" class="btn sm" @click=${() => this.#ask(at)}>${icon('play')}${t('Preview')}</button>
      <button type="button" class="btn ghost sm push" @click=${() => this.#put(this.#widgets.filter((_, index) => index !== at))}>${icon('trash-2')}${t('Remove widget')}</button></div></div></fieldset>`
  }

  /** The query with the column of its mistake marked. */
  #pointer(query: string, mistake: string): unknown {
    const column = Number(/Column (\d+)/.exec(mistake)?.[1])
    if (!Number.isFinite(column) || query === '') return nothing
    const at = Math.min(column - 1, query.length)
    return html`<code class="qmark" aria-hidden="true">${query.slice(0, at)}<mark>${query.slice(at, at + 1) || ' '}</mark>${query.slice(at + 1)}</code>`
  }

  #put(widgets: readonly Widget[]): void {
    this.widgets = widgets
    this.previews = new Map()
    this.#changed()
  }

  async #ask(at: number): Promise<void> {
    const widget = this.#widgets[at]
    if (!widget || widget.query.trim() === '') return
    const body = { type: widget.type, query: widget.query, range: this.range }
    const answer = await api.post<WidgetAnswer>('/api/monitoring/query', { body }).catch(asApiError)
    this.previews = new Map(this.previews).set(at, answer)
  }

  readonly #cancel = (): void => {
    this.#unguard?.()
    this.#unguard = undefined
    this.dispatchEvent(new CustomEvent('pb-cancel'))
  }

  readonly #save = async (event: Event): Promise<void> => {
    event.preventDefault()
    this.saving = true
    const widgets = this.#widgets.map(({ type, title, query }) => ({ type, query, ...(title ? { title } : {}) }))
    const body = { name: this.name ?? this.board?.name ?? '', widgets }
    try {
      const path = '/api/monitoring/dashboards'
      const saved = this.board
        ? await api.put<Dashboard>(`${path}/${segment(this.board.ref)}`, { body, revision: this.board.revision })
        : await api.post<Dashboard>(path, { body })
      this.#unguard?.()
      this.#unguard = undefined
      this.dispatchEvent(new CustomEvent('pb-saved', { detail: saved, bubbles: true }))
    } catch (error) {
      this.error = asApiError(error)
    }
    this.saving = false
  }
}
customElements.define('pb-board-editor', PbBoardEditor)

declare global {
  interface HTMLElementTagNameMap {
    'pb-board-editor': PbBoardEditor
  }
}
