import { html, nothing } from 'lit'
import { emptyState, PbElement, plural, Resource, rich, t } from 'patchbay/console'
import { searchLogs } from './api.ts'
import { type Part, queryOf } from './view.ts'
import { partLabel } from './words.ts'

/** Number of parts that are each left out once; more would be too many searches. */
const MOST_PARTS = 8

/**
 * Shows which part of the query excludes all records.
 *
 * @fires pb-without - `detail: Part`, a part to be removed
 *
 * @fires pb-widen
 */
export class PbLogEmpty extends PbElement {
  static override properties = { parts: { attribute: false }, mine: { type: Boolean }, canWiden: { attribute: false } }
  declare parts: readonly Part[]
  declare mine: boolean
  /** True when there is a longer range. */
  declare canWiden: boolean
  readonly #without = new Resource<
    readonly { readonly part: Part; readonly total: number; readonly isExact: boolean }[]
  >(this, {
    key: () => this.parts.map(part => [part.kind, part.text]),
    read: async signal => {
      const counts = []
      // The page hands over new ones with each rendering.
      const { parts } = this
      for (const part of parts.slice(0, MOST_PARTS)) {
        const rest = queryOf(parts.filter(one => one !== part))
        const { total, totalIsExact } = await searchLogs(rest, {
          limit: 1,
          signal,
          scope: this.mine ? 'mine' : undefined,
        })
        counts.push({ part, total, isExact: totalIsExact })
      }
      return counts
    },
  })

  override render(): unknown {
    const isFiltered = this.parts.some(({ kind }) => kind !== 'time')
    const culprits = this.#without.data?.filter(({ total }) => total > 0) ?? []
    return html`${emptyState({
      icon: 'search',
      title: isFiltered ? t('No records match') : t('No records in this time'),
      ...(isFiltered && this.#without.data && culprits.length === 0
        ? { text: t('No single filter is the reason. Take several away, or choose a longer time.') }
        : {}),
      action: html`<div class="row wrap">${
        this.canWiden
          ? html`<button type="button" class="btn" @click=${() => this.#emit('pb-widen')}>${t('Choose a longer time')}</button>`
          : nothing
      }</div>`,
    })}${
      culprits.length === 0
        ? nothing
        : html`<ul class="list lwithout">${culprits.map(
            ({ part, total }) =>
              html`<li><div class="tx"><p>${rich('Without {part} there are {count}.', { part: html`<b class="mono">${partLabel(part)}</b>`, count: plural(total, '{n} record', '{n} records') })}</p></div>
              <button type="button" class="btn sm" @click=${() => this.#emit('pb-without', part)}>${t('Take it away')}</button></li>`,
          )}</ul>`
    }`
  }

  #emit(name: string, detail?: Part): void {
    this.dispatchEvent(new CustomEvent(name, { detail }))
  }
}
customElements.define('pb-log-empty', PbLogEmpty)

declare global {
  interface HTMLElementTagNameMap {
    'pb-log-empty': PbLogEmpty
  }
}
