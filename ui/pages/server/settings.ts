import { html, nothing, type PropertyValues } from 'lit'
import { api } from '../../api/client.ts'
import { type ApiError, asApiError, type FieldProblem } from '../../api/problem.ts'
import { refOf, serverPath } from '../../api/servers.ts'
import { hasRole } from '../../api/sharing.ts'
import type { GroupRecord, ServerRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { router } from '../../app/router.ts'
import { PbElement } from '../../components/element.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { toast } from '../../components/layers/toast.ts'
import type { PbSchemaForm, SchemaFormChange } from '../../components/schema-form/schema-form.ts'
import { errorState, show } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { fieldText } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'
import { groupsWith } from '../servers/bulk.ts'
import { conflictView } from './conflict.ts'
import { differences, type JsonObject, mergePatch, patched } from './merge-patch.ts'
import { settingsOf, settingsSchema } from './settings-schema.ts'
import '../../components/json/json-editor.ts'
import '../../components/schema-form/schema-form.ts'

/** Settings of a server as a form and as JSON, both at once and in step. */
export class PbServerSettings extends PbElement {
  static override properties = {
    server: { attribute: false },
    groups: { attribute: false },
    draft: { state: true },
    text: { state: true },
    error: { state: true },
    theirs: { state: true },
    busy: { state: true },
  }
  declare server: ServerRecord
  declare groups: readonly GroupRecord[]
  /** The settings as edited. */
  declare draft: JsonObject
  declare text: string
  declare error: ApiError | undefined
  /** The record that another user has saved meanwhile. */
  declare theirs: ServerRecord | undefined
  declare busy: boolean
  /** The settings that the draft began with. */
  #base: JsonObject = {}
  #revision: number | undefined
  #release: (() => void) | undefined
  readonly #schema = new Resource(this, {
    key: () => [this.server.transport, refOf(this.server)],
    read: () => settingsSchema(this.server),
  })

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#release?.()
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    if (!changed.has('server') || this.server.revision === this.#revision) return
    // A draft stays: saving it shows the changes made meanwhile.
    if (this.#revision === undefined || !this.#isChanged) this.#take(this.server)
  }

  get #isChanged(): boolean {
    return Object.keys(mergePatch(this.#base, this.draft ?? this.#base)).length > 0
  }

  #take(server: ServerRecord, draft: JsonObject = settingsOf(server)): void {
    this.#base = settingsOf(server)
    this.#revision = server.revision
    this.#set(draft)
  }

  #set(draft: JsonObject, text = JSON.stringify(draft, null, 2)): void {
    this.draft = draft
    this.text = text
    if (this.#isChanged) this.#release ??= router.guard(() => this.#leaves())
    else {
      this.#release?.()
      this.#release = undefined
    }
  }

  #leaves(): Promise<boolean> {
    return confirmed({
      title: t('Leave without saving?'),
      text: t('The changed settings of {name} are lost.', { name: this.server.name }),
      action: t('Leave'),
    })
  }

  override render(): unknown {
    if (this.server.origin === 'file')
      return html`<section class="card pad"><pb-json .value=${settingsOf(this.server)} label=${t('Settings')}></pb-json></section>`
    return html`${this.theirs ? this.#conflict(this.theirs) : this.#problems()}${this.#ofOwner()}
      ${show(this.#schema, schema => this.#editor(schema))}${this.#danger()}`
  }

  /** For a colleague: what the hub would refuse, before it is typed. */
  #ofOwner(): unknown {
    const { owner, transport } = this.server
    if (hasRole(this.server, 'owner')) return nothing
    return html`<div class="callout" role="note">${icon('user-round')}<div class="grow stack t"><p>${t('Only {owner} can change the name, the visibility and whose credentials it uses, pass on more headers, or use variables in more places.', { owner })}</p><p>${
      transport === 'stdio'
        ? t(
            'If {owner} has more rights than you, only {owner} can change what it runs: command, arguments, variables, folder and sandbox.',
            { owner },
          )
        : t(
            'For another address, enter its secrets again. Where headers are passed on, {owner} alone changes the address.',
            { owner },
          )
    }</p></div></div>`
  }

  #editor(schema: JsonObject): unknown {
    const typed = ({ detail }: CustomEvent<{ text: string; mistake?: unknown }>): void => {
      const value: unknown = detail.mistake || detail.text.trim() === '' ? undefined : JSON.parse(detail.text)
      if (typeof value === 'object' && value !== null && !Array.isArray(value))
        this.#set(value as JsonObject, detail.text)
      else this.text = detail.text
    }
    const count = differences(this.#base, this.draft).length
    return html`<form class="grid2 setgrid" novalidate @submit=${this.#submitted}><section class="card"><div class="ch"><h2>${t('Form')}</h2></div><div class="cb"><pb-schema-form .schema=${schema} .value=${this.draft}
        .problems=${this.#fieldProblems()} @pb-change=${({ detail }: CustomEvent<SchemaFormChange>) => this.#set(detail.value as JsonObject)}></pb-schema-form>
        <p class="hint">${t('Dots stand for a stored secret. Leave them, or type a new one in their place.')}</p></div></section>
      <section class="card"><div class="ch"><h2>JSON</h2></div><div class="cb"><pb-json-editor label=${t('Settings as JSON')} rows="24" .text=${this.text} @pb-change=${typed}></pb-json-editor></div></section>
      <div class="savebar row wrap"><button type="submit" class="btn pri" ?disabled=${this.busy || count === 0 || !live.reachable}>${this.busy ? t('Saving') : t('Save')}</button>
        <button type="button" class="btn ghost" ?disabled=${count === 0} @click=${() => this.#take(this.server)}>${t('Discard')}</button><span class="hint" role="status">${
          count === 0 ? t('Nothing is changed') : plural(count, '{n} field changed', '{n} fields changed')
        }</span></div></form>`
  }

  /** Pointers of the hub begin with a number sign. */
  #fieldProblems(): readonly FieldProblem[] {
    return (this.error?.fields ?? []).map(field => ({
      ...field,
      detail: fieldText(field),
      pointer: field.pointer.replace(/^#/, ''),
    }))
  }

  #problems(): unknown {
    const { error } = this
    if (!error) return nothing
    const fields = this.#fieldProblems()
    if (fields.length === 0) return errorState(error)
    const go =
      (pointer: string) =>
      (event: Event): void => {
        event.preventDefault()
        this.querySelector<PbSchemaForm>('pb-schema-form')?.focusField(pointer)
      }
    return html`<div class="callout bad" role="alert" tabindex="-1">${icon('circle-x')}<div class="grow stack t"><p><b>${plural(fields.length, '{n} field is not valid', '{n} fields are not valid')}</b></p><ul>${fields.map(
      ({ pointer, detail }) => html`<li><a href="#" @click=${go(pointer)}><code>${pointer}</code></a> ${detail}</li>`,
    )}</ul><p class="row wrap xs q"><code>${error.code}</code>${error.requestId === undefined ? nothing : html`<code>${error.requestId}</code><pb-copy .text=${error.requestId}></pb-copy>`}</p></div></div>`
  }

  #conflict(theirs: ServerRecord): unknown {
    return conflictView({
      base: this.#base,
      refusal: this.error,
      theirs: settingsOf(theirs),
      mine: this.draft,
      takeTheirs: () => {
        this.theirs = undefined
        this.error = undefined
        this.#take(theirs)
        this.#tell(theirs)
      },
      keepMine: () => {
        const mine = mergePatch(this.#base, this.draft)
        this.theirs = undefined
        this.error = undefined
        this.#take(theirs, patched(settingsOf(theirs), mine))
      },
    })
  }

  #danger(): unknown {
    if (!hasRole(this.server, 'owner')) return nothing
    const losing = groupsWith([this.server], this.groups)
    const remove = (): void => void this.dispatchEvent(new CustomEvent('pb-delete', { bubbles: true }))
    return html`<section class="card pad row wrap"><div class="grow"><h2 class="sech">${t('Delete this server')}</h2><p class="s q">${
      losing.length === 0
        ? t('Its settings and secrets are gone then. It is in no group.')
        : t('Its settings and secrets are gone then, and these groups lose it: {names}.', {
            names: losing.map(({ name }) => name).join(', '),
          })
    }</p></div><button type="button" class="btn bad" ?disabled=${!live.reachable} @click=${remove}>${icon('trash-2')}${t('Delete server')}</button></section>`
  }

  readonly #submitted = (event: Event): void => {
    event.preventDefault()
    void this.#save()
  }

  async #save(): Promise<void> {
    if (this.querySelector('pb-json-editor')?.mistake) return toast(t('The JSON has a mistake. Mend it first.'))
    if (this.querySelector<PbSchemaForm>('pb-schema-form')?.check().length) return
    this.busy = true
    this.error = undefined
    try {
      const body = mergePatch(this.#base, this.draft)
      const after = await api.patch<ServerRecord>(serverPath(refOf(this.server)), { body, revision: this.#revision })
      const isRenamed = refOf(after) !== refOf(this.server)
      this.#take(after)
      this.#tell(after)
      toast(t('{name} saved', { name: after.name }))
      if (isRenamed) await router.go(`/servers/${encodeURIComponent(refOf(after))}?tab=settings`, { replace: true })
    } catch (error) {
      await this.#failed(asApiError(error))
    }
    this.busy = false
  }

  async #failed(error: ApiError): Promise<void> {
    if (error.status === 412) {
      this.theirs = await api.get<ServerRecord>(serverPath(refOf(this.server))).catch(() => undefined)
      this.error = error
      if (this.theirs) return
    }
    this.error = error
    await this.updateComplete
    this.querySelector<HTMLElement>('.callout.bad')?.focus()
  }

  #tell(server: ServerRecord): void {
    this.dispatchEvent(new CustomEvent('pb-server', { detail: server, bubbles: true }))
  }
}
customElements.define('pb-server-settings', PbServerSettings)

declare global {
  interface HTMLElementTagNameMap {
    'pb-server-settings': PbServerSettings
  }
}
