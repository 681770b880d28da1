import { html, nothing } from 'lit'
import { quotedWords } from '../../../core/domain/text/quoted-words.ts'
import { visibleName } from '../../../core/domain/text/visible-text.ts'
import type { ApiError } from '../../api/problem.ts'
import { PbElement } from '../../components/element.ts'
import { hubWords } from '../../components/hub-words.ts'
import { sandboxNote } from '../../components/servers/sandbox-note.ts'
import { errorState } from '../../components/states.ts'
import { formatMs } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { fieldText, problemText } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'
import type { Blank, Draft } from './draft.ts'
import { type Step, Trial } from './trial.ts'

/**
 * The present entry: its name, missing values, the place where it will run, and the test.
 *
 * @fires pb-draft - `detail: Draft`, when a field was changed
 */
export class PbEntry extends PbElement {
  static override properties = {
    draft: { attribute: false },
    note: {},
    problem: { attribute: false },
    shown: { state: true },
  }
  declare draft: Draft
  /** At the right of the head, such as "1 of 2". */
  declare note: string
  /** Why saving this entry failed. */
  declare problem: ApiError | undefined
  /** Labels of the secrets that are readable. */
  declare shown: ReadonlySet<string>
  readonly trial = new Trial(this)

  constructor() {
    super()
    this.shown = new Set()
  }

  override render(): unknown {
    const { draft } = this
    const body = draft.body()
    return html`<div class="ch line"><h2>${draft.name || t('New server')}</h2>${verdictTag(draft)}<span class="r f xs">${this.note ?? ''}</span></div>
      <div class="cb stack l padt">${this.problem ? errorState(this.problem) : nothing}${this.#nameField()}${summary(body)}${draft.blanks.map(blank => this.#blank(blank))}
      ${'command' in body ? sandboxNote() : nothing}${this.#test()}</div>`
  }

  #nameField(): unknown {
    const mistake = this.problem?.field('#/name')
    return html`<div class="field"><label class="lbl" for="entry-name">${t('Name')}</label><input id="entry-name" class="in ${mistake ? 'err' : ''}" required
      autocomplete="off" spellcheck="false" aria-describedby="entry-name-hint" .value=${this.draft.name} @input=${(event: InputEvent) => this.#change(this.draft.with({ name: (event.target as HTMLInputElement).value }), false)}>
      <p class="hint ${mistake ? 'bad' : ''}" id="entry-name-hint">${mistake ? fieldText(mistake) : t('Unique among your servers. Clients see it before the names of tools that two servers share.')}</p></div>`
  }

  #blank(blank: Blank): unknown {
    const id = `blank-${blank.label}`
    const value = this.draft.values.get(blank.label) ?? ''
    const mistake = 'pointer' in blank.target ? this.problem?.field(`#${blank.target.pointer}`) : undefined
    const readable = !blank.secret || this.shown.has(blank.label)
    const label = t('Show {name}', { name: blank.label })
    return html`<div class="field"><label class="lbl" for=${id}><code>${blank.label}</code>${blank.secret ? html`<span class="tag">${icon('lock')}${t('Secret')}</span>` : nothing}</label>
      <div class="wrapin"><input id=${id} class="in code ${blank.secret ? 'hasact' : ''} ${mistake ? 'err' : ''}" type=${readable ? 'text' : 'password'} autocomplete="off" spellcheck="false"
        aria-describedby="${id}-hint" placeholder=${blank.had === undefined ? nothing : t('The file had {text} here', { text: blank.had })} .value=${value}
        @input=${(event: InputEvent) => this.#change(this.draft.withValue(blank.label, (event.target as HTMLInputElement).value))}>${
          blank.secret
            ? html`<span class="ina"><button type="button" class="btn ghost sm ico" aria-label=${label} aria-pressed=${readable ? 'true' : 'false'} @click=${() => this.#toggle(blank.label)}>${icon(readable ? 'eye-off' : 'eye')}</button></span>`
            : nothing
        }</div><p class="hint ${mistake ? 'bad' : ''}" id="${id}-hint">${mistake ? fieldText(mistake) : blankHint(blank, value)}</p></div>`
  }

  #test(): unknown {
    const { trial, draft } = this
    const { report, error } = trial
    const failed = report && !report.ok ? report.error : undefined
    return html`<div><div class="row"><h3 class="sech">${t('Test')}</h3><span class="push">${
      trial.running
        ? html`<button type="button" class="btn sm" @click=${() => trial.clear()}>${t('Cancel test')}</button>`
        : html`<button type="button" class="btn sm" ?disabled=${draft.missing > 0 || !draft.usable} @click=${() => void trial.run(draft.body())}>${icon('rotate-cw')}${
            report ? t('Test again') : t('Test')
          }</button>`
    }</span></div>${
      trial.steps.length === 0 && !error
        ? html`<p class="hint">${t('Connects once, lists the tools, and keeps nothing.')}</p>`
        : html`<ol class="steps mt" aria-live="polite">${trial.steps.map(stepLine)}</ol>`
    }${error ? errorState(error) : nothing}${failed ? html`<p class="hint bad">${icon('circle-x')}<code>${failed.code}</code></p>` : nothing}${report?.ok ? this.#tools() : nothing}</div>`
  }

  #tools(): unknown {
    const { tools = [], tokens = 0, warnings = [] } = this.trial.report ?? {}
    return html`<details class="mt"><summary class="s">${plural(tools.length, '{n} tool, about {tokens} tokens to a client', '{n} tools, about {tokens} tokens to a client', { tokens })}</summary>
      <ul class="il names">${tools.map(({ name, description }) => html`<li title=${description ?? ''}><code>${name}</code></li>`)}</ul></details>
      ${warnings.map(text => html`<p class="hint warn">${hubWords(text)}</p>`)}`
  }

  #toggle(label: string): void {
    const next = new Set(this.shown)
    if (!next.delete(label)) next.add(label)
    this.shown = next
  }

  /** The test result is outdated after a change of anything but the name. */
  #change(draft: Draft, clear = true): void {
    if (clear && this.trial.steps.length > 0) this.trial.clear()
    this.dispatchEvent(new CustomEvent('pb-draft', { detail: draft, bubbles: true }))
  }
}
customElements.define('pb-entry', PbEntry)

