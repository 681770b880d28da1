import { html, nothing } from 'lit'
import {
  api,
  errorState,
  hubWords,
  icon,
  live,
  PbElement,
  Plan,
  quotedWords,
  Resource,
  refOf,
  router,
  type ServerRecord,
  sandboxNote,
  segment,
  show,
  t,
  toast,
  visibleName,
  webLink,
} from 'patchbay/console'
import { type InstallPlan, localized, type Template } from './api.ts'
import { inputField } from './input-field.ts'
import { installedCard } from './installed.ts'
import { categoryName, kindMark } from './names.ts'

/** One template: its description, inputs, exact command, and installation, which starts nothing. */
export class PbTemplate extends PbElement {
  static override properties = {
    id: {},
    values: { state: true },
    name: { state: true },
    variant: { state: true },
    busy: { state: true },
  }
  declare values: Readonly<Record<string, string>>
  /** Name of the new server. */
  declare name: string
  declare variant: string | undefined
  declare busy: boolean
  /** The installation is compared with the hash of this answer. */
  readonly #plan = new Plan<InstallPlan>(this, () =>
    api.post(`/api/market/templates/${segment(this.id)}/install`, { query: { dryRun: true }, body: this.#request() }),
  )
  readonly #template = new Resource<Template>(this, {
    key: () => this.id,
    read: signal => this.#read(signal),
  })

  constructor() {
    super()
    this.values = {}
    this.name = ''
  }

  /** Reads the template again, after a server of it has changed. */
  reload(): Promise<void> {
    return this.#template.reload()
  }

  override render(): unknown {
    // Until the template has loaded, and if it does not exist, the heading is taken from the address.
    const named = this.#template.data
      ? nothing
      : html`<div class="head"><h1 tabindex="-1">${this.id.split(':').pop()}</h1></div>`
    return html`<main id="main" class="page" tabindex="-1">${named}${show(this.#template, template => this.#content(template))}</main>`
  }

  protected override updated(): void {
    const title = this.#template.data?.title ?? this.#template.data?.name
    if (!title) return
    document.title = `${title} · ${t('Market')} · Patchbay`
    this.dispatchEvent(
      new CustomEvent('pb-crumbs', {
        detail: [{ label: t('Market'), path: '/market' }, { label: title }],
        bubbles: true,
      }),
    )
  }

  #content(template: Template): unknown {
    const usable = template.variants.some(variant => variant.usable)
    return html`<div class="head"><span class="mic big">${icon('plug')}</span><h1 tabindex="-1">${template.title ?? template.name}</h1><span class="row s q">${template.publisher ?? template.source}${
      template.verified
        ? html`<span class="vf">${icon('badge-check', { class: 's14' })}${t('verified')}</span>`
        : nothing
    }</span></div><div class="mdg"><div class="stack"><section class="card pad stack prose"><h2 class="sech">${t('About')}</h2><p>${localized(template.description)}</p>${this.#tools(template)}</section>
      ${usable ? this.#form(template) : html`<div class="callout warn">${icon('triangle-alert')}<p>${t('It cannot run here: {reason}', { reason: template.variants[0]?.why ?? t('there is no way to run it that this hub knows') })}</p></div>`}</div>${this.#facts(template)}</div>`
  }

  #tools({ tools }: Template): unknown {
    if (!tools || tools.length === 0) return nothing
    return html`<h3 class="sech">${t('Tools')}</h3><table><thead><tr><th scope="col">${t('Tool')}</th><th scope="col">${t('Description')}</th></tr></thead><tbody>${tools.map(
      ({ name, description }) => html`<tr><td class="mono">${name}</td><td class="q">${description ?? ''}</td></tr>`,
    )}</tbody></table>`
  }

  #form(template: Template): unknown {
    const { value: plan, error, stale } = this.#plan
    const runs = plan?.permissions.runs === true
    return html`<section class="card"><div class="ch line"><h2>${t('Install')}</h2></div><form class="cb stack l padt" @submit=${this.#install} novalidate>
      <div class="field"><label class="lbl" for="install-name">${t('Name')}</label><input id="install-name" class="in" autocomplete="off" spellcheck="false" .value=${this.name} @input=${(
        event: InputEvent,
      ) => {
        this.name = (event.target as HTMLInputElement).value
        this.#plan.soon()
      }}></div>${template.variants.length > 1 ? this.#variants(template) : nothing}${template.inputs.map(input =>
        inputField(`input-${input.name}`, input, this.values[input.name] ?? input.default ?? '', value => {
          this.values = { ...this.values, [input.name]: value }
          this.#plan.soon()
        }),
      )}${runs ? sandboxNote() : nothing}${error ? errorState(error) : nothing}
      <div class="row"><button class="btn pri" ?disabled=${this.busy || stale || !plan || plan.missing.length > 0 || !live.reachable}>${icon('plus')}${this.busy ? t('Installing') : t('Install')}</button><p class="hint">${t('Nothing starts before you say so.')}</p></div></form></section>`
  }

  #variants({ variants }: Template): unknown {
    return html`<div class="field"><label class="lbl" for="install-variant">${t('Way to run it')}</label><select id="install-variant" class="in" @change=${(
      event: Event,
    ) => {
      this.variant = (event.target as HTMLSelectElement).value
      void this.#plan.now()
    }}>${variants.map(({ id, kind, usable, why }) => html`<option value=${id} ?selected=${id === (this.#plan.value?.variant ?? this.variant)} ?disabled=${!usable}>${kind}${usable || !why ? nothing : `, ${why}`}</option>`)}</select></div>`
  }

  #facts(template: Template): unknown {
    const { value: plan } = this.#plan
    const homepage = webLink(template.homepage)
    return html`<aside class="stack" aria-label=${t('Facts')}>${installedCard(template)}<section class="card pad stack"><div><h2 class="sech">${t('Exactly this will run')}</h2><pre class="code wrap mt" tabindex="0">${plan ? willRun(plan) : '–'}</pre>${
      plan?.missing.length
        ? html`<p class="hint mt">${t('Still missing: {names}', { names: plan.missing.join(', ') })}</p>`
        : nothing
    }</div>${this.#permissions()}</section>
      <section class="card pad"><dl class="kv short"><dt>${t('Version')}</dt><dd>${template.version ?? '–'}</dd><dt>${t('Source')}</dt><dd>${template.source}</dd><dt>${t('Transport')}</dt><dd>${kindMark(template)}</dd><dt>${t('Categories')}</dt><dd>${template.categories.map(categoryName).join(', ')}</dd>${
        homepage
          ? html`<dt>${t('Homepage')}</dt><dd><a href=${homepage.href} target="_blank" rel="noreferrer">${homepage.host}</a></dd>`
          : nothing
      }</dl></section></aside>`
  }

  #permissions(): unknown {
    const { permissions, warnings } = this.#plan.value ?? {}
    if (!permissions) return nothing
    return html`<hr class="rule"><div><h2 class="sech">${t('It may')}</h2><ul class="il perms">${
      permissions.runs
        ? html`<li>${icon('cpu')}<span>${t('run a program on the machine of the hub')}</span></li>`
        : nothing
    }<li>${icon('globe')}<span>${permissions.hosts?.length ? t('reach {hosts}', { hosts: permissions.hosts.join(', ') }) : permissions.network === 'none' ? t('reach nothing on the network') : t('reach the network, as far as granted')}</span></li>${
      permissions.secrets?.length
        ? html`<li>${icon('lock')}<span>${t('read {names}', { names: permissions.secrets.join(', ') })}</span></li>`
        : nothing
    }</ul>${(warnings ?? []).map(text => html`<p class="hint">${hubWords(text)}</p>`)}</div>`
  }

  async #read(signal: AbortSignal): Promise<Template> {
    const template = await api.get<Template>(`/api/market/templates/${segment(this.id)}`, { signal })
    this.name = template.name
    this.values = Object.fromEntries(
      template.inputs.filter(input => input.default !== undefined).map(input => [input.name, input.default ?? '']),
    )
    void this.#plan.now()
    return template
  }

  #request(): object {
    const inputs = Object.fromEntries(Object.entries(this.values).filter(([, value]) => value !== ''))
    return {
      inputs,
      ...(this.name === '' ? {} : { name: this.name }),
      ...(this.variant === undefined ? {} : { variant: this.variant }),
    }
  }

  readonly #install = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const { value: plan } = this.#plan
    if (!plan || this.#plan.stale) return
    this.busy = true
    try {
      const body = { ...this.#request(), planHash: plan.planHash }
      const made = await api.post<ServerRecord>(`/api/market/templates/${segment(this.id)}/install`, { body })
      await router.go(`/servers/${segment(refOf(made))}`)
      toast(t('{name} is installed and does not run yet. Start it when you have looked it over.', { name: made.name }))
    } catch (error) {
      await this.#plan.failed(error)
    }
    this.busy = false
  }
}
customElements.define('pb-template', PbTemplate)

declare global {
  interface HTMLElementTagNameMap {
    'pb-template': PbTemplate
  }
}

/** The command with its words quoted, or the address. */
function willRun({ argv = [], url = '' }: InstallPlan): string {
  return argv.length > 0 ? quotedWords(argv) : visibleName(url)
}
