import { html, nothing } from 'lit'
import {
  allTags,
  api,
  drawer,
  hide,
  icon,
  type Page,
  PbElement,
  Resource,
  refOf,
  type ServerRecord,
  t,
} from 'patchbay/console'
import { LEVELS, type Level } from './levels.ts'
import { seenThings } from './tags.ts'
import { COLUMNS, type ColumnName, columnsText, FILTERS, type Filter, type LogView, OUTCOMES } from './view.ts'
import { columnLabel, levelMark, outcomeLabel } from './words.ts'

/** Servers that are proposed at a time; typing narrows them. */
const MOST_PROPOSALS = 50

/** No value for each of the filters. */
const NO_FILTERS = Object.fromEntries(FILTERS.map(name => [name, undefined]))
/** The fields with proposals, and their lists. */
const LISTS: Readonly<Partial<Record<Filter, string>>> = { server: 'log-servers', tag: 'log-tags' }

/** Changes of the address. */
export type ViewChanges = Readonly<Record<string, string | undefined>>

/** The levels for the address; undefined: all. */
export function levelsText(levels: readonly Level[]): string | undefined {
  return levels.length === LEVELS.length || levels.length === 0 ? undefined : levels.join(',')
}

/** Label of a filter. */
export function filterLabel(name: Filter): string {
  const labels: Readonly<Record<Filter, string>> = {
    server: t('Server'),
    tag: t('Tag of servers or groups'),
    tool: t('Tool'),
    outcome: t('Outcome'),
    user: t('User'),
    requestId: t('Request id'),
  }
  return labels[name]
}

/**
 * A drawer with the filters, levels and columns of the log.
 *
 * @fires pb-view - `detail: ViewChanges`
 * @fires pb-close
 */
export class PbLogFilters extends PbElement {
  static override properties = { open: { type: Boolean }, view: { attribute: false }, server: { state: true } }
  declare open: boolean
  declare view: LogView
  /** The server as it is typed. */
  declare server: string | undefined
  readonly #servers = new Resource<Page<ServerRecord>>(this, {
    key: () => (this.open ? { q: this.server } : undefined),
    keep: true,
    read: signal =>
      api.get('/api/servers', { query: { scope: 'visible', limit: MOST_PROPOSALS, q: this.server }, signal }),
  })

  readonly #tags = new Resource<readonly string[]>(this, {
    key: () => (this.open ? true : undefined),
    keep: true,
    read: async signal => allTags(await seenThings(undefined, signal)),
  })

  override render(): unknown {
    return drawer({
      open: this.open,
      title: t('Filters and columns'),
      body: this.open ? this.#body() : nothing,
      foot: html`<button type="button" class="btn" @click=${() => this.#change({ ...NO_FILTERS, levels: undefined, level: undefined })}>${t('Clear filters')}</button>
        <button type="button" class="btn pri push" @click=${hide}>${t('Show records')}</button>`,
      onClose: () => this.dispatchEvent(new CustomEvent('pb-close')),
    })
  }

  #body(): unknown {
    const { levels, columns, wrap } = this.view
    return html`<div class="stack l">
      <fieldset class="field"><legend class="lbl">${t('Levels')}</legend><div class="row wrap chk3">${LEVELS.map(
        level =>
          html`<label class="chk"><input type="checkbox" .checked=${levels.includes(level)} @change=${() => this.#level(level)}>${levelMark(level)}</label>`,
      )}</div></fieldset>
      ${FILTERS.map(name => (name === 'outcome' ? this.#outcome() : this.#filter(name)))}
      <datalist id="log-servers">${this.#servers.data?.items.map(server => html`<option value=${refOf(server)}></option>`)}</datalist>
      <datalist id="log-tags">${this.#tags.data?.map(tag => html`<option value=${tag}></option>`)}</datalist>
      <fieldset class="field"><legend class="lbl">${t('Columns')}</legend><div class="row wrap chk3">${COLUMNS.map(
        name =>
          html`<label class="chk"><input type="checkbox" .checked=${columns.includes(name)} @change=${() => this.#column(name)}><span>${columnLabel(name)}</span></label>`,
      )}</div></fieldset>
      <label class="chk"><input type="checkbox" .checked=${wrap} @change=${() => this.#change({ wrap: wrap ? undefined : '1' })}><span>${t('Wrap long messages')}</span></label>
    </div>`
  }

  #outcome(): unknown {
    const chosen = this.view.filters.outcome ?? ''
    return html`<div class="field"><label for="log-outcome">${filterLabel('outcome')}</label><select id="log-outcome" class="in" @change=${(
      event: Event,
    ) => this.#change({ outcome: (event.target as HTMLSelectElement).value || undefined })}>
      <option value="" ?selected=${chosen === ''}>${t('Any outcome')}</option>${OUTCOMES.map(
        outcome => html`<option value=${outcome} ?selected=${chosen === outcome}>${outcomeLabel(outcome)}</option>`,
      )}</select></div>`
  }

  #filter(name: Filter): unknown {
    const id = `log-${name}`
    return html`<div class="field"><label for=${id}>${filterLabel(name)}</label><div class="row"><input id=${id} class="in code" autocomplete="off" spellcheck="false" maxlength="256"
      list=${LISTS[name] ?? nothing} .value=${this.view.filters[name] ?? ''} @input=${(event: Event) => {
        if (name === 'server') this.server = (event.target as HTMLInputElement).value.trim()
      }} @change=${(event: Event) =>
        this.#change({ [name]: (event.target as HTMLInputElement).value.trim() || undefined })}>${
        this.view.filters[name] === undefined
          ? nothing
          : html`<button type="button" class="btn ghost ico" aria-label=${t('Clear {name}', { name: filterLabel(name) })} @click=${() => this.#change({ [name]: undefined })}>${icon('x')}</button>`
      }</div></div>`
  }

  #level(level: Level): void {
    const { levels } = this.view
    const next = LEVELS.filter(one => levels.includes(one) !== (one === level))
    this.#change({ levels: levelsText(next), level: undefined })
  }

  #column(name: ColumnName): void {
    const { columns } = this.view
    this.#change({ columns: columnsText(COLUMNS.filter(one => columns.includes(one) !== (one === name))) })
  }

  #change(detail: ViewChanges): void {
    this.dispatchEvent(new CustomEvent('pb-view', { detail }))
  }
}
customElements.define('pb-log-filters', PbLogFilters)

declare global {
  interface HTMLElementTagNameMap {
    'pb-log-filters': PbLogFilters
  }
}
