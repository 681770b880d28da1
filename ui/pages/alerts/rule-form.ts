import { html, nothing } from 'lit'
import { alertsApi, type Channel, type Rule, type RuleBody, type RulePreview } from '../../api/alerts.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { readAll } from '../../api/servers.ts'
import { refOf, type ServerRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { href, router } from '../../app/router.ts'
import { savedElsewhere } from '../../components/conflict.ts'
import { PbElement } from '../../components/element.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { toast } from '../../components/layers/toast.ts'
import { limitedNote } from '../../components/limited-note.ts'
import { errorState, errorText, skeleton } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { fieldText } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'
import { attempt } from './attempt.ts'
import { builder, readSimple, simpleText } from './builder.ts'
import { previewCard } from './preview.ts'
import { bodyOf } from './rules.ts'
import { outcomeText, valueText } from './words.ts'

const USUAL: RuleBody = { name: '', condition: 'error_rate[5m] > 5%', duration: '5m', severity: 'warning' }

/**
 * The form of one rule, with a preview over the last 24 hours.
 *
 * @fires pb-changed - when the rule was written
 */
export class PbRuleForm extends PbElement {
  static override properties = {
    ref: {},
    channels: { attribute: false },
    body: { state: true },
    error: { state: true },
    saving: { state: true },
  }
  /** `new`, or the rule's reference. */
  declare ref: string
  declare channels: readonly Channel[]
  declare body: RuleBody | undefined
  declare error: ApiError | undefined
  declare saving: boolean
  readonly #rule = new Resource<Rule>(this, {
    key: () => (this.ref === 'new' ? undefined : this.ref),
    read: signal => alertsApi.rule(this.ref, signal),
  })
  readonly #servers = new Resource<readonly ServerRecord[]>(this, {
    read: signal => readAll('/api/servers', {}, signal),
  })
  readonly #preview = new Resource<RulePreview>(this, {
    key: () => this.#asked(),
    read: signal => alertsApi.preview(JSON.parse(this.#asked() ?? '{}') as Partial<RuleBody>, signal),
  })
  #shown: RulePreview | undefined
  #release: (() => void) | undefined

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#release?.()
  }

  get #present(): RuleBody | undefined {
    if (this.body) return this.body
    if (this.ref === 'new') return USUAL
    return this.#rule.data && bodyOf(this.#rule.data)
  }

  /** Fields on which the preview depends, as JSON. */
  #asked(): string | undefined {
    const body = this.#present
    if (!body || body.condition.trim() === '') return undefined
    const { condition, threshold, duration, per, keepFiringFor, noData } = body
    return JSON.stringify({ condition, threshold, duration, per, keepFiringFor, noData })
  }

  override render(): unknown {
    const body = this.#present
    if (!body) return this.#rule.error ? errorState(this.#rule.error, () => void this.#rule.reload()) : skeleton()
    this.#shown = this.#preview.data ?? (this.#preview.error ? undefined : this.#shown)
    const isFile = this.#rule.data?.origin === 'file'
    const locked = isFile || !live.reachable
    return html`${
      isFile
        ? html`<div class="callout acc">${icon('lock')}<p>${t('This rule is in the settings file and is changed there.')}</p></div>`
        : nothing
    }${limitedNote(this.#rule.data, t('Look at it and save it to give it yours.'))}${this.error ? this.#problem(this.error) : nothing}<form class="ruleg" @submit=${this.#save}><section class="card pad stack l">${this.#condition(body, isFile)}<hr class="rule">
      ${this.#fields(body, isFile)}
      ${this.#tell(body, isFile)}<div class="row wrap"><button type="button" class="btn" ?disabled=${this.ref === 'new' || this.body !== undefined || !live.reachable} title=${this.ref === 'new' || this.body ? t('Save the rule first') : nothing} @click=${() => void this.#test()}>${icon('flask-conical')}${t('Test: send a message')}</button>
        <button type="submit" class="btn pri push" ?disabled=${locked || this.saving}>${this.saving ? t('Saving') : t('Save rule')}</button></div></section>
      <aside class="stack" aria-label=${t('Preview')}>${previewCard(body.condition, this.#shown, this.#preview.error)}</aside></form>`
  }

  #fields(body: RuleBody, isFile: boolean): unknown {
    return html`<div class="form2"><div class="field"><label for="rule-name">${t('Name')}</label><input id="rule-name" class="in ${this.#mistake('/name') ? 'err' : ''}" maxlength="64" required autocomplete="off" .value=${body.name} ?disabled=${isFile}
          @input=${(event: Event) => this.#set({ name: (event.target as HTMLInputElement).value })}>${this.#hint('/name')}</div>
        <div class="field"><label for="rule-severity">${t('Severity')}</label><select id="rule-severity" class="in" ?disabled=${isFile} @change=${(
          event: Event,
        ) =>
          this.#set({
            severity: (event.target as HTMLSelectElement).value as RuleBody['severity'],
          })}><option value="warning" ?selected=${body.severity === 'warning'}>${t('Warning')}</option><option value="critical" ?selected=${body.severity === 'critical'}>${t('Critical')}</option></select></div>
        <div class="field"><label for="rule-per">${t('One alert for each')}</label><select id="rule-per" class="in" ?disabled=${isFile} @change=${(
          event: Event,
        ) => this.#set({ per: (event.target as HTMLSelectElement).value as NonNullable<RuleBody['per']> })}>${(
          [
            ['server', t('server')],
            ['tool', t('tool')],
            ['owner', t('owner')],
            ['total', t('all together')],
          ] as const
        ).map(
          ([id, word]) => html`<option value=${id} ?selected=${id === (body.per ?? 'server')}>${word}</option>`,
        )}</select></div>
        <div class="field"><label for="rule-repeat">${t('Repeat the message after')} <span class="o">${t('0s: never')}</span></label><input id="rule-repeat" class="in ${this.#mistake('/repeatInterval') ? 'err' : ''}" .value=${body.repeatInterval ?? '4h'} ?disabled=${isFile}
          @input=${(event: Event) => this.#set({ repeatInterval: (event.target as HTMLInputElement).value })}>${this.#hint('/repeatInterval')}</div></div>`
  }

  #condition(body: RuleBody, isFile: boolean): unknown {
    const simple = readSimple(body.condition)
    const servers = this.#servers.data?.map(refOf) ?? []
    const mistake = this.#preview.error?.fields.find(({ pointer }) => pointer.replace('#', '') === '/condition')
    return html`<h2 class="sech">${t('Condition')}</h2>${
      simple
        ? builder(
            simple,
            body.duration ?? '1m',
            servers,
            next => this.#set({ condition: simpleText(next) }),
            this.#setDuration,
            isFile,
          )
        : html`<p class="s q">${t('This condition has more than one comparison, or one that the fields cannot show. It is written as an expression.')}</p>
          <div class="field"><label for="rule-duration">${t('Duration')}</label><input id="rule-duration" class="in w160" .value=${body.duration ?? '1m'} ?disabled=${isFile} @input=${(event: Event) => this.#setDuration((event.target as HTMLInputElement).value)}></div>`
    }${this.#hint('/duration')}<div class="field"><label class="lbl" for="rule-expression">${t('As an expression')} <span class="o">${t('both stay in step')}</span></label>
      <input id="rule-expression" class="in code ${mistake ? 'err' : ''}" spellcheck="false" autocomplete="off" maxlength="1024" .value=${body.condition} ?disabled=${isFile} aria-invalid=${mistake ? 'true' : nothing} aria-describedby="rule-reading"
        @input=${(event: Event) => this.#set({ condition: (event.target as HTMLInputElement).value })}>
      <p class="hint ${mistake ? 'bad' : 'okh'}" id="rule-reading" role="status">${this.#reading(body, mistake && fieldText(mistake))}</p></div>${this.#threshold(body)}`
  }

  #reading(body: RuleBody, mistake: string | undefined): unknown {
    if (mistake !== undefined) return html`${icon('circle-alert')}${mistake}`
    const preview = this.#shown
    if (!preview) return this.#preview.error ? errorText(this.#preview.error) : t('Reading')
    const holding = preview.now.filter(({ holds }) => holds === true)
    const [first] = holding.length > 0 ? holding : preview.now
    const now =
      first === undefined
        ? t('There is no data yet.')
        : holding.length === 0
          ? t('It holds for nothing now.')
          : plural(
              holding.length,
              'It holds for {n} now: {subject} at {value}.',
              'It holds for {n} now, {subject} at {value} among them.',
              {
                subject: first.subject === 'total' ? t('all together') : first.subject,
                value: valueText(body.condition, first.value),
              },
            )
    return html`${icon('check', { class: 's14' })}${t('Reads well.')} ${now}`
  }

  #threshold(body: RuleBody): unknown {
    if (!/\bthreshold\b/.test(body.condition) && body.threshold === undefined) return nothing
    return html`<div class="field"><label for="rule-threshold">${t('Threshold')} <span class="o">${t('in milliseconds, a ratio of 0 to 1, or a number')}</span></label><input id="rule-threshold" class="in w160" inputmode="decimal" .value=${String(body.threshold ?? '')}
      @input=${(event: Event) => {
        const text = (event.target as HTMLInputElement).value.trim()
        const { threshold: _before, ...rest } = this.#present ?? USUAL
        this.body = text === '' || Number.isNaN(Number(text)) ? rest : { ...rest, threshold: Number(text) }
      }}>${this.#hint('/threshold')}</div>`
  }

  #tell(body: RuleBody, isFile: boolean): unknown {
    if (this.channels.length === 0)
      return html`<p class="s q">${t('No channel is notified yet.')} <a href=${href('/alerts/channels/new')}>${t('Add channel')}</a></p>`
    const chosen = body.channels
    const toggle = (name: string): void => {
      const before = chosen ?? this.channels.map(channel => channel.name)
      this.#set({ channels: before.includes(name) ? before.filter(one => one !== name) : [...before, name] })
    }
    return html`<fieldset class="field"><legend class="lbl">${t('Tell')}</legend><div class="row wrap chk3">${this.channels.map(
      ({ name }) =>
        html`<label class="chk"><input type="checkbox" ?disabled=${isFile} .checked=${chosen?.includes(name) ?? true} @change=${() => toggle(name)}><span>${name}</span></label>`,
    )}</div><p class="hint">${chosen === undefined ? t('All channels that are on, also later ones.') : t('Only the chosen ones.')}</p></fieldset>`
  }

  #mistake(pointer: string): string | undefined {
    const mistake = this.error?.fields.find(field => field.pointer.replace('#', '') === pointer)
    return mistake && fieldText(mistake)
  }

  #hint(pointer: string): unknown {
    const detail = this.#mistake(pointer)
    return detail === undefined ? nothing : html`<p class="hint bad">${icon('circle-alert')}${detail}</p>`
  }

  #problem(error: ApiError): unknown {
    const theirs = this.#rule.data
    const mine = this.#present
    if (error.code !== 'version_conflict' || !theirs || !mine) return errorState(error)
    const takeTheirs = (): void => {
      this.body = undefined
      this.error = undefined
    }
    return savedElsewhere({
      ...{ refusal: error, theirs: { ...bodyOf(theirs) }, mine: { ...mine }, takeTheirs },
      keepMine: () => void this.#write(),
    })
  }

  #set(changes: Partial<RuleBody>): void {
    this.body = { ...(this.#present ?? USUAL), ...changes }
    this.#release ??= router.guard(() =>
      confirmed({
        title: t('Leave without saving?'),
        text: t('What was changed here is lost.'),
        action: t('Leave'),
      }),
    )
  }

  /** The alert keeps firing for the duration too, unless another value was chosen. */
  readonly #setDuration = (duration: string): void => {
    const { keepFiringFor, ...rest } = this.#present ?? USUAL
    if (keepFiringFor === rest.duration) this.body = rest
    this.#set({ duration })
  }

  readonly #save = (event: SubmitEvent): void => {
    event.preventDefault()
    void this.#write()
  }

  async #write(): Promise<void> {
    const body = this.#present
    if (!body) return
    this.saving = true
    try {
      const rule = this.#rule.data
      const written = rule
        ? await alertsApi.replaceRule(this.ref, body, rule.revision)
        : await alertsApi.createRule(body)
      this.#release?.()
      this.#release = undefined
      this.body = undefined
      this.error = undefined
      this.dispatchEvent(new CustomEvent('pb-changed'))
      toast(t('Rule {name} saved', { name: written.name }))
      if (written.ref === this.ref) this.#rule.set(written)
      else await router.go(`/alerts/rules/${encodeURIComponent(written.ref)}`, { replace: true })
    } catch (error) {
      const failed = asApiError(error)
      if (failed.code === 'version_conflict') await this.#rule.reload()
      this.error = failed
    }
    this.saving = false
  }

  async #test(): Promise<void> {
    const result = await attempt(() => alertsApi.test(this.ref, true))
    const sent = result?.deliveries ?? []
    if (!result) return
    if (sent.length === 0) toast(t('No channel is on: nothing was sent.'))
    else
      toast(
        sent
          .map(({ channel, ok, ...outcome }) =>
            ok ? t('{channel}: delivered', { channel }) : `${channel}: ${outcomeText(outcome)}`,
          )
          .join(' · '),
      )
  }
}
customElements.define('pb-rule-form', PbRuleForm)

declare global {
  interface HTMLElementTagNameMap {
    'pb-rule-form': PbRuleForm
  }
}
