import { html, nothing, type TemplateResult } from 'lit'
import { type Alert, alertsApi, type Rule } from '../../api/alerts.ts'
import type { Page } from '../../api/client.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { href } from '../../app/router.ts'
import { PbElement } from '../../components/element.ts'
import { emptyState, show } from '../../components/states.ts'
import '../../components/time.ts'
import { formatSpan } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { attempt } from './attempt.ts'
import { alertSentence, reasonText, severityTag } from './words.ts'

/**
 * Firing alerts, pending ones with their countdown, and the last ended ones.
 *
 * @fires pb-silence - `detail: {rule?, server?}`, filter of a new silence
 */
export class PbAlertsFiring extends PbElement {
  static override properties = { rules: { attribute: false } }
  declare rules: readonly Rule[]
  readonly #firing = new Resource<Page<Alert>>(this, {
    topics: ['alerts'],
    read: signal => alertsApi.alerts('firing', 200, 0, signal),
    everyMs: 30_000,
  })
  readonly #recent = new Resource<Page<Alert>>(this, {
    topics: ['alerts'],
    read: signal => alertsApi.alerts(undefined, 8, 0, signal),
  })
  #timer: ReturnType<typeof setInterval> | undefined

  override connectedCallback(): void {
    super.connectedCallback()
    this.#timer = setInterval(() => this.requestUpdate(), 1000)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    clearInterval(this.#timer)
  }

  override render(): unknown {
    return show(this.#firing, ({ items, total }) => {
      const sorted = items.toSorted(
        (left, right) => Number(right.severity === 'critical') - Number(left.severity === 'critical'),
      )
      const pending = this.rules.flatMap(rule => (rule.pending ?? []).map(one => ({ rule, ...one })))
      if (items.length === 0 && pending.length === 0)
        return html`<section class="card">${this.#quiet()}</section>${this.#ended()}`
      return html`<ul class="alist">${sorted.map(alert => this.#alert(alert))}${pending.map(one => this.#pending(one))}</ul>${
        total > items.length
          ? html`<p class="s q">${t('First {n} of {total}', { n: items.length, total })}</p>`
          : nothing
      }${this.#ended()}`
    })
  }

  #quiet(): TemplateResult {
    return emptyState({
      icon: 'bell',
      title: t('Nothing fires'),
      text: this.rules.length === 0 ? t('There are no rules yet that could.') : t('All rules are quiet.'),
      action: html`<a class="btn" href=${href('/alerts', { tab: 'rules' })}>${t('Rules')}</a>`,
    })
  }

  #alert(alert: Alert): TemplateResult {
    const { rule, severity, startsAt, condition, threshold, ackedBy, flapping, server } = alert
    const since = Date.now() - Date.parse(startsAt)
    const silence = server === undefined ? { rule } : { rule, server }
    return html`<li class="card af ${ackedBy ? '' : 'bad'}"><div class="row top0">${icon('bell-ring', { class: 's20 st-bad' })}<div class="grow">
      <div class="row wrap"><h2 class="af-t">${rule}</h2>${severityTag(severity)}<span class="q s">${t('firing for {time}', { time: formatSpan(since) })}</span>${
        flapping ? html`<span class="tag warn">${icon('repeat')}${t('Flapping')}</span>` : nothing
      }</div><p class="s">${alertSentence(alert)}</p><p class="xs q"><span class="mono">${condition}</span>${threshold === undefined ? nothing : html` · ${t('threshold {n}', { n: threshold })}`}${
        ackedBy === undefined
          ? nothing
          : html` · ${t('acknowledged by {name}', { name: ackedBy })} <pb-time .at=${alert.ackedAt ?? startsAt}></pb-time>`
      }</p></div><div class="acts row">${
        ackedBy === undefined
          ? html`<button type="button" class="btn" ?disabled=${!live.reachable} aria-label=${t('Acknowledge {rule} of {subject}', { rule, subject: alert.subject })} @click=${() => void this.#acknowledge(alert)}>${icon('check')}${t('Acknowledge')}</button>`
          : nothing
      }<button type="button" class="btn ghost" @click=${() => this.dispatchEvent(new CustomEvent('pb-silence', { detail: silence }))}>${t('Silence')}</button>${
        server === undefined
          ? nothing
          : html`<a class="btn ghost" href=${href(`/servers/${encodeURIComponent(server)}`)}>${t('Open {name}', { name: server })}</a>`
      }</div></div></li>`
  }

  #pending({ rule, subject, firesAt }: { rule: Rule; subject: string; firesAt: string }): TemplateResult {
    const left = Date.parse(firesAt) - Date.now()
    return html`<li class="card af"><div class="row top0">${icon('clock', { class: 's20 st-warn' })}<div class="grow"><div class="row wrap"><h2 class="af-t">${rule.name}</h2>${severityTag(rule.severity)}
      <span class="st warn">${left <= 0 ? t('Pending, fires now') : t('Pending, fires in {time}', { time: formatSpan(Math.max(1000, left)) })}</span></div>
      <p class="s"><b class="med">${subject === 'total' ? t('All servers together') : subject}</b></p><p class="xs q mono">${rule.condition}</p></div>
      <div class="acts row"><button type="button" class="btn ghost" @click=${() => this.dispatchEvent(new CustomEvent('pb-silence', { detail: { rule: rule.name } }))}>${t('Silence')}</button></div></div></li>`
  }

  #ended(): unknown {
    const items = this.#recent.data?.items ?? []
    if (items.length === 0) return nothing
    return html`<section class="card"><div class="ch"><h2>${t('Last')}</h2><div class="r"><a href=${href('/alerts', { tab: 'history' })}>${t('History')}</a></div></div><ul class="feed">${items.map(
      ({ rule, subject, state, startsAt, endsAt, reason }) =>
        html`<li>${icon(state === 'resolved' ? 'circle-check' : 'bell-ring', { class: state === 'resolved' ? 'ok' : 'bad' })}<span class="cut"><b class="med">${rule}</b> ${
          endsAt === undefined
            ? t('fired: {subject}', { subject })
            : t('resolved: {subject}, after {time}', {
                subject,
                time: formatSpan(Date.parse(endsAt) - Date.parse(startsAt)),
              })
        } ${reasonText(reason)}</span><pb-time .at=${endsAt ?? startsAt}></pb-time></li>`,
    )}</ul></section>`
  }

  async #acknowledge({ id }: Alert): Promise<void> {
    const alert = await attempt(() => alertsApi.acknowledge(id), t('Acknowledged: its message is not repeated'))
    const page = this.#firing.data
    if (alert && page) this.#firing.set({ ...page, items: page.items.map(one => (one.id === id ? alert : one)) })
  }
}
customElements.define('pb-alerts-firing', PbAlertsFiring)

declare global {
  interface HTMLElementTagNameMap {
    'pb-alerts-firing': PbAlertsFiring
  }
}
