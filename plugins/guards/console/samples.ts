import { html, nothing } from 'lit'
import { drawer, emptyState, PbElement, Resource, show, t } from 'patchbay/console'
import { type GuardPlace, type GuardSample, guardsApi } from './api.ts'
import { actionWord, onWord } from './names.ts'

/**
 * The last places at which a rule found something, without what was there.
 *
 * @fires pb-close
 */
export class PbGuardSamples extends PbElement {
  static override properties = { place: { attribute: false }, rule: {} }
  declare place: GuardPlace | undefined
  declare rule: string | undefined
  readonly #samples = new Resource<{ readonly items: readonly GuardSample[] }>(this, {
    key: () => (this.place && this.rule ? [this.place.kind, this.place.ref, this.rule] : undefined),
    read: signal => guardsApi.samples(this.place as GuardPlace, this.rule ?? '', signal),
    everyMs: 10_000,
  })

  override render(): unknown {
    const { rule, place } = this
    return drawer({
      open: rule !== undefined && place !== undefined,
      title: t('Found by {name}', { name: rule ?? '' }),
      body:
        rule === undefined ? nothing : show(this.#samples, ({ items }) => (items.length === 0 ? none() : list(items))),
      onClose: () => this.dispatchEvent(new CustomEvent('pb-close')),
    })
  }
}
customElements.define('pb-guard-samples', PbGuardSamples)

function list(items: readonly GuardSample[]): unknown {
  return html`<p class="q s">${t('What was there is not kept: only its kind, its place and its length.')}</p><ul class="list">${items.map(
    ({ at, on, server, tool, action, path, kind, length, host }) =>
      html`<li><div class="stack grow"><span class="row wrap"><code>${kind}</code><span class="tag line">${actionWord(action)}</span><span class="q s"><pb-time .at=${at}></pb-time></span></span>
        <span class="s">${onWord(on)} · <span class="nm">${server}</span>${tool === undefined ? nothing : html` <code>${tool}</code>`}</span>
        <span class="s mono">${path}${length > 0 ? html` <span class="q">${t('{n} characters', { n: length })}</span>` : nothing}${host === undefined ? nothing : html` ${host}`}</span></div></li>`,
  )}</ul>`
}

function none(): unknown {
  return emptyState({
    icon: 'search',
    title: t('Nothing found yet'),
    text: t('Samples are kept in memory, the last twenty of each rule.'),
  })
}
