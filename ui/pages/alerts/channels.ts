import { html, nothing, type TemplateResult } from 'lit'
import { alertsApi, type Channel, type Delivery } from '../../api/alerts.ts'
import { Resource } from '../../app/resource.ts'
import { href } from '../../app/router.ts'
import { PbElement } from '../../components/element.ts'
import { emptyState } from '../../components/states.ts'
import '../../components/time.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { deliveryMark, outcomeText, outcomeWords } from './words.ts'

const ICONS: Readonly<Record<string, string>> = { webhook: 'webhook', chat: 'hash', email: 'mail' }
/** Number of channels whose last delivery is requested. */
const MOST_ASKED = 30

/** The channels with what became of their last message. */
export class PbAlertsChannels extends PbElement {
  static override properties = { channels: { attribute: false } }
  declare channels: readonly Channel[]
  readonly #last = new Resource<ReadonlyMap<string, Delivery>>(this, {
    key: () => this.channels.map(({ ref }) => ref),
    topics: ['alerts'],
    everyMs: 10_000,
    read: async signal => {
      const shown = this.channels.slice(0, MOST_ASKED)
      const pages = await Promise.all(shown.map(({ ref }) => alertsApi.deliveries(ref, 1, signal)))
      return new Map(shown.flatMap(({ ref }, at) => (pages[at]?.items[0] ? [[ref, pages[at].items[0]] as const] : [])))
    },
  })

  override render(): unknown {
    if (this.channels.length === 0) {
      return html`<section class="card">${emptyState({
        icon: 'webhook',
        title: t('No channels yet'),
        text: t('A channel is where messages about alerts go: a webhook, a chat, e-mail.'),
        action: html`<a class="btn pri" href=${href('/alerts/channels/new')}>${t('Add channel')}</a>`,
      })}</section>`
    }
    return html`<section class="card" aria-label=${t('Channels')}><ul class="list">${this.channels.map(channel => this.#channel(channel))}</ul></section>`
  }

  #channel({ ref, name, type, enabled = true, origin }: Channel): TemplateResult {
    const last = this.#last.data?.get(ref)
    const failing = last && (last.state === 'failed' || last.state === 'dead')
    return html`<li>${icon(ICONS[type] ?? 'bell', { class: failing ? 'st-bad' : 'q' })}<div class="tx"><span class="t1"><a href=${href(`/alerts/channels/${encodeURIComponent(ref)}`)}>${name}</a> <span class="q xs">${type}</span>${
      failing ? html`<span class="st bad">${icon('circle-x')}${t('Failing')}</span>` : nothing
    }${enabled ? nothing : html`<span class="st rest">${icon('circle-minus')}${t('Off')}</span>`}${origin === 'file' ? html`<span class="tag line">${icon('lock')}${t('Settings file')}</span>` : nothing}</span>
      <p class="t2 ${failing ? 'bad-t' : ''}">${last ? html`${t('Last delivery')} <pb-time .at=${last.updatedAt}></pb-time>: ${last.state === 'sent' ? (last.detail ?? t('accepted')) : html`${deliveryMark(last)} ${outcomeText(last)}`}` : t('Nothing was sent yet.')}</p>${last ? outcomeWords(last) : nothing}</div>
      <a class="btn sm" href=${href(`/alerts/channels/${encodeURIComponent(ref)}`)} aria-label=${t('Open channel {name}', { name })}>${t('Open')}</a></li>`
  }
}
customElements.define('pb-alerts-channels', PbAlertsChannels)

declare global {
  interface HTMLElementTagNameMap {
    'pb-alerts-channels': PbAlertsChannels
  }
}
