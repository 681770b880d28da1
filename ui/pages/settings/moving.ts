import { html, nothing } from 'lit'
import { api } from '../../api/client.ts'
import type { ApiError } from '../../api/problem.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { session } from '../../app/session.ts'
import { attempt } from '../../components/attempt.ts'
import { download } from '../../components/download.ts'
import { PbElement } from '../../components/element.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { toast } from '../../components/layers/toast.ts'
import { errorState, show } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import { type Choice, type ImportPlan, planList } from './moving-plan.ts'
import '../../components/time.ts'

interface PastImport {
  readonly id: string
  readonly source: string
  readonly createdAt: string
  readonly made: number
}

interface Rollback {
  readonly kept: readonly { readonly kind: string; readonly name: string; readonly why: string }[]
}

/** Exports what the user owns, imports such a file after a look at its plan, and takes imports back. */
export class PbMoving extends PbElement {
  static override properties = {
    plan: { state: true },
    error: { state: true },
    busy: { state: true },
    stale: { state: true },
    kept: { state: true },
  }
  declare plan: ImportPlan | undefined
  declare error: ApiError | undefined
  declare busy: boolean
  /** Something was entered since the plan was made. */
  declare stale: boolean
  /** The things that the last undo left, with the reasons. */
  declare kept: Rollback['kept']
  #document = ''
  #passphrase = ''
  #answers: Record<string, string> = {}
  #choices: Record<string, Choice> = {}
  readonly #past = new Resource<{ readonly items: readonly PastImport[] }>(this, {
    read: signal => api.get('/api/import', { signal }),
  })

  constructor() {
    super()
    this.kept = []
  }

  override render(): unknown {
    return html`<div class="stack">${this.error ? errorState(this.error) : nothing}${this.#export()}${this.#import()}
      <section class="card"><div class="ch line"><h2>${t('Imports of the last seven days')}</h2></div>${show(this.#past, ({ items }) => this.#list(items))}</section></div>`
  }

  #export(): unknown {
    return html`<section class="card"><div class="ch line"><h2>${t('Export')}</h2></div><form class="cb stack l padt" @submit=${this.#exported}>
      <p class="s">${t('Your servers and groups with their shares, quotas and rules, and your settings, rules of alerts, dashboards and assistants.')}${session.isAdmin ? ` ${t('Teams and quotas of users too.')}` : ''}</p>
      <div class="field"><label class="lbl" for="export-pass">${t('Passphrase for the secrets')}</label><input id="export-pass" name="passphrase" class="in" type="password" autocomplete="new-password" minlength="12" aria-describedby="export-hint">
      <p class="hint" id="export-hint">${t('At least 12 characters. Without it the file has marks in place of secrets, and the import asks for each.')}</p></div>
      <div><button class="btn pri" ?disabled=${this.busy || !live.reachable}>${icon('download')}${t('Download the export')}</button></div></form></section>`
  }

  #import(): unknown {
    const { plan } = this
    const fresh = plan?.items.filter(({ verdict }) => verdict === 'new' || verdict === 'replaced').length ?? 0
    return html`<section class="card"><div class="ch line"><h2>${t('Import')}</h2></div><form class="cb stack l padt" @submit=${this.#submitted}>
      <div class="field"><label class="lbl" for="moving-file">${t('An export, or the settings of a hub or client')}</label><input id="moving-file" type="file" accept=".json,.jsonc,.toml,.yaml,.yml,application/json" class="in file" @change=${this.#chosen}></div>
      <div class="field"><label class="lbl" for="import-pass">${t('Passphrase of the export')}</label><input id="import-pass" class="in" type="password" autocomplete="off" @change=${(
        event: Event,
      ) => {
        this.#passphrase = (event.target as HTMLInputElement).value
        this.stale = true
      }}></div>
      ${plan ? planList(plan, { answers: this.#answers, choices: this.#choices }, { answer: (name, value) => this.#answer(name, value), choose: (pointer, choice) => this.#choose(pointer, choice) }) : nothing}
      <div class="row wrap">${
        plan && !this.stale
          ? html`<button class="btn pri" ?disabled=${this.busy || fresh === 0 || !live.reachable}>${plural(fresh, 'Import {n} thing', 'Import {n} things')}</button>`
          : html`<button class="btn pri" ?disabled=${this.busy || this.#document === '' || !live.reachable}>${t('Show the plan')}</button>`
      }</div></form></section>`
  }

  #list(items: readonly PastImport[]): unknown {
    if (items.length === 0) return html`<div class="cb padt"><p class="s q">${t('No imports')}</p></div>`
    return html`<ul class="list">${items.map(
      one =>
        html`<li><div class="tx"><span class="t1">${plural(one.made, '{n} thing', '{n} things')}</span><p class="t2"><pb-time .at=${one.createdAt}></pb-time></p></div><button type="button" class="btn sm" ?disabled=${this.busy || !live.reachable} @click=${() => void this.#undo(one)}>${t('Undo')}</button></li>`,
    )}</ul>${
      this.kept.length === 0
        ? nothing
        : html`<div class="cb" role="status"><p class="s">${t('Not taken back:')}</p><ul>${this.kept.map(({ kind, name, why }) => html`<li class="s">${kind} ${name}: ${why}</li>`)}</ul></div>`
    }`
  }

  #answer(name: string, value: string): void {
    this.#answers = { ...this.#answers, [name]: value }
    this.stale = true
  }

  #choose(pointer: string, choice: Choice | undefined): void {
    const { [pointer]: _, ...others } = this.#choices
    this.#choices = choice === undefined ? others : { ...others, [pointer]: choice }
    this.stale = true
  }

  readonly #chosen = (event: Event): void => {
    const file = (event.target as HTMLInputElement).files?.[0]
    if (!file) return
    void this.#try(async () => {
      this.#document = await file.text()
      this.#answers = {}
      this.#choices = {}
      this.plan = undefined
      this.stale = true
    })
  }

  readonly #submitted = (event: SubmitEvent): void => {
    event.preventDefault()
    void this.#try(async () => {
      const body = {
        ...{ document: this.#document, answers: this.#answers, choices: this.#choices },
        ...(this.#passphrase === '' ? {} : { passphrase: this.#passphrase }),
      }
      if (!this.plan || this.stale) {
        this.plan = await api.post<ImportPlan>('/api/import', { query: { dryRun: true }, body })
        this.stale = false
        return
      }
      const { planHash } = this.plan
      const { items } = await api.post<ImportPlan>('/api/import', { body: { ...body, planHash } })
      const made = items.filter(({ verdict }) => verdict === 'new' || verdict === 'replaced').length
      toast(plural(made, '{n} thing was imported', '{n} things were imported'))
      this.stale = true
      await this.#past.reload()
    })
  }

  readonly #exported = (event: SubmitEvent): void => {
    event.preventDefault()
    const passphrase = String(new FormData(event.target as HTMLFormElement).get('passphrase'))
    void this.#try(async () => {
      const content = await api.post<object>('/api/export', { body: passphrase === '' ? {} : { passphrase } })
      download('patchbay-export.json', new Blob([JSON.stringify(content, null, 2)], { type: 'application/json' }))
    })
  }

  async #undo({ id, made }: PastImport): Promise<void> {
    const text = t('What it made is removed, and what it replaced is restored. What was changed since stays.')
    const title = plural(made, 'Undo the import of {n} thing?', 'Undo the import of {n} things?')
    if (!(await confirmed({ title, text, action: t('Undo') }))) return
    await this.#try(async () => {
      this.kept = (await api.post<Rollback>(`/api/import/${id}/rollback`, {})).kept
      await this.#past.reload()
    })
  }

  #try(act: () => Promise<void>): Promise<void> {
    return attempt(this, act, () => {
      this.stale = true
    })
  }
}
customElements.define('pb-moving', PbMoving)

declare global {
  interface HTMLElementTagNameMap {
    'pb-moving': PbMoving
  }
}
