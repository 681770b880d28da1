import { html, nothing } from 'lit'
import {
  type ApiError,
  api,
  asApiError,
  confirmed,
  drawer,
  emptyState,
  errorState,
  errorText,
  formatNumber,
  hide,
  icon,
  live,
  type Page,
  PbElement,
  type PieceSubject,
  Resource,
  segment,
  show,
  t,
  toast,
} from 'patchbay/console'
import { type Quota, type QuotaState, type UsageSum, usageApi } from './api.ts'
import { limitText, PARTS } from './names.ts'
import { peopleUse } from './people-use.ts'
import { bar, quotaFields, quotaOf } from './quota-form.ts'

/** A quota of the list. `tool` undefined: that of the server or group itself. */
interface Entry {
  readonly tool: string | undefined
  readonly state: QuotaState
}

/** A tool of the server. Quotas are by its own name, `original`, whatever its owner calls it. */
interface OfferedTool {
  readonly name: string
  readonly original: string
}

/** The quotas of a server and its tools, or of a group, for its owner. */
export class PbQuotas extends PbElement {
  static override properties = {
    subject: { attribute: false },
    edited: { state: true },
    error: { state: true },
    saving: { state: true },
  }
  declare subject: PieceSubject
  /** The quota whose form is open; without `tool` and `whole`, one of a tool that is to be chosen. */
  declare edited: { readonly entry: Entry; readonly isNewTool: boolean } | undefined
  declare error: ApiError | undefined
  declare saving: boolean
  readonly #quotas = new Resource<QuotaState>(this, {
    key: () => [this.subject.kind, this.subject.ref],
    read: signal => usageApi.of(this.subject, signal),
    everyMs: 10_000,
  })
  readonly #people = new Resource<readonly UsageSum[]>(this, {
    key: () => (this.subject.kind === 'server' ? this.subject.ref : undefined),
    read: async signal => (await usageApi.ofPeople(this.subject.ref, '7d', signal)).items,
    everyMs: 30_000,
  })
  readonly #tools = new Resource<readonly OfferedTool[]>(this, {
    key: () => (this.edited?.isNewTool ? this.subject.ref : undefined),
    read: async signal => {
      const path = `/api/servers/${segment(this.subject.ref)}/tools`
      const { items } = await api.get<Page<OfferedTool>>(path, { query: { limit: 1000 }, signal })
      return items
    },
  })

  override render(): unknown {
    const isServer = this.subject.kind === 'server'
    return html`<section class="card" aria-labelledby="quotas-h"><div class="ch line"><h2 id="quotas-h">${t('Quotas')}</h2><div class="r">${
      isServer
        ? html`<button type="button" class="btn sm" ?disabled=${!live.reachable} @click=${() => this.#open({ tool: undefined, state: { quota: null } }, true)}>${icon('plus')}${t('Quota of a tool')}</button>`
        : nothing
    }</div></div>${show(this.#quotas, state => this.#list(state))}${isServer ? peopleUse(this.#people.data ?? []) : nothing}</section>${this.#drawer()}`
  }

  #list(state: QuotaState): unknown {
    const tools = Object.entries(state.tools ?? {}).map(([tool, one]): Entry => ({ tool, state: one }))
    const entries: readonly Entry[] = [...(state.quota ? [{ tool: undefined, state }] : []), ...tools]
    const add = html`<button type="button" class="btn" ?disabled=${!live.reachable} @click=${() => this.#open({ tool: undefined, state: { quota: null } })}>${icon('plus')}${t('Limit all calls')}</button>`
    if (entries.length === 0)
      return emptyState({
        icon: 'gauge',
        title: t('No quotas'),
        text:
          this.subject.kind === 'server'
            ? t('Quotas of a server and its tools hold for all callers together.')
            : t('A quota of a group holds for all calls at its address.'),
        action: add,
      })
    return html`<ul class="list">${entries.map(entry => this.#row(entry))}</ul>${state.quota ? nothing : html`<div class="cb">${add}</div>`}`
  }

  #row(entry: Entry): unknown {
    const { quota, used } = entry.state
    const label = nameOf(entry)
    return html`<li class="rulerow"><div class="words"><span class="s">${entry.tool === undefined ? t('All calls') : html`<code>${entry.tool}</code>`}${entry.state.missing ? html` <span class="tag warn">${t('The server has no such tool')}</span>` : nothing}</span><span class="row wrap s q">${PARTS.map(
      part => {
        const limit = quota?.[part]
        if (limit === undefined) return nothing
        const n = used === undefined ? '' : ` · ${t('{n} used', { n: formatNumber(used[part], 0) })}`
        return html`<span class="tag line">${limitText(part, limit)}${n}</span>${bar(limit, used?.[part], limitText(part, limit))}`
      },
    )}</span></div><span class="row"><button type="button" class="btn sm" ?disabled=${!live.reachable} aria-label=${t('Edit the quota of {name}', { name: label })} @click=${() => this.#open(entry)}>${t('Edit')}</button>
      <button type="button" class="btn bad sm" ?disabled=${!live.reachable} aria-label=${t('Remove the quota of {name}', { name: label })} @click=${() => void this.#remove(entry)}>${t('Remove')}</button></span></li>`
  }

  #open(entry: Entry, isNewTool = false): void {
    this.error = undefined
    this.edited = { entry, isNewTool }
  }

  #drawer(): unknown {
    const { edited } = this
    return drawer({
      open: edited !== undefined,
      title: edited?.isNewTool
        ? t('Quota of a tool')
        : t('Quota of {name}', { name: edited ? nameOf(edited.entry) : '' }),
      body: edited ? this.#form(edited) : nothing,
      foot: html`<button type="button" class="btn push" @click=${hide}>${t('Cancel')}</button><button type="submit" form="quota-form" class="btn pri" ?disabled=${this.saving || !live.reachable}>${this.saving ? t('Saving') : t('Save')}</button>`,
      onClose: () => {
        this.edited = undefined
      },
    })
  }

  #form({ entry, isNewTool }: NonNullable<PbQuotas['edited']>): unknown {
    return html`<form id="quota-form" class="stack l" novalidate @submit=${this.#submit}>${this.error && this.error.fields.length === 0 ? errorState(this.error) : nothing}
      ${isNewTool ? this.#toolField() : nothing}${quotaFields('quota', entry.state, this.error)}<p class="hint">${t('Empty fields limit nothing. A call is refused when a number has been reached.')}</p></form>`
  }

  #toolField(): unknown {
    const taken = this.#quotas.data?.tools ?? {}
    const free = (this.#tools.data ?? []).filter(({ original }) => !Object.hasOwn(taken, original))
    return html`<div class="field"><label for="quota-tool">${t('Tool')}</label><select id="quota-tool" name="tool" class="in mono" required>${free.map(
      ({ name, original }) =>
        html`<option value=${original}>${name === original ? name : `${name} (${original})`}</option>`,
    )}</select>${
      this.#tools.data && free.length === 0
        ? html`<p class="hint bad">${icon('circle-alert')}${t('The server has no other tool now.')}</p>`
        : nothing
    }</div>`
  }

  readonly #submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const { edited } = this
    const form = event.target as HTMLFormElement
    if (!edited) return
    const chosen = new FormData(form).get('tool')
    const tool = edited.isNewTool ? (chosen === null ? undefined : String(chosen)) : edited.entry.tool
    if (edited.isNewTool && tool === undefined) return
    this.saving = true
    if (await this.#save(tool, quotaOf(form))) hide({ currentTarget: form } as unknown as Event)
    this.saving = false
  }

  /** Quotas of tools are sent together, so those that another user has set meanwhile are read first. */
  async #save(tool: string | undefined, quota: Quota | null): Promise<boolean> {
    this.error = undefined
    try {
      const { subject } = this
      if (tool === undefined) this.#quotas.set(await usageApi.set(subject, { quota }))
      else {
        const { tools = {} } = await usageApi.of(subject)
        const others = Object.entries(tools).flatMap(([name, state]) =>
          name === tool || !state.quota ? [] : [[name, state.quota] as const],
        )
        const all = quota ? [...others, [tool, quota] as const] : others
        this.#quotas.set(await usageApi.set(subject, { tools: Object.fromEntries(all) }))
      }
      return true
    } catch (error) {
      this.error = asApiError(error)
      return false
    }
  }

  async #remove(entry: Entry): Promise<void> {
    const name = nameOf(entry)
    const sure = await confirmed({
      title: t('Remove the quota of {name}?', { name }),
      text: t('Calls are no longer counted against it, and are limited by other quotas alone.'),
      action: t('Remove quota'),
    })
    if (!sure) return
    if (await this.#save(entry.tool, null)) toast(t('The quota of {name} is removed', { name }))
    else if (this.error) toast(errorText(this.error))
  }
}
customElements.define('pb-quotas', PbQuotas)

function nameOf({ tool }: Entry): string {
  return tool ?? t('all calls')
}
