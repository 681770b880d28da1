import { html, nothing } from 'lit'
import { type Alert, alertsApi, type Channel, type Rule, type Silence } from '../../api/alerts.ts'
import { Resource } from '../../app/resource.ts'
import { href } from '../../app/router.ts'
import { type Crumb, PbPage, tabs } from '../../components/page.ts'
import { show } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import './channel-form.ts'
import './channels.ts'
import './firing.ts'
import './history.ts'
import './rule-form.ts'
import './rules.ts'

interface Everything {
  readonly rules: readonly Rule[]
  readonly channels: readonly Channel[]
  readonly silences: readonly Silence[]
  readonly firing: readonly Alert[]
}

const TABS = ['firing', 'rules', 'channels', 'history', 'silences'] as const

/** Alerts: what fires, rules, channels, history, silences; and the forms of a rule and a channel. */
class PbPageAlerts extends PbPage {
  static override properties = { ...PbPage.properties, about: { state: true } }
  declare about: { readonly rule?: string; readonly server?: string } | undefined
  readonly #all = new Resource<Everything>(this, {
    topics: ['alerts'],
    everyMs: 15_000,
    read: async signal => {
      const [rules, channels, silences, firing] = await Promise.all([
        alertsApi.rules(signal),
        alertsApi.channels(signal),
        alertsApi.silences(signal),
        alertsApi.alerts('firing', 200, 0, signal),
      ])
      return { rules: rules.items, channels: channels.items, silences: silences.items, firing: firing.items }
    },
  })

  get #part(): 'list' | 'rule' | 'channel' {
    if (this.params.ref === undefined) return 'list'
    return location.pathname.includes('/alerts/rules/') ? 'rule' : 'channel'
  }

  get #tab(): (typeof TABS)[number] {
    return TABS.find(tab => tab === this.view('tab')) ?? 'firing'
  }

  override crumbs() {
    const first: Crumb = { label: t('Alerts'), path: '/alerts' }
    const { ref } = this.params
    if (this.#part === 'rule') {
      const label =
        ref === 'new' ? t('New rule') : (this.#all.data?.rules.find(one => one.ref === ref)?.name ?? ref ?? '')
      return [first, { label: t('Rules'), path: '/alerts?tab=rules' }, { label }]
    }
    if (this.#part === 'channel') {
      const label =
        ref === 'new' ? t('New channel') : (this.#all.data?.channels.find(one => one.ref === ref)?.name ?? ref ?? '')
      return [first, { label: t('Channels'), path: '/alerts?tab=channels' }, { label }]
    }
    return [{ label: t('Alerts') }]
  }

  override headNote() {
    const rule = this.#part === 'rule' ? this.#all.data?.rules.find(({ ref }) => ref === this.params.ref) : undefined
    return rule && this.#all.data?.firing.some(alert => alert.rule === rule.name)
      ? html`<span class="st bad">${icon('bell-ring')}${t('Firing')}</span>`
      : nothing
  }

  override actions() {
    if (this.#part !== 'list') return nothing
    const hasNone = this.#all.data?.channels.length === 0
    const silence = html`<button type="button" class="btn wide-only" @click=${() => {
      this.about = {}
    }}>${icon('bell-off')}${t('Silence')}</button>`
    if (this.#tab === 'channels') {
      return html`${silence}${hasNone ? nothing : html`<a class="btn pri" href=${href('/alerts/channels/new')}>${icon('plus')}${t('Add channel')}</a>`}`
    }
    return html`${silence}<a class="btn pri" href=${href('/alerts/rules/new')}>${icon('plus')}${t('New rule')}</a>`
  }

  override content() {
    const { ref = '' } = this.params
    if (this.#part === 'rule')
      return html`<pb-rule-form .ref=${ref} .channels=${this.#all.data?.channels ?? []} @pb-changed=${this.#changed}></pb-rule-form>`
    if (this.#part === 'channel')
      return html`<pb-channel-form .ref=${ref} @pb-changed=${this.#changed}></pb-channel-form>`
    const data = this.#all.data
    return html`${tabs(
      t('Parts of alerts'),
      [
        { id: 'firing', label: t('Firing'), n: data?.firing.length },
        { id: 'rules', label: t('Rules'), n: data?.rules.length },
        { id: 'channels', label: t('Channels'), n: data?.channels.length },
        { id: 'history', label: t('History') },
        { id: 'silences', label: t('Silences'), n: data?.silences.length },
      ],
      this.#tab,
      tab => href('/alerts', { tab: tab === 'firing' ? undefined : tab }),
    )}${show(this.#all, all => this.#tabContent(all))}<pb-silence-dialog .about=${this.about} .rules=${data?.rules ?? []} @pb-close=${() => {
      this.about = undefined
    }} @pb-changed=${this.#changed}></pb-silence-dialog>`
  }

  #tabContent({ rules, channels, silences }: Everything) {
    const tab = this.#tab
    if (tab === 'rules') return html`<pb-alerts-rules .rules=${rules} @pb-changed=${this.#changed}></pb-alerts-rules>`
    if (tab === 'channels') return html`<pb-alerts-channels .channels=${channels}></pb-alerts-channels>`
    if (tab === 'history') return html`<pb-alerts-history></pb-alerts-history>`
    if (tab === 'silences')
      return html`<pb-alerts-silences .silences=${silences} @pb-changed=${this.#changed}></pb-alerts-silences>`
    return html`<pb-alerts-firing .rules=${rules} @pb-silence=${(event: CustomEvent) => {
      this.about = event.detail
    }}></pb-alerts-firing>${rules.length === 0 ? html`<pb-alerts-rules .rules=${rules} @pb-changed=${this.#changed}></pb-alerts-rules>` : nothing}`
  }

  readonly #changed = (): void => void this.#all.reload()
}
customElements.define('pb-page-alerts', PbPageAlerts)
