import { html, nothing } from 'lit'
import {
  type ApiError,
  api,
  asApiError,
  errorState,
  errorText,
  formatBytes,
  hubWords,
  icon,
  live,
  type Page,
  PbElement,
  Plan,
  quotedWords,
  Resource,
  refOf,
  router,
  type ServerRecord,
  sandboxNote,
  segment,
  t,
  toast,
} from 'patchbay/console'
import type { Bundle, BundleInput, BundlePlan } from './api.ts'

type Value = string | boolean

/** Uploads a bundle (.mcpb, .dxt), shows its content and command, and installs it as a disabled server. */
export class PbBundleForm extends PbElement {
  static override properties = {
    bundle: { state: true },
    name: { state: true },
    values: { state: true },
    network: { state: true },
    error: { state: true },
    busy: { state: true },
  }
  declare bundle: Bundle | undefined
  declare name: string
  declare values: Readonly<Record<string, Value>>
  declare network: boolean
  declare error: ApiError | undefined
  declare busy: 'send' | 'install' | undefined
  readonly #plan = new Plan<BundlePlan>(this, () =>
    api.post(`/api/bundles/${segment(this.bundle?.bundleId ?? '')}/install`, {
      query: { dryRun: true },
      body: this.#request(),
    }),
  )
  readonly #sent = new Resource<readonly Bundle[]>(this, {
    read: async signal => (await api.get<Page<Bundle>>('/api/bundles', { query: { limit: 200 }, signal })).items,
  })

  constructor() {
    super()
    this.#choose(undefined)
  }

  override render(): unknown {
    return html`<div class="stack"><section class="card"><div class="ch"><label for="bundle-file"><h2>${t('Send a bundle')}</h2></label></div><div class="cb stack t" @dragover=${(event: DragEvent) => event.preventDefault()} @drop=${this.#drop}>
      <input id="bundle-file" class="in filein" type="file" accept=".mcpb,.dxt" aria-describedby="bundle-hint" ?disabled=${this.busy !== undefined || !live.reachable} @change=${(
        event: Event,
      ) => void this.#send((event.target as HTMLInputElement).files?.[0])}>
      <p class="hint" id="bundle-hint">${t('A file that ends in .mcpb or .dxt. It is checked and kept; nothing is installed or started yet.')}</p>
      ${this.busy === 'send' ? html`<p class="s q" role="status">${t('Sending and checking')}</p>` : nothing}${this.error && !this.bundle ? errorState(this.error) : nothing}</div></section>
      ${this.bundle ? this.#form(this.bundle) : this.#list()}</div>`
  }

  /** Bundles that were sent before. */
  #list(): unknown {
    const sent = this.#sent.data ?? []
    if (sent.length === 0) return nothing
    return html`<section class="card"><div class="ch line"><h2>${t('Sent before')}</h2></div><ul class="list">${sent.map(
      bundle =>
        html`<li><div class="tx"><span class="t1">${bundle.title}<span class="q tn">${bundle.version}</span></span><p class="t2">${
          bundle.servers.length > 0
            ? t('runs {names}', { names: bundle.servers.join(', ') })
            : formatBytes(bundle.bytes)
        }</p></div><span class="row"><button type="button" class="btn sm" @click=${() => {
          this.#choose(bundle)
        }}>${t('Install')}</button>${
          bundle.servers.length > 0
            ? nothing
            : html`<button type="button" class="btn sm ghost" @click=${() => void this.#remove(bundle)}>${t('Remove')}</button>`
        }</span></li>`,
    )}</ul></section>`
  }

  #form(bundle: Bundle): unknown {
    const { value: plan, stale } = this.#plan
    const error = this.error ?? this.#plan.error
    return html`<section class="card"><div class="ch line"><h2>${bundle.title}</h2><span class="r s q tn">${bundle.version}</span></div><form class="cb stack l padt" novalidate @submit=${this.#install}>
      ${bundle.description ? html`<p class="s">${bundle.description}</p>` : nothing}
      <p class="s q">${bundle.signature === 'none' ? t('Not signed.') : t('Signed; by whom is not checked.')} ${bundle.publisher ? t('By its own word from {name}.', { name: bundle.publisher }) : nothing} ${formatBytes(bundle.bytes)}</p>
      ${bundle.usable ? this.#fields(bundle) : html`<div class="callout warn">${icon('triangle-alert')}<p>${t('It cannot run here: {reason}', { reason: bundle.why ?? '' })}</p></div>`}
      ${plan ? html`<div class="field"><span class="lbl">${t('Exactly this will run')}</span><pre class="code wrap" tabindex="0">${quotedWords(plan.argv)}</pre></div>${plan.warnings.map(text => html`<p class="hint">${hubWords(text)}</p>`)}` : nothing}
      ${plan?.missing.length ? html`<p class="hint">${t('Still missing: {names}', { names: plan.missing.join(', ') })}</p>` : nothing}${error ? errorState(error) : nothing}
      <div class="row wrap"><button class="btn pri" ?disabled=${this.busy !== undefined || stale || !plan || plan.missing.length > 0 || !live.reachable}>${icon('plus')}${
        this.busy === 'install' ? t('Installing') : t('Install')
      }</button><button type="button" class="btn ghost" @click=${() => {
        this.#choose(undefined)
        void this.#sent.reload()
      }}>${t('Another bundle')}</button><p class="hint">${t('Nothing starts before you say so.')}</p></div></form></section>`
  }

  #fields({ inputs }: Bundle): unknown {
    return html`<div class="field"><label class="lbl" for="bundle-name">${t('Name')}</label><input id="bundle-name" class="in" autocomplete="off" spellcheck="false" .value=${this.name} @input=${(
      event: InputEvent,
    ) => {
      this.name = (event.target as HTMLInputElement).value
      this.#plan.soon()
    }}></div>${inputs.map(input => this.#field(input))}<label class="chk"><input type="checkbox" .checked=${this.network} @change=${(
      event: Event,
    ) => {
      this.network = (event.target as HTMLInputElement).checked
      void this.#plan.now()
    }}> ${t('It may reach the network, as far as granted')}</label>${sandboxNote()}`
  }

  #field(input: BundleInput): unknown {
    const id = `bundle-${input.name}`
    const set = (value: Value): void => {
      this.values = { ...this.values, [input.name]: value }
      this.#plan.soon()
    }
    const value = this.values[input.name]
    if (input.format === 'boolean')
      return html`<label class="chk"><input type="checkbox" .checked=${value === true} @change=${(event: Event) => set((event.target as HTMLInputElement).checked)}> ${input.label}</label>`
    const label = html`<label class="lbl" for=${id}>${input.label}${input.secret ? html`<span class="tag">${icon('lock')}${t('Secret')}</span>` : nothing}${
      input.required ? nothing : html`<span class="o">${t('optional')}</span>`
    }</label>`
    const box = input.many
      ? html`<textarea id=${id} class="in code" rows="3" .value=${String(value ?? '')} @input=${(event: Event) => set((event.target as HTMLTextAreaElement).value)}></textarea>`
      : html`<input id=${id} class="in code" type=${input.secret ? 'password' : input.format === 'number' ? 'number' : 'text'} autocomplete="off" spellcheck="false" .value=${String(value ?? '')} @input=${(event: Event) => set((event.target as HTMLInputElement).value)}>`
    return html`<div class="field">${label}${box}<p class="hint">${input.description ?? ''} ${input.many ? t('One a line.') : nothing}</p></div>`
  }

  #choose(bundle: Bundle | undefined): void {
    this.bundle = bundle
    this.name = bundle?.name ?? ''
    this.network = false
    this.#plan.clear()
    this.error = undefined
    this.busy = undefined
    this.values = Object.fromEntries((bundle?.inputs ?? []).flatMap(input => shownDefault(input)))
    if (bundle?.usable) void this.#plan.now()
  }

  readonly #drop = (event: DragEvent): void => {
    event.preventDefault()
    void this.#send(event.dataTransfer?.files[0])
  }

  async #send(file: File | undefined): Promise<void> {
    if (!file) return
    this.#choose(undefined)
    this.busy = 'send'
    try {
      const body = new Blob([file], { type: 'application/octet-stream' })
      this.#choose(await api.post<Bundle>('/api/bundles', { body }))
    } catch (error) {
      this.error = asApiError(error)
    }
    this.busy = undefined
  }

  async #remove({ bundleId }: Bundle): Promise<void> {
    try {
      await api.delete(`/api/bundles/${segment(bundleId)}`)
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
    await this.#sent.reload()
  }

  #request(): object {
    const inputs = Object.fromEntries(
      (this.bundle?.inputs ?? []).flatMap(input => sentValue(input, this.values[input.name])),
    )
    return { inputs, network: this.network ? 'proxy' : 'none', ...(this.name === '' ? {} : { name: this.name }) }
  }

  readonly #install = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const { bundle } = this
    const { value: plan, stale } = this.#plan
    if (!bundle || !plan || stale) return
    this.busy = 'install'
    try {
      const body = { ...this.#request(), planHash: plan.planHash }
      const made = await api.post<ServerRecord>(`/api/bundles/${segment(bundle.bundleId)}/install`, { body })
      await router.go(`/servers/${segment(refOf(made))}`)
      toast(t('{name} is installed and does not run yet. Start it when you have looked it over.', { name: made.name }))
    } catch (error) {
      await this.#plan.failed(error)
    }
    this.busy = undefined
  }
}
customElements.define('pb-bundle-form', PbBundleForm)

function shownDefault({ name, default: value }: BundleInput): [string, Value][] {
  if (value === undefined) return []
  if (typeof value === 'boolean') return [[name, value]]
  return [[name, Array.isArray(value) ? value.join('\n') : String(value)]]
}

function sentValue({ name, format, many }: BundleInput, value: Value | undefined): [string, unknown][] {
  if (value === undefined || value === '') return []
  if (typeof value === 'boolean') return [[name, value]]
  if (many) return [[name, value.split('\n').filter(line => line.trim() !== '')]]
  return [[name, format === 'number' ? Number(value) : value]]
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-bundle-form': PbBundleForm
  }
}