function blankHint({ secret, missing }: Blank, value: string): string {
  if (secret) return t('Sealed on this hub. Afterwards only the last four characters are shown.')
  return missing && value === '' ? t('A value is needed here.') : ''
}

/** New, exists or invalid, as a tag. */
export function verdictTag({ verdict, usable }: Draft): unknown {
  if (verdict.verdict === 'exists') return html`<span class="tag warn">${t('Exists')}</span>`
  if (!usable) return html`<span class="tag bad">${t('Invalid')}</span>`
  return html`<span class="tag ok">${t('New')}</span>`
}

/** The complete command or address. */
export function target(body: Readonly<Record<string, unknown>>): string {
  if (typeof body.url === 'string') return visibleName(body.url)
  if (typeof body.command === 'string')
    return quotedWords([body.command, ...((body.args as string[] | undefined) ?? [])])
  const openapi = body.openapi as { url?: string } | undefined
  return openapi ? (openapi.url ?? t('an OpenAPI document')) : ''
}

function summary(body: Readonly<Record<string, unknown>>): unknown {
  const label = 'command' in body ? t('Command') : 'url' in body ? t('Address') : t('Document')
  const text = target(body)
  return text === ''
    ? nothing
    : html`<div class="field"><span class="lbl">${label}</span><pre class="code wrap">${text}</pre></div>`
}

function stepLine(step: Step): unknown {
  const { name, ok, durationMs } = step
  const image =
    ok === undefined
      ? icon('loader-circle', { class: 'run' })
      : ok
        ? icon('circle-check', { class: 'ok' })
        : icon('circle-x', { class: 'bad' })
  return html`<li>${image}<span>${stepName(name)} <span class="d">${stepDetail(step)}</span></span><span class="f xs tn">${durationMs === undefined ? '' : formatMs(durationMs)}</span></li>`
}

function stepDetail({ code, count, detail = '' }: Step): string {
  if (code !== undefined) return problemText({ code, message: detail })
  return count === undefined ? detail : plural(count, '{n} tool', '{n} tools')
}

function stepName(name: string): string {
  if (name === 'check') return t('Check the configuration')
  if (name === 'make its packages ready') return t('Install its package')
  if (name === 'start the process') return t('Start')
  if (name.startsWith('load the transport')) return t('Connect')
  if (name === 'initialize' || name === 'server/discover') return t('Initialize')
  if (name === 'open') return t('Read the document')
  return name === 'tools/list' ? t('List tools') : name
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-entry': PbEntry
  }
}
