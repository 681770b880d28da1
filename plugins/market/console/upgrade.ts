import { html, nothing } from 'lit'
import {
  api,
  drawer,
  errorState,
  hide,
  hubWords,
  icon,
  live,
  PbElement,
  Plan,
  quotedWords,
  segment,
  segments,
  skeleton,
  t,
  toast,
} from 'patchbay/console'
import type { TemplateInput, UpgradeConflict, UpgradePlan } from './api.ts'
import { inputField } from './input-field.ts'

type Choice = 'keep' | 'take'

/**
 * The drawer of a change to another version: what would change, what stays, conflicts of both sides, and only then the button.
 * Emits `pb-changed` after the change, and `pb-close`.
 */
export class PbUpgrade extends PbElement {
  static override properties = {
    server: {},
    way: {},
    busy: { state: true },
    inputs: { state: true },
    choices: { state: true },
  }
  /** `owner~name`; undefined: closed. */
  declare server: string | undefined
  /** Direction: to the version that its source lists now, or back to the one before the last upgrade. */
  declare way: 'up' | 'back'
  declare busy: boolean
  declare inputs: Readonly<Record<string, string>>
  declare choices: Readonly<Record<string, Choice>>
  readonly #plan = new Plan<UpgradePlan>(this, () =>
    api.post(this.#path(), { query: { dryRun: true }, body: this.#request() }),
  )

  constructor() {
    super()
    this.way = 'up'
    this.#clear()
  }

  protected override willUpdate(changed: Map<string, unknown>): void {
    if (!changed.has('server') && !changed.has('way')) return
    this.#clear()
    if (this.server !== undefined) void this.#plan.now()
  }

  override render(): unknown {
    const name = this.server?.split('~').pop() ?? ''
    const { value: plan, error, stale } = this.#plan
    return drawer({
      open: this.server !== undefined,
      title: this.way === 'up' ? t('Upgrade {name}', { name }) : t('Downgrade {name}', { name }),
      onClose: () => this.dispatchEvent(new CustomEvent('pb-close')),
      body: html`<div class="stack">${error ? errorState(error) : nothing}${plan ? this.#shown(plan) : error ? nothing : skeleton()}</div>`,
      foot: plan
        ? html`<button type="button" class="btn pri" ?disabled=${this.busy || stale || !live.reachable || this.#open(plan)} @click=${this.#apply}>${
            this.busy ? t('Saving') : t('Change to {version}', { version: plan.to })
          }</button><button type="button" class="btn ghost" @click=${hide}>${t('Cancel')}</button>`
        : undefined,
    })
  }

  /** True when a value or a choice is still missing. */
  #open({ missing, conflicts }: UpgradePlan): boolean {
    return missing.length > 0 || conflicts.some(({ pointer }) => this.choices[pointer] === undefined)
  }

  #shown(plan: UpgradePlan): unknown {
    const { argv, argvBefore, inputs } = plan
    const sameCommand = JSON.stringify(argv) === JSON.stringify(argvBefore)
    const changes = plan.changes.filter(({ pointer }) => !/^\/(?:command|args)\b/.test(pointer) || argv.length === 0)
    return html`<p class="s">${t('From {from} to {to}.', { from: plan.from, to: plan.to })} ${
      plan.reconnects ? t('The server reconnects.') : t('The server is off and stays off.')
    }</p>${plan.warnings.map(text => html`<div class="callout warn">${icon('triangle-alert')}<p>${hubWords(text)}</p></div>`)}${plan.conflicts.map(
      conflict => this.#conflict(conflict),
    )}${inputs.added.map(input => this.#input(input))}${
      argv.length === 0 || sameCommand
        ? nothing
        : html`<div class="field"><span class="lbl">${t('Runs now')}</span><pre class="code wrap" tabindex="0">${quotedWords(argvBefore)}</pre></div><div class="field"><span class="lbl">${t('Will run')}</span><pre class="code wrap" tabindex="0">${quotedWords(argv)}</pre></div>`
    }${changes.length === 0 ? nothing : changesTable(changes)}${names(t('What you changed by hand and keep'), plan.kept)}${names(t('Values that stay'), inputs.kept)}${names(t('Values that are not asked for any more'), inputs.removed)}`
  }

  #conflict({ pointer, installed, present, offered }: UpgradeConflict): unknown {
    return html`<section class="callout warn clash" aria-label=${pointer}>${icon('git-compare')}<div class="grow stack t"><p><b>${t('You and the template both changed {place}', { place: pointer })}</b></p>
      <dl class="kv short"><dt>${t('Installed')}</dt><dd class="mono wrapx">${text(installed)}</dd><dt>${t('Yours')}</dt><dd class="mono wrapx">${text(present)}</dd><dt>${t('The template')}</dt><dd class="mono wrapx">${text(offered)}</dd></dl>
      ${segments<Choice | 'open'>(
        t('Which counts at {place}', { place: pointer }),
        [
          { id: 'keep', label: t('Keep mine') },
          { id: 'take', label: t('Take the template’s') },
        ],
        this.choices[pointer] ?? 'open',
        choice => {
          if (choice !== 'open') this.choices = { ...this.choices, [pointer]: choice }
          void this.#plan.now()
        },
      )}</div></section>`
  }

  #input(input: TemplateInput): unknown {
    return inputField(`upgrade-${input.name}`, input, this.inputs[input.name] ?? '', value => {
      this.inputs = { ...this.inputs, [input.name]: value }
      this.#plan.soon()
    })
  }

  #clear(): void {
    this.#plan.clear()
    this.busy = false
    this.inputs = {}
    this.choices = {}
  }

  #path(): string {
    return `/api/servers/${segment(this.server ?? '')}/${this.way === 'up' ? 'upgrade' : 'downgrade'}`
  }

  #request(): object {
    const inputs = Object.fromEntries(Object.entries(this.inputs).filter(([, value]) => value !== ''))
    return { inputs, choices: this.choices }
  }

  readonly #apply = async (): Promise<void> => {
    const { value: plan, stale } = this.#plan
    if (!plan || stale) return
    this.busy = true
    try {
      await api.post(this.#path(), { body: { ...this.#request(), planHash: plan.planHash } })
      toast(t('{name} is now of version {version}.', { name: this.server?.split('~').pop() ?? '', version: plan.to }))
      this.dispatchEvent(new CustomEvent('pb-changed'))
      this.dispatchEvent(new CustomEvent('pb-close'))
    } catch (error) {
      await this.#plan.failed(error)
    }
    this.busy = false
  }
}
customElements.define('pb-upgrade', PbUpgrade)

function changesTable(changes: UpgradePlan['changes']): unknown {
  return html`<div class="tw"><table class="cards"><thead><tr><th scope="col">${t('Field')}</th><th scope="col">${t('Now')}</th><th scope="col">${t('Then')}</th></tr></thead><tbody>${changes.map(
    ({ pointer, from, to }) =>
      html`<tr><td class="mono wrapx">${pointer}</td><td class="mono wrapx" data-l=${t('Now')}>${text(from)}</td><td class="mono wrapx" data-l=${t('Then')}>${text(to)}</td></tr>`,
  )}</tbody></table></div>`
}

function names(label: string, entries: readonly string[]): unknown {
  if (entries.length === 0) return nothing
  return html`<div class="field"><span class="lbl">${label}</span><p class="row wrap">${entries.map(entry => html`<code class="tag line">${entry}</code>`)}</p></div>`
}

function text(value: unknown): string {
  if (value === undefined || value === null) return t('not set')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-upgrade': PbUpgrade
  }
}
