import { html, nothing } from 'lit'
import { createRef, ref } from 'lit/directives/ref.js'
import { api } from '../../api/client.ts'
import { ApiError, asApiError } from '../../api/problem.ts'
import { live } from '../../app/live.ts'
import { piecesOf } from '../../app/parts.ts'
import { pluginPages } from '../../app/plugin-pages.ts'
import { href, router } from '../../app/router.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { toast } from '../../components/layers/toast.ts'
import { type Crumb, PbPage, tabs } from '../../components/page.ts'
import { errorState, errorText } from '../../components/states.ts'
import { fieldText } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'
import { type Body, Draft, type IfExists, positionOf, type Verdict } from './draft.ts'
import { type PbEntry, target, verdictTag } from './entry.ts'
import { pointersOf, type SwitchedFile, switchedFile } from './original.ts'
import { pathOf, saveDrafts } from './save.ts'
import '../../app/piece-element.ts'
import './manual.ts'

/** Key under which other pages store pasted text before they navigate here. */
const HANDED_OVER = 'patchbay.paste'
/** The console's own ways; `market` is a link, and plugins have others. */
const OWN_WAYS: ReadonlySet<string> = new Set(['paste', 'program', 'url', 'openapi'])

/** Adds servers from pasted text, or by a form for each kind. Nothing is saved or started before Save. */
export class PbPageAddServer extends PbPage {
  static override properties = {
    text: { state: true },
    drafts: { state: true },
    at: { state: true },
    error: { state: true },
    problems: { state: true },
    busy: { state: true },
    switchOff: { state: true },
    switched: { state: true },
  }
  declare text: string
  /** Entries found; undefined: nothing was read yet. */
  declare drafts: readonly Draft[] | undefined
  /** The draft in hand. */
  declare at: number
  declare error: ApiError | undefined
  declare problems: ReadonlyMap<number, ApiError>
  declare busy: boolean
  /** The saved entries are to be off in the pasted file. */
  declare switchOff: boolean
  /** The pasted file with what was saved switched off. */
  declare switched: SwitchedFile | undefined
  /** Pointers of the entries that are saved while others were refused. */
  #saved: readonly string[] = []
  readonly #entry = createRef<PbEntry>()
  #unguard: (() => void) | undefined

  constructor() {
    super()
    this.text = sessionStorage.getItem(HANDED_OVER) ?? ''
    this.at = 0
    this.problems = new Map()
    this.switchOff = false
    sessionStorage.removeItem(HANDED_OVER)
    if (this.text !== '') void this.#read()
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#unguard?.()
  }

  override crumbs(): readonly Crumb[] {
    return [{ label: t('Servers'), path: '/servers' }, { label: t('Add server') }]
  }

  override content(): unknown {
    if (this.switched) return html`<pb-switched-file .file=${this.switched}></pb-switched-file>`
    const asked = this.view('way') ?? 'paste'
    const pieces = piecesOf('add-server')
    const piece = pieces.find(({ id }) => id === asked)
    const way = piece || OWN_WAYS.has(asked) ? asked : 'paste'
    const ways = [
      { id: 'paste', label: t('Paste') },
      { id: 'program', label: t('Program') },
      { id: 'url', label: t('URL') },
      { id: 'openapi', label: 'OpenAPI' },
      ...pieces.map(({ id, title }) => ({ id, label: title() })),
      ...(pluginPages.has('market') ? [{ id: 'market', label: t('From the market') }] : []),
    ]
    const link = (id: string): string =>
      id === 'market' ? href('/market') : href('/servers/new', { way: id === 'paste' ? undefined : id })
    return html`${tabs(t('Ways to add'), ways, way, link)}<div class="addg" @pb-draft=${(event: CustomEvent<Draft>) => this.#replace(this.at, event.detail)}>
      <div class="stack">${piece ? html`<pb-piece .piece=${piece}></pb-piece>` : way === 'paste' ? this.#pasted() : this.#manual(way)}${piece ? nothing : this.#found()}</div>${piece ? nothing : this.#hand()}</div>`
  }

