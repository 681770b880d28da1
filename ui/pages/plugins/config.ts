import { html, nothing, type PropertyValues } from 'lit'
import { api, segment } from '../../api/client.ts'
import { type ApiError, asApiError, type FieldProblem } from '../../api/problem.ts'
import { live } from '../../app/live.ts'
import { router } from '../../app/router.ts'
import { PbElement } from '../../components/element.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { toast } from '../../components/layers/toast.ts'
import { segments } from '../../components/page.ts'
import type { PbSchemaForm, SchemaFormChange } from '../../components/schema-form/schema-form.ts'
import { errorState } from '../../components/states.ts'
import { fieldText, problemText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'
import type { Plugin } from './plugin.ts'
import '../../components/json/json-editor.ts'
import '../../components/schema-form/schema-form.ts'

const BELOW = '#/config'

/**
 * The configuration of a plugin: a form from its schema, and the same as JSON. Entered values stay until they are saved or the
 * page is left.
 *
 * @fires pb-saved - `detail: Plugin`, as it is afterwards
 */
export class PbPluginConfig extends PbElement {
  static override properties = {
    plugin: { attribute: false },
    value: { state: true },
    text: { state: true },
    raw: { state: true },
    error: { state: true },
    busy: { state: true },
    changed: { state: true },
  }
  declare plugin: Plugin
  declare value: unknown
  /** The JSON as typed, while that is shown. */
  declare text: string
  declare raw: boolean
  declare error: ApiError | undefined
  declare busy: boolean
  declare changed: boolean
  #unguard: (() => void) | undefined
  #shown = ''

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#unguard?.()
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    const { name, config, configSchema } = this.plugin
    const shown = JSON.stringify([name, config])
    // Reading the same plugin again must not discard entered values.
    if (shown === this.#shown || (this.changed && this.#shown.startsWith(`["${name}",`))) return
    this.#shown = shown
    this.#restart(configSchema === undefined)
  }

  #restart(raw: boolean): void {
    this.value = this.plugin.config ?? {}
    this.text = JSON.stringify(this.value, null, 2)
    this.raw = raw
    this.error = undefined
    this.#mark(false)
  }

  override render(): unknown {
    const { configSchema, configurable } = this.plugin
    if (configurable === false) return html`<p class="hint">${t('This plugin takes no configuration.')}</p>`
    return html`<form id="plugin-config" class="stack l" novalidate @submit=${this.#save}>
      <div class="row"><h3 class="med s">${t('Configuration')}</h3>${
        configSchema
          ? html`<span class="push">${segments(
              t('Shown as'),
              [
                { id: 'form', label: t('Form') },
                { id: 'json', label: 'JSON' },
              ],
              this.raw ? 'json' : 'form',
              kind => this.#show(kind === 'json'),
              'sm',
            )}</span>`
          : nothing
      }</div>
      ${this.error ? html`${errorState(this.error)}${this.#summary()}` : nothing}
      ${this.raw || !configSchema ? this.#editor() : this.#form(configSchema)}
      <p class="hint">${t('The plugin starts again with it. Dots stand for stored secrets: leave them to keep one. It holds until the hub’s next start, which reads the settings file.')}</p></form>`
  }

  #form(schema: NonNullable<Plugin['configSchema']>): unknown {
    return html`<pb-schema-form .schema=${schema} .value=${this.value} .problems=${this.#problems()} .disabled=${this.busy} @pb-change=${(
      event: CustomEvent<SchemaFormChange>,
    ) => {
      this.value = event.detail.value
      this.#mark(true)
    }}></pb-schema-form>`
  }

  #editor(): unknown {
    return html`<pb-json-editor .label=${t('Configuration')} .text=${this.text} .rows=${14} @pb-change=${(
      event: CustomEvent<{ readonly text: string }>,
    ) => {
      this.text = event.detail.text
      this.#mark(true)
    }}></pb-json-editor>`
  }

  /** List of errors; with a form, each is a link to its field. */
  #summary(): unknown {
    const problems = this.#problems()
    if (problems.length === 0) return nothing
    return html`<ul class="plain xs">${problems.map(
      ({ pointer, detail }) =>
        html`<li>${
          this.raw
            ? html`<code>${pointer}</code>`
            : html`<button type="button" class="btn ghost sm" @click=${() => this.#focus(pointer)}>${pointer.slice(1)}</button>`
        } ${detail}</li>`,
    )}</ul>`
  }

  #problems(): readonly FieldProblem[] {
    return (this.error?.fields ?? []).map(problem => ({
      ...problem,
      detail: fieldText(problem),
      pointer: problem.pointer.startsWith(BELOW) ? problem.pointer.slice(BELOW.length) : problem.pointer,
    }))
  }

  #focus(pointer: string): void {
    this.querySelector<PbSchemaForm>('pb-schema-form')?.focusField(pointer)
  }

  /** Switches between form and JSON of the same value; a text that cannot be parsed stays as it is. */
  #show(raw: boolean): void {
    if (raw) this.text = JSON.stringify(this.value ?? {}, null, 2)
    else {
      const value = parsed(this.text)
      if (value === undefined) return
      this.value = value
    }
    this.raw = raw
  }

  #mark(changed: boolean): void {
    if (changed) this.error = undefined
    this.changed = changed
    this.#unguard?.()
    this.#unguard = changed ? router.guard(leave) : undefined
  }

  readonly #save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    if (this.busy || !live.reachable) return
    const form = this.querySelector<PbSchemaForm>('pb-schema-form')
    if (form && form.check().length > 0) return
    const config = this.raw ? parsed(this.text) : this.value
    if (config === undefined) return
    const { name } = this.plugin
    this.busy = true
    try {
      const after = await api.patch<Plugin>(`/api/admin/plugins/${segment(name)}`, { body: { config } })
      this.#mark(false)
      toast(
        after.state === 'running'
          ? t('{name} runs with the new configuration', { name })
          : t('{name} did not start: {reason}', { name, reason: failureOf(after) }),
      )
      this.dispatchEvent(new CustomEvent('pb-saved', { detail: after }))
    } catch (error) {
      this.error = asApiError(error)
      const [first] = this.#problems()
      if (first) void this.updateComplete.then(() => this.#focus(first.pointer))
    }
    this.busy = false
  }
}
customElements.define('pb-plugin-config', PbPluginConfig)

/** The object in a JSON text; undefined if it is invalid, which the editor reports. */
function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

function leave(): Promise<boolean> {
  return confirmed({
    title: t('Leave without saving?'),
    text: t('The changed configuration is lost.'),
    action: t('Leave'),
    danger: false,
  })
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-plugin-config': PbPluginConfig
  }
}

function failureOf({ code = '', message, state }: Plugin): string {
  return message === undefined ? state : problemText({ code, message })
}
