import { html, nothing, type PropertyValues } from 'lit'
import { refOf } from '../../api/servers.ts'
import type { GroupRecord, ToolRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { copyText } from '../../components/copy.ts'
import { PbElement } from '../../components/element.ts'
import type { PbJsonEditor } from '../../components/json/json-editor.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { toast } from '../../components/layers/toast.ts'
import { segments } from '../../components/page.ts'
import { newValue, type PbSchemaForm, type SchemaFormChange } from '../../components/schema-form/schema-form.ts'
import { formatClock, formatMs } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { readGroups } from '../servers/data.ts'
import { type CallTarget, canBeClient, curlOf, type Run, startCall } from './call.ts'
import { outcomeLine, outcomeMark, outcomeView, type ResultView, runningView } from './outcome.ts'
import './question.ts'
import '../../components/json/json-editor.ts'

/** Calls of one tool that are remembered; only in this tab, since inputs may hold secrets. */
const MOST_RUNS = 20
const history = new Map<string, readonly Run[]>()
const inputs = new Map<string, unknown>()

/** Tries a tool: its input as a synchronized form and JSON, the call, its result, and previous calls. */
export class PbTryTool extends PbElement {
  static override properties = {
    target: { attribute: false },
    groups: { attribute: false },
    tool: { attribute: false },
    mode: { state: true },
    input: { state: true },
    text: { state: true },
    run: { state: true },
    view: { state: true },
    now: { state: true },
  }
  declare target: CallTarget
  /** Read when they are needed, if they are absent. */
  declare groups: readonly GroupRecord[] | undefined
  declare tool: ToolRecord
  declare mode: 'form' | 'json'
  declare input: unknown
  /** The input as JSON, as it is typed. */
  declare text: string
  declare run: Run | undefined
  declare view: ResultView
  declare now: number
  #abort: (() => void) | undefined
  #timer: ReturnType<typeof setInterval> | undefined
  #key = ''

  constructor() {
    super()
    this.mode = 'form'
    this.view = 'structured'
  }

  override connectedCallback(): void {
    super.connectedCallback()
    addEventListener('keydown', this.#pressed)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    removeEventListener('keydown', this.#pressed)
    clearInterval(this.#timer)
    this.#abort?.()
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    const key = `${this.target.kind} ${refOf(this.target)} ${this.tool.name}`
    if (key === this.#key) return
    this.#abort?.()
    this.#key = key
    this.#setInput(inputs.get(key) ?? newValue(this.#schema()) ?? {})
    this.run = history.get(key)?.[0]
  }

  #schema(): Readonly<Record<string, unknown>> {
    return this.tool.inputSchema ?? { type: 'object' }
  }

  #setInput(input: unknown): void {
    this.input = input
    this.text = JSON.stringify(input, null, 2) ?? '{}'
    inputs.set(this.#key, input)
  }

  get #running(): boolean {
    return this.run !== undefined && this.run.outcome === undefined
  }

  override render(): unknown {
    const { tool } = this
    const modes = [
      { id: 'form' as const, label: t('Form') },
      { id: 'json' as const, label: 'JSON' },
    ]
    return html`<section class="card trypane" aria-label=${t('Try {name}', { name: tool.name })}><div class="ch line"><div class="grow"><h2 class="mono big-t">${tool.name}</h2>
      <p class="s q tooldesc">${tool.description ?? tool.title ?? ''}</p></div>${segments(t('Input as'), modes, this.mode, mode => this.#setMode(mode), 'sm')}</div>
      <div class="trycols"><form class="tryform stack l" novalidate @submit=${this.#submitted}>${this.#fields()}${this.#bar()}</form><div class="tryres stack">${this.#result()}</div></div></section>${this.#history()}`
  }

  #fields(): unknown {
    if (this.mode === 'json')
      return html`<pb-json-editor label=${t('Input as JSON')} .text=${this.text} @pb-change=${({
        detail,
      }: CustomEvent<{ text: string; mistake?: unknown }>) => {
        this.text = detail.text
        if (!detail.mistake && detail.text.trim() !== '') this.#keepTyped(detail.text)
      }}></pb-json-editor>`
    return html`<pb-schema-form .schema=${this.#schema()} .value=${this.input} ?disabled=${this.#running} @pb-change=${({ detail }: CustomEvent<SchemaFormChange>) => this.#setInput(detail.value)}></pb-schema-form>`
  }

  #keepTyped(text: string): void {
    this.input = JSON.parse(text) as unknown
    inputs.set(this.#key, this.input)
  }

  #setMode(mode: 'form' | 'json'): void {
    if (mode === this.mode) return
    const editor = this.querySelector<PbJsonEditor>('pb-json-editor')
    if (editor?.mistake) return toast(t('The JSON has a mistake. Mend it first.'))
    this.mode = mode
    if (mode === 'json') this.text = JSON.stringify(this.input, null, 2) ?? '{}'
  }

  #bar(): unknown {
    if (this.#running)
      return html`<div class="runbar row"><button type="button" class="btn" @click=${() => this.#abort?.()}>${icon('square')}${t('Cancel')}</button><kbd class="wide">Esc</kbd><span class="hint">${t(
        'The server is notified; its finished work is not undone.',
      )}</span></div>`
    const off = this.#refusal()
    return html`<div class="runbar row wrap"><button type="submit" class="btn pri" ?disabled=${off !== undefined}>${icon('play')}${t('Run tool')}</button><kbd class="wide">Ctrl ↵</kbd><button type="button" class="btn ghost"
      @click=${() => this.#setInput(newValue(this.#schema()) ?? {})}>${t('Reset')}</button><span class="push"><button type="button" class="btn ghost" aria-label=${t('Copy as curl')} title=${t('Copy as curl')} @click=${this.#curl}>${icon(
        'copy',
      )}curl</button></span></div>${off === undefined ? nothing : html`<p class="hint warn">${off}</p>`}`
  }

  /** Why the tool cannot be run now. */
  #refusal(): string | undefined {
    if (!live.reachable) return t('The hub does not answer.')
    if (this.tool.enabled === false) return t('This tool is switched off.')
    if (this.tool.waiting) return t('Its definition has changed: approve it first.')
    return undefined
  }

  #result(): unknown {
    const { run } = this
    if (!run) return html`<p class="s q tryempty">${t('What the tool answers comes here.')}</p>`
    const question = run.question
      ? html`<pb-server-question .question=${run.question} .name=${this.target.name}></pb-server-question>`
      : nothing
    if (run.outcome)
      return outcomeView(run, this.view, view => {
        this.view = view
      })
    return html`${runningView(run, this.now || Date.now())}${question}`
  }

  #history(): unknown {
    const runs = (history.get(this.#key) ?? []).filter(({ outcome }) => outcome !== undefined)
    if (runs.length === 0) return nothing
    return html`<section class="card"><div class="ch"><h3>${t('History')}</h3><span class="r f xs">${t('this tool, in this tab')}</span></div><ul class="feed hist">${runs.map(run => this.#past(run))}</ul></section>`
  }

  #past(run: Run): unknown {
    if (!run.outcome) return nothing
    const { icon: name, tone, word } = outcomeMark(run.outcome)
    const clock = formatClock(run.startedMs)
    const again = t('Run again with the same input, {clock}', { clock })
    const show = (): void => {
      this.run = run
      this.#setInput(run.input)
    }
    return html`<li>${icon(name, { class: tone, label: word })}<button type="button" class="cut linklike" title=${t('Show this result')} @click=${show}><span class=${run.outcome.kind === 'result' && !run.outcome.result.isError ? 'mono' : ''}>${outcomeLine(run)}</span></button><span
      class="row"><span class="q xs tn">${formatMs(run.durationMs ?? 0)}</span><span class="f xs tn">${clock}</span><button type="button" class="btn ghost sm ico" aria-label=${again} title=${again} ?disabled=${this.#running} @click=${() => {
        this.#setInput(run.input)
        void this.#start()
      }}>${icon('rotate-ccw')}</button></span></li>`
  }

  readonly #submitted = (event: Event): void => {
    event.preventDefault()
    void this.#start()
  }

  readonly #curl = async (): Promise<void> => {
    const done = await copyText(curlOf(this.target, this.tool.name, this.input))
    toast(
      done
        ? t('Copied. PATCHBAY_TOKEN stands for an access key of yours.')
        : t('This browser lets nothing be copied here. Select the text instead.'),
    )
  }

  async #start(): Promise<void> {
    if (this.#running || this.#refusal() !== undefined) return
    const editor = this.querySelector<PbJsonEditor>('pb-json-editor')
    if (editor?.mistake) return editor.focus()
    if (this.querySelector<PbSchemaForm>('pb-schema-form')?.check().length) return
    if (this.tool.annotations?.destructiveHint === true && this.tool.annotations.readOnlyHint !== true) {
      const yes = await confirmed({
        title: t('Run {name}?', { name: this.tool.name }),
        text: html`<p>${t('The server says that this tool may delete or overwrite something. It runs with this input:')}</p><pb-json .value=${this.input}></pb-json>`,
        action: t('Run tool'),
      })
      if (!yes) return
    }
    this.#call(await this.#asClient())
  }

  /** A group is always at its address; a server is, unless a group of the same name is there. */
  async #asClient(): Promise<boolean> {
    const { kind, owner, name, transport = '' } = this.target
    if (kind === 'group') return true
    const groups = this.groups ?? (await readGroups().catch(() => undefined))
    return canBeClient({ owner, name, transport }, groups)
  }

  #call(asClient: boolean): void {
    const key = this.#key
    const changed = (news: Run): void => {
      if (news.outcome) this.#ended(key)
      if (this.run?.id === news.id) this.requestUpdate()
    }
    const { run, abort } = startCall(this.target, this.tool.name, this.input, changed, asClient)
    history.set(key, [run, ...(history.get(key) ?? [])].slice(0, MOST_RUNS))
    this.run = run
    this.#abort = abort
    clearInterval(this.#timer)
    this.#timer = setInterval(() => {
      this.now = Date.now()
    }, 200)
  }

  #ended(key: string): void {
    clearInterval(this.#timer)
    this.#abort = undefined
    history.set(key, [...(history.get(key) ?? [])])
    this.requestUpdate()
  }

  readonly #pressed = (event: KeyboardEvent): void => {
    if (document.querySelector('wa-dialog[open], wa-drawer[open]')) return
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault()
      void this.#start()
    } else if (event.key === 'Escape' && this.#running) this.#abort?.()
  }
}
customElements.define('pb-try-tool', PbTryTool)

declare global {
  interface HTMLElementTagNameMap {
    'pb-try-tool': PbTryTool
  }
}
