import { html, nothing } from 'lit'
import { type Alert, alertsApi, type Rule, type Silence } from '../../api/alerts.ts'
import type { Page } from '../../api/client.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { PbElement } from '../../components/element.ts'
import { dialog, hide } from '../../components/layers/layer.ts'
import { emptyState, errorState, show } from '../../components/states.ts'
import '../../components/lists/table.ts'
import type { Column } from '../../components/lists/table.ts'
import '../../components/time.ts'
import { formatDateTime, formatSpan } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { attempt } from './attempt.ts'
import { reasonText, severityTag, valueText } from './words.ts'

const PAGE = 200

/** Past alerts, newest first. */
export class PbAlertsHistory extends PbElement {
  static override properties = { limit: { state: true } }
  declare limit: number
  readonly #alerts = new Resource<Page<Alert>>(this, {
    key: () => this.limit,
    topics: ['alerts'],
    read: signal => alertsApi.alerts(undefined, this.limit, 0, signal),
  })

  constructor() {
    super()
    this.limit = PAGE
  }

  override render(): unknown {
    return show(this.#alerts, ({ items, total }) =>
      items.length === 0
        ? html`<section class="card">${emptyState({ icon: 'history', title: t('Nothing has fired'), text: t('What fires and ends is kept here.') })}</section>`
        : html`<pb-table .rows=${items} .columns=${columns()} .keyOf=${(alert: Alert) => alert.id} .label=${t('History of alerts')} .foot=${html`<span>${t('{n} of {total}', { n: items.length, total })}</span>${
            items.length < total && this.limit < 1000
              ? html`<button type="button" class="btn ghost sm push" @click=${() => {
                  this.limit += PAGE
                }}>${t('Load more')}</button>`
              : nothing
          }`}></pb-table>`,
    )
  }
}
customElements.define('pb-alerts-history', PbAlertsHistory)

function columns(): readonly Column<Alert>[] {
  return [
    {
      ...{ id: 'state', head: t('State') },
      cell: ({ state }) =>
        state === 'firing'
          ? html`<span class="st bad">${icon('bell-ring')}${t('Firing')}</span>`
          : html`<span class="st ok">${icon('circle-check')}${t('Resolved')}</span>`,
    },
    { id: 'rule', head: t('Rule'), class: 'full', cell: ({ rule }) => html`<span class="nm">${rule}</span>` },
    { id: 'severity', head: t('Severity'), class: 'x', cell: ({ severity }) => severityTag(severity) },
    {
      id: 'subject',
      head: t('Of'),
      label: t('Of'),
      cell: ({ subject }) => (subject === 'total' ? t('all together') : subject),
    },
    {
      id: 'value',
      head: t('Value'),
      class: 'x',
      num: true,
      cell: ({ condition, value }) => valueText(condition, value),
    },
    {
      id: 'start',
      head: t('Began'),
      label: t('Began'),
      cell: ({ startsAt }) => html`<pb-time .at=${startsAt}></pb-time>`,
    },
    {
      ...{ id: 'length', head: t('Lasted'), num: true, class: 'x' },
      cell: ({ startsAt, endsAt, reason }) =>
        html`${formatSpan((endsAt === undefined ? Date.now() : Date.parse(endsAt)) - Date.parse(startsAt))}${reason === undefined ? nothing : html`<span class="cellsub">${reasonText(reason)}</span>`}`,
    },
  ]
}

/**
 * The silences.
 *
 * @fires pb-changed - when one was ended
 */
export class PbAlertsSilences extends PbElement {
  static override properties = { silences: { attribute: false } }
  declare silences: readonly Silence[]

  override render(): unknown {
    if (this.silences.length === 0)
      return html`<section class="card">${emptyState({ icon: 'bell-off', title: t('No silences'), text: t('A silence holds back messages for a time. Afterwards, messages about alerts that still fire are sent.') })}</section>`
    return html`<section class="card" aria-label=${t('Silences')}><ul class="list">${this.silences.map(silence => this.#silence(silence))}</ul></section>`
  }