  #manual(way: string): unknown {
    return html`<pb-manual-form .kind=${way} @pb-body=${(event: CustomEvent<Body>) => this.#take(event.detail)}></pb-manual-form>`
  }

  #pasted(): unknown {
    const lines = this.text.split('\n').length
    return html`<section class="card"><div class="ch"><label for="pasted"><h2>${t('Paste a configuration, a command or an address')}</h2></label>
        <span class="r f xs wide">${this.drafts ? `${plural(lines, '{n} line', '{n} lines')}, ${plural(this.drafts.length, '{n} entry', '{n} entries')}` : nothing}</span></div>
      <div class="cb stack t"><textarea id="pasted" class="in code pasted" rows="12" spellcheck="false" autocapitalize="none" autofocus aria-describedby="pasted-hint"
        placeholder=${'{ "mcpServers": { … } }\nnpx -y @modelcontextprotocol/server-memory\nhttps://mcp.example.com/mcp'} .value=${this.text}
        @input=${(event: InputEvent) => this.#typed((event.target as HTMLTextAreaElement).value)} @paste=${() => setTimeout(() => void this.#read())}></textarea>
        <p class="hint" id="pasted-hint">${t('Settings of Claude Desktop, Cursor, VS Code, Codex and other clients, an install link, a line such as claude mcp add, a command or an address, with or without the page around it. Nothing is saved or started yet.')}</p>
        ${this.error ? errorState(this.error) : nothing}
        ${this.drafts ? nothing : html`<div><button type="button" class="btn pri" ?disabled=${this.text.trim() === '' || this.busy} @click=${() => void this.#read()}>${this.busy ? t('Reading') : t('Read it')}</button></div>`}</div></section>`
  }

  #found(): unknown {
    const { drafts } = this
    if (!drafts) return nothing
    const taken = drafts.filter(draft => draft.taken).length
    return html`<section class="card"><div class="ch line"><h2>${t('Found')}</h2><span class="r s q nw">${plural(taken, '{n} will be added', '{n} will be added')}</span></div>
      <ul class="list entries">${drafts.map((draft, at) => this.#row(draft, at))}</ul>${this.#originals(drafts)}</section>`
  }

  #originals(drafts: readonly Draft[]): unknown {
    if ((this.view('way') ?? 'paste') !== 'paste' || pointersOf(drafts).length === 0) return nothing
    const chosen = (event: Event): void => {
      this.switchOff = (event.target as HTMLInputElement).checked
    }
    return html`<div class="cb"><label class="chk"><input type="checkbox" id="switch-off" .checked=${this.switchOff} @change=${chosen}> ${t('Switch them off in this file')}</label>
      <p class="hint">${t('So that no server runs twice. After the save you get the changed file.')}</p></div>`
  }

  #row(draft: Draft, at: number): unknown {
    const { verdict, usable } = draft
    const exists = verdict.verdict === 'exists'
    const choose = (event: Event): void => {
      const { checked } = event.target as HTMLInputElement
      this.#replace(
        at,
        draft.with({
          chosen: checked,
          ...(exists && checked && draft.ifExists === 'skip'
            ? { ifExists: 'rename', name: this.#free(draft.name) }
            : {}),
        }),
      )
      this.at = at
    }
    return html`<li class=${at === this.at ? 'on' : ''}><input type="checkbox" aria-label=${t('Add {name}', { name: draft.name })} .checked=${draft.taken} ?disabled=${!usable} @change=${choose}>
      <div class="tx"><span class="t1"><button type="button" class="linkish" aria-current=${at === this.at ? 'true' : nothing} @click=${() => {
        this.at = at
      }}>${draft.name}</button>${verdictTag(draft)}</span><p class="t2 ${usable ? 'mono' : 'wrapx'}">${usable ? target(draft.body()) : this.#mistake(verdict)}</p>${(verdict.warnings ?? []).map(warning => html`<p class="t2 wrapx">${warning}</p>`)}</div>${this.#rowEnd(draft, at, exists)}</li>`
  }

  #rowEnd(draft: Draft, at: number, exists: boolean): unknown {
    const problem = this.problems.get(at)
    if (problem) return html`<span class="xs st-bad">${errorText(problem)}</span>`
    const righted = draft.usable ? undefined : draft.righted(this.text)
    if (righted)
      return html`<button type="button" class="btn sm" @click=${() => this.#replace(at, righted)}>${t('Use the right form')}</button>`
    if (!draft.usable)
      return html`<button type="button" class="btn sm" @click=${() => this.#fix(draft.verdict)}>${t('Fix')}</button>`
    if (exists) {
      const choices: readonly (readonly [IfExists, string])[] = [
        ['skip', t('Skip')],
        ['rename', t('Rename')],
        ['replace', t('Replace')],
      ]
      return html`<select class="in mini" aria-label=${t('What to do with {name}', { name: draft.verdict.name })} @change=${(event: Event) => this.#ifExists(at, draft, (event.target as HTMLSelectElement).value as IfExists)}>${choices.map(
        ([id, label]) => html`<option value=${id} ?selected=${draft.ifExists === id}>${label}</option>`,
      )}</select>`
    }
    return draft.missing === 0
      ? nothing
      : html`<span class="xs st-warn nw">${plural(draft.missing, '{n} value missing', '{n} values missing')}</span>`
  }

  #mistake({ pointer, error }: Verdict): string {
    const first = error?.errors?.[0]
    const detail = first ? fieldText(first) : error ? errorText(new ApiError(400, error)) : ''
    const place = pointer === undefined ? undefined : positionOf(this.text, pointer)
    return place ? t('Line {line}, column {column}: {detail}', { ...place, detail }) : detail
  }

  #hand(): unknown {
    const draft = this.drafts?.[this.at]
    if (!draft) return nothing
    const taken = this.drafts?.filter(one => one.taken) ?? []
    const missing = taken.some(one => one.missing > 0)
    const note =
      (this.drafts?.length ?? 0) > 1 ? t('{at} of {n}', { at: this.at + 1, n: this.drafts?.length ?? 0 }) : ''
    return html`<section class="card entry" aria-label=${draft.name}>${draft.usable ? html`<pb-entry class="cardpart" ${ref(this.#entry)} .draft=${draft} .note=${note} .problem=${this.problems.get(this.at)}></pb-entry>` : html`<div class="ch line"><h2>${draft.name}</h2>${verdictTag(draft)}</div><div class="cb"><p class="s">${this.#mistake(draft.verdict)}</p></div>`}
      <div class="foot row wrap"><button type="button" class="btn pri" ?disabled=${taken.length === 0 || missing || this.busy || !live.reachable} @click=${() => void this.#save(true)}>${this.busy ? t('Saving') : plural(taken.length, 'Save {n} server', 'Save {n} servers')}</button>
        <button type="button" class="btn ghost" ?disabled=${taken.length === 0 || this.busy || !live.reachable} @click=${() => void this.#save(false)}>${t('Save without testing')}</button>
        <span class="push"><a class="btn ghost" href=${href('/servers')}>${t('Cancel')}</a></span></div></section>`
  }

  #typed(text: string): void {
    this.text = text
    this.drafts = undefined
    this.error = undefined
    this.#watch()
  }

  async #read(): Promise<void> {
    if (this.text.trim() === '') return
    this.busy = true
    this.error = undefined
    try {
      const { entries } = await api.post<{ entries: readonly Verdict[] }>('/api/servers/import', {
        query: { dryRun: true },
        body: { document: this.text },
      })
      this.#show(entries.map(entry => Draft.of(entry, this.text)))
    } catch (error) {
      this.error = asApiError(error)
    }
    this.busy = false
  }

  /** A form's body goes the same way as an entry of a document. */
  async #take(body: Body): Promise<void> {
    this.text = JSON.stringify({ mcpServers: { [String(body.name)]: body } })
    await this.#read()
    if (this.error) toast(errorText(this.error))
  }

  #show(drafts: readonly Draft[]): void {
    this.#saved = []
    this.problems = new Map()
    this.drafts = drafts
    this.at = Math.max(
      0,
      drafts.findIndex(draft => draft.taken),
    )
    this.#watch()
  }

  #replace(at: number, draft: Draft): void {
    this.drafts = this.drafts?.map((one, index) => (index === at ? draft : one))
    if (this.problems.has(at)) this.problems = new Map([...this.problems].filter(([index]) => index !== at))
  }

  #ifExists(at: number, draft: Draft, ifExists: IfExists): void {
    const name = ifExists === 'rename' ? this.#free(draft.verdict.name) : draft.verdict.name
    this.#replace(at, draft.with({ ifExists, name, chosen: ifExists !== 'skip' }))
    this.at = at
  }

  /** A name beside one that is taken. */
  #free(name: string): string {
    const taken = new Set(this.drafts?.map(draft => draft.name))
    for (let number = 2; ; number += 1) if (!taken.has(`${name}-${number}`)) return `${name}-${number}`
  }

  #fix({ pointer }: Verdict): void {
    const field = this.querySelector<HTMLTextAreaElement>('#pasted')
    const place = pointer === undefined ? undefined : positionOf(this.text, pointer)
    if (!field) return
    field.focus()
    if (!place) return
    const start =
      this.text
        .split('\n')
        .slice(0, place.line - 1)
        .join('\n').length + (place.line > 1 ? 1 : 0)
    field.setSelectionRange(start, start + (this.text.split('\n')[place.line - 1]?.length ?? 0))
  }

  async #save(tested: boolean): Promise<void> {
    const { drafts } = this
    if (!drafts) return
    this.busy = true
    if (tested && !(await this.#test(drafts))) {
      this.busy = false
      return
    }
    // A file that cannot be changed is found before anything is saved.
    const taken = drafts.filter(draft => draft.taken)
    const file = await this.#switchedOff(taken)
    if (file === 'refused') {
      this.busy = false
      return
    }
    const { records, problems } = await saveDrafts(drafts)
    this.busy = false
    this.problems = problems
    if (problems.size > 0) {
      this.#saved = [...this.#saved, ...pointersOf(drafts.filter((draft, at) => draft.taken && !problems.has(at)))]
      this.at = [...problems.keys()][0] ?? 0
      toast(
        t('{saved} saved, {failed} refused. What was refused is still here.', {
          saved: records.length,
          failed: problems.size,
        }),
      )
      this.drafts = drafts.filter((draft, at) => !draft.taken || problems.has(at))
      this.problems = new Map([...problems.values()].map((problem, at) => [at, problem]))
      this.at = 0
      return
    }
    this.#unguard?.()
    this.switched = file
    const [first] = records
    if (file) return toast(plural(records.length, '{n} server added', '{n} servers added'))
    if (records.length === 1 && first) await router.go(pathOf(first))
    else await router.go('/servers')
    toast(plural(records.length, '{n} server added', '{n} servers added'))
  }

  async #switchedOff(drafts: readonly Draft[]): Promise<SwitchedFile | 'refused' | undefined> {
    const pointers = [...this.#saved, ...pointersOf(drafts)]
    if (!this.switchOff || pointers.length === 0) return undefined
    try {
      return await switchedFile(this.text, pointers)
    } catch (error) {
      toast(errorText(asApiError(error)))
      return 'refused'
    }
  }

  /** Tests the present entry if that was not done; other entries connect after saving, and then show their state. */
  async #test(drafts: readonly Draft[]): Promise<boolean> {
    const at = drafts[this.at]?.taken ? this.at : drafts.findIndex(draft => draft.taken)
    this.at = at
    await this.updateComplete
    const entry = this.#entry.value
    const draft = drafts[at]
    if (!entry || !draft) return true
    if (entry.trial.report?.ok) return true
    return entry.trial.run(draft.body())
  }

  /** Asks for confirmation before pasted text is lost. */
  #watch(): void {
    this.#unguard?.()
    this.#unguard =
      this.text === ''
        ? undefined
        : router.guard(() =>
            confirmed({
              title: t('Leave without saving?'),
              text: t('What you have pasted and filled in is lost.'),
              action: t('Leave'),
              danger: false,
            }),
          )
  }
}
customElements.define('pb-page-add-server', PbPageAddServer)

declare global {
  interface HTMLElementTagNameMap {
    'pb-page-add-server': PbPageAddServer
  }
}
