import { html } from 'lit'
import { api, segment } from '../../api/client.ts'
import { Resource } from '../../app/resource.ts'
import { PbElement } from '../../components/element.ts'
import { show } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { type Preview, previewCard, wholePreview } from './preview.ts'

/** The tools that another user gets of a group, or would get by a share. Emits `pb-close`. */
export class PbViewAs extends PbElement {
  static override properties = { group: { attribute: false }, person: { attribute: false } }
  /** Reference of the group. */
  declare group: string
  /** Name of the user. */
  declare person: string
  readonly #preview = new Resource<Preview>(this, {
    key: () => [this.group, this.person],
    read: signal =>
      wholePreview(query =>
        api.get(`/api/groups/${segment(this.group)}/tools`, { query: { ...query, as: this.person }, signal }),
      ),
    topics: ['servers', 'shares'],
    pauseMs: 1000,
  })

  override render(): unknown {
    const { person } = this
    return html`<div class="stack"><div class="callout acc">${icon('eye')}<p class="grow">${t('As {name} sees this group.', { name: person })}</p><button type="button" class="btn sm" @click=${() => this.dispatchEvent(new CustomEvent('pb-close'))}>${t('Back to your view')}</button></div>
      ${show(this.#preview, preview => previewCard(preview, undefined, 0, t('A client of {name} will see', { name: person })))}</div>`
  }
}
customElements.define('pb-view-as', PbViewAs)

declare global {
  interface HTMLElementTagNameMap {
    'pb-view-as': PbViewAs
  }
}