  #silence(silence: Silence): unknown {
    const { rule, server, severity, comment, startsAt, endsAt } = silence
    const parts = [
      rule,
      server,
      severity === undefined ? undefined : severity === 'critical' ? t('Critical') : t('Warning'),
    ]
    const name = parts.filter(part => part !== undefined).join(' · ') || t('Everything')
    const starts = Date.parse(startsAt) > Date.now() ? t('from {time}', { time: formatDateTime(startsAt) }) : ''
    return html`<li>${icon('bell-off', { class: 'q' })}<div class="tx"><span class="t1">${name}</span><p class="t2">${starts} ${t('until {time}', { time: formatDateTime(endsAt) })}${comment ? html` · ${comment}` : nothing}</p></div>
      <button type="button" class="btn sm" ?disabled=${!live.reachable} aria-label=${t('End silence of {name}', { name })} @click=${() => void this.#end(silence)}>${t('End now')}</button></li>`
  }

  async #end({ id, ...silence }: Silence): Promise<void> {
    const changed = (): void => void this.dispatchEvent(new CustomEvent('pb-changed'))
    const { rule, server, severity, comment, endsAt } = silence
    const again = (): void => {
      const body = { ...(rule ? { rule } : {}), ...(server ? { server } : {}), ...(severity ? { severity } : {}) }
      void attempt(() => alertsApi.silence({ ...body, ...(comment ? { comment } : {}), endsAt })).then(changed)
    }
    await attempt(() => alertsApi.endSilence(id), t('Silence ended'), again)
    changed()
  }
}
customElements.define('pb-alerts-silences', PbAlertsSilences)

/**
 * Dialog for creating a silence: its filter and its end.
 *
 * @fires pb-close
 *
 * @fires pb-changed - when a silence was created
 */
export class PbSilenceDialog extends PbElement {
  static override properties = { about: { attribute: false }, rules: { attribute: false }, error: { state: true } }
  /** Filter of the silence; undefined: closed. */
  declare about: { readonly rule?: string; readonly server?: string } | undefined
  declare rules: readonly Rule[]
  declare error: ApiError | undefined

  override render(): unknown {
    return dialog({
      open: this.about !== undefined,
      title: t('Silence'),
      body: this.about ? this.#body(this.about) : nothing,
      foot: html`<button type="button" class="btn push" @click=${hide}>${t('Cancel')}</button><button type="submit" form="silence-form" class="btn pri">${t('Hold messages back')}</button>`,
      onClose: () => {
        this.error = undefined
        this.dispatchEvent(new CustomEvent('pb-close'))
      },
    })
  }

  #body({ rule, server }: { readonly rule?: string; readonly server?: string }): unknown {
    return html`<form id="silence-form" class="stack l" @submit=${this.#submit}>${this.error ? errorState(this.error) : nothing}
      <div class="field"><label for="sil-rule">${t('Rule')}</label><select id="sil-rule" name="rule" class="in"><option value="">${t('any')}</option>${this.rules.map(
        ({ name }) => html`<option value=${name} ?selected=${name === rule}>${name}</option>`,
      )}</select></div>
      <div class="field"><label for="sil-server">${t('Server')} <span class="o">${t('optional')}</span></label><input id="sil-server" name="server" class="in code" autocomplete="off" .value=${server ?? ''}></div>
      <div class="field"><label for="sil-for">${t('For')}</label><select id="sil-for" name="minutes" class="in"><option value="30">${t('30 minutes')}</option><option value="120" selected>${t('2 hours')}</option><option value="480">${t('8 hours')}</option><option value="1440">${t('1 day')}</option><option value="10080">${t('7 days')}</option></select></div>
      <div class="field"><label for="sil-until">${t('Or until')} <span class="o">${t('optional')}</span></label><input id="sil-until" name="until" type="datetime-local" class="in"></div>
      <div class="field"><label for="sil-comment">${t('Comment')} <span class="o">${t('optional')}</span></label><input id="sil-comment" name="comment" class="in" maxlength="256" autocomplete="off"></div></form>`
  }

  readonly #submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const data = new FormData(form)
    const text = (name: string): string => String(data.get(name) ?? '').trim()
    const until = text('until')
    const endsAt = until === '' ? new Date(Date.now() + Number(text('minutes')) * 60_000) : new Date(until)
    const given = Object.fromEntries(
      ['rule', 'server', 'comment'].flatMap(name => (text(name) ? [[name, text(name)]] : [])),
    )
    try {
      await alertsApi.silence({ ...given, endsAt: endsAt.toISOString() })
      hide({ currentTarget: form } as unknown as Event)
      this.dispatchEvent(new CustomEvent('pb-changed'))
    } catch (error) {
      this.error = asApiError(error)
    }
  }
}
customElements.define('pb-silence-dialog', PbSilenceDialog)

declare global {
  interface HTMLElementTagNameMap {
    'pb-alerts-history': PbAlertsHistory
    'pb-alerts-silences': PbAlertsSilences
    'pb-silence-dialog': PbSilenceDialog
  }
}
