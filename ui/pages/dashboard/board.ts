import { html, nothing } from 'lit'
import { api, segment } from '../../api/client.ts'
import type { Dashboard, DashboardData, WidgetAnswer } from '../../api/monitoring.ts'
import { asApiError } from '../../api/problem.ts'
import { Resource } from '../../app/resource.ts'
import { router } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import { PbElement } from '../../components/element.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { toast } from '../../components/layers/toast.ts'
import { emptyState, errorText, show } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { widgetCard } from './widget.ts'
import './board-editor.ts'

const EVERY_MS = 15_000

/**
 * A dashboard of widgets, built in or own; own ones can be changed here. `ref` is `new` for one that is being made.
 *
 * @fires pb-saved - the list of dashboards has changed
 */
export class PbBoard extends PbElement {
  static override properties = { ref: {}, known: { attribute: false }, range: {}, scope: {}, editing: { state: true } }
  declare ref: string
  declare known: readonly Dashboard[]
  declare range: string
  declare scope: string
  declare editing: boolean
  readonly #data = new Resource<DashboardData>(this, {
    read: signal =>
      api.get(`/api/monitoring/dashboards/${segment(this.ref)}/data`, {
        query: { range: this.range, scope: this.#scopeQuery },
        signal,
      }),
    key: () => (this.ref === 'new' ? undefined : [this.ref, this.range, this.scope]),
    everyMs: EVERY_MS,
  })

  get #scopeQuery(): string | undefined {
    return this.scope === 'visible' ? undefined : this.scope
  }

  override render(): unknown {
    const board = this.known.find(({ ref }) => ref === this.ref)
    if (this.ref === 'new' || this.editing) return this.#editor(board)
    const own =
      board && !board.builtIn && board.origin !== 'file' && (board.owner === session.user?.name || session.isAdmin)
    return html`${
      own
        ? html`<div class="row wrap"><button type="button" class="btn" @click=${() => {
            this.editing = true
          }}>${icon('pencil')}${t('Change widgets')}</button><button type="button" class="btn danger" @click=${() => this.#remove(board)}>${icon('trash-2')}${t('Delete dashboard')}</button></div>`
        : nothing
    }${show(this.#data, data => this.#widgets(data, board?.builtIn === true))}`
  }

  #widgets({ widgets }: DashboardData, isBuiltIn: boolean): unknown {
    if (widgets.length === 0) return emptyState({ icon: 'chart-line', title: t('This dashboard has no widgets') })
    const one = (index: number) => (): void => void this.#retry(index)
    const shown = widgets.map((widget, at) => ({ widget, card: widgetCard(widget, isBuiltIn, one(at)) }))
    const of = (type: string): unknown[] => shown.filter(({ widget }) => widget.type === type).map(({ card }) => card)
    return html`<div class="wmetrics">${of('metric')}</div><div class="grid2 even">${of('chart')}</div><div class="grid2 even">${of('table')}</div>`
  }

  /** Reads a single widget again. */
  async #retry(index: number): Promise<void> {
    const { data } = this.#data
    const widget = data?.widgets[index]
    if (!data || !widget) return
    const body = {
      type: widget.type,
      query: widget.query,
      range: this.range,
      ...(this.#scopeQuery ? { scope: this.#scopeQuery } : {}),
    }
    try {
      const answer = await api.post<WidgetAnswer>('/api/monitoring/query', { body })
      const { error, ...rest } = widget
      this.#data.set({
        ...data,
        widgets: data.widgets.map((each, at) => (at === index ? { ...rest, ...answer } : each)),
      })
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
  }

  #editor(board: Dashboard | undefined): unknown {
    return html`<pb-board-editor .board=${board} .range=${this.range} @pb-cancel=${() => {
      this.editing = false
      if (this.ref === 'new') router.setQuery({ tab: undefined })
    }} @pb-saved=${(event: CustomEvent<Dashboard>) => {
      this.editing = false
      if (this.ref === 'new') router.setQuery({ tab: event.detail.ref })
      else void this.#data.reload()
    }}></pb-board-editor>`
  }

  async #remove(board: Dashboard): Promise<void> {
    const sure = await confirmed({
      title: t('Delete dashboard {name}?', { name: board.name }),
      text: t('Its widgets are lost. The numbers stay.'),
      action: t('Delete dashboard'),
      typed: board.name,
    })
    if (!sure) return
    try {
      await api.delete(`/api/monitoring/dashboards/${segment(board.ref)}`)
      router.setQuery({ tab: 'overview' })
      this.dispatchEvent(new CustomEvent('pb-saved', { bubbles: true }))
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
  }
}
customElements.define('pb-board', PbBoard)

declare global {
  interface HTMLElementTagNameMap {
    'pb-board': PbBoard
  }
}
