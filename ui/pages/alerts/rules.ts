import { html, nothing, type TemplateResult } from 'lit'
import { alertsApi, type Rule, type RuleBody } from '../../api/alerts.ts'
import { live } from '../../app/live.ts'
import { href } from '../../app/router.ts'
import { PbElement } from '../../components/element.ts'
import { menu } from '../../components/layers/menu.ts'
import { emptyState } from '../../components/states.ts'
import '../../components/switch.ts'
import { toast } from '../../components/layers/toast.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { attempt } from './attempt.ts'
import { outcomeText, outcomeWords, severityTag } from './words.ts'

/** The parts of a rule that a write takes. */
export function bodyOf(rule: Rule): RuleBody {
  const { id: _id, ref: _ref, owner: _owner, origin: _origin, revision: _revision, health: _health, ...rest } = rule
  const { pending: _pending, ...body } = rest
  return Object.fromEntries(
    Object.entries(body).filter(([name]) => name !== 'createdAt' && name !== 'updatedAt'),
  ) as unknown as RuleBody
}

function suggestions(): readonly (RuleBody & { readonly text: string })[] {
  return [
    {
      ...{ name: t('Server offline'), condition: 'server_status == offline', duration: '1m', severity: 'critical' },
      text: t('A server that should run is not online for a minute.'),
    },
    {
      ...{ name: t('Many errors'), condition: 'error_rate[5m] > 5% and request_count[5m] > 20', duration: '5m' },
      ...{ severity: 'warning', text: t('More than 5 % of the calls of a server fail, for five minutes.') },
    },
    {
      ...{ name: t('Slow tools'), condition: 'p95_response_time[5m] > 5s', duration: '5m', severity: 'warning' },
      text: t('One call in twenty of a server takes more than 5 s, for five minutes.'),
    },
  ]
}

/**
 * The rules, or three that can be had by one press.
 *
 * @fires pb-changed - when a rule was written
 */
export class PbAlertsRules extends PbElement {
  static override properties = { rules: { attribute: false } }
  declare rules: readonly Rule[]

  override render(): unknown {
    if (this.rules.length === 0) return this.#suggested()
    return html`<section class="card" aria-label=${t('Rules')}><ul class="list">${this.rules.map(rule => this.#rule(rule))}</ul></section>`
  }

  #suggested(): TemplateResult {
    return html`<section class="card">${emptyState({ icon: 'bell', title: t('No rules yet'), text: t('A rule says when something is wrong. These three suit most hubs.') })}
      <ul class="list lwithout">${suggestions().map(
        ({
          text,
          ...body
        }) => html`<li>${icon('bell-plus', { class: 'q' })}<div class="tx"><span class="t1">${body.name} ${severityTag(body.severity)}</span><p class="t2">${text}</p><p class="t2 mono">${body.condition}</p></div>
          <button type="button" class="btn sm" ?disabled=${!live.reachable} aria-label=${t('Use rule {name}', { name: body.name })} @click=${() => void this.#use(body)}>${t('Use')}</button></li>`,
      )}</ul></section>`
  }

  #rule(rule: Rule): TemplateResult {
    const { name, ref, severity, condition, duration, enabled = true, origin, health, pending = [] } = rule
    const isFile = origin === 'file'
    return html`<li>${icon(health.state === 'error' ? 'circle-x' : 'bell', { class: health.state === 'error' ? 'st-bad' : 'q' })}<div class="tx"><span class="t1"><a href=${href(`/alerts/rules/${encodeURIComponent(ref)}`)}>${name}</a> ${severityTag(severity)}${
      isFile ? html`<span class="tag line">${icon('lock')}${t('Settings file')}</span>` : nothing
    }${pending.length > 0 ? html`<span class="st warn">${icon('clock')}${t('Pending')}</span>` : nothing}</span><p class="t2"><span class="mono">${condition}</span> · ${t('for at least {time}', { time: duration })}</p>${
      health.message === undefined
        ? nothing
        : html`<p class="t2 bad-t">${outcomeText({ ...health, detail: health.message })}</p>${outcomeWords({ ...health, detail: health.message })}`
    }</div><pb-switch .label=${t('Rule {name} is on', { name })} .isOn=${enabled} .disabled=${isFile || !live.reachable} .set=${(isOn: boolean) => this.#switch(ref, isOn)}></pb-switch>${menu(
      t('Actions for {name}', { name }),
      [
        { label: t('Test'), icon: 'flask-conical', action: () => void this.#test(rule) },
        ...(isFile
          ? []
          : [
              {
                label: t('Delete'),
                icon: 'trash-2',
                danger: true,
                disabled: !live.reachable,
                action: () => void this.#delete(rule),
              },
            ]),
      ],
    )}</li>`
  }

  async #use(body: RuleBody): Promise<void> {
    const made = await attempt(
      () => alertsApi.createRule(body),
      t('Rule {name} made', { name: body.name }),
      () => void attempt(() => alertsApi.deleteRule(body.name)).then(() => this.#changed()),
    )
    if (made) this.#changed()
  }

  async #switch(ref: string, enabled: boolean): Promise<boolean> {
    const after = await attempt(() => alertsApi.patchRule(ref, { enabled }))
    this.#changed()
    return after !== undefined
  }

  async #test({ ref, name }: Rule): Promise<void> {
    const result = await attempt(() => alertsApi.test(ref, false))
    if (!result) return
    const n = result.subjects.filter(({ holds }) => holds === true).length
    toast(n === 0 ? t('{name} holds for nothing now', { name }) : t('{name} holds for {n} now', { name, n }))
  }

  async #delete(rule: Rule): Promise<void> {
    const again = (): void => void attempt(() => alertsApi.createRule(bodyOf(rule))).then(() => this.#changed())
    await attempt(() => alertsApi.deleteRule(rule.ref), t('Rule {name} deleted', { name: rule.name }), again)
    this.#changed()
  }

  #changed(): void {
    this.dispatchEvent(new CustomEvent('pb-changed'))
  }
}
customElements.define('pb-alerts-rules', PbAlertsRules)

declare global {
  interface HTMLElementTagNameMap {
    'pb-alerts-rules': PbAlertsRules
  }
}
