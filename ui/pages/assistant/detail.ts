import { html, nothing, type PropertyValues } from 'lit'
import { keyed } from 'lit/directives/keyed.js'
import { assistantApi, type Endpoint, type EndpointMessage, type EndpointTools } from '../../api/assistant.ts'
import type { Page } from '../../api/client.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { PbElement } from '../../components/element.ts'
import { toast } from '../../components/layers/toast.ts'
import { limitedNote } from '../../components/limited-note.ts'
import { errorState, show } from '../../components/states.ts'
import { formatBytes, formatClock, formatDateTime, formatMs, formatNumber } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { fieldText } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'
import { chosenTarget, targetField, targetsFor } from './targets.ts'

/**
 * Tools, settings and last messages of one endpoint.
 *
 * @fires pb-changed - `detail: Endpoint`, when its settings were written
 */
export class PbAssistantDetail extends PbElement {
  static override properties = { endpoint: { attribute: false }, error: { state: true } }
  declare endpoint: Endpoint
  declare error: ApiError | undefined
  readonly #messages = new Resource<Page<EndpointMessage>>(this, {
    key: () => this.endpoint.ref,
    everyMs: 5000,
    read: signal => assistantApi.messages(this.endpoint.ref, signal),
  })

  readonly #tools = new Resource<EndpointTools>(this, {
    key: () => `${this.endpoint.ref} ${this.endpoint.revision}`,
    topics: ['servers'],
    read: signal => assistantApi.tools(this.endpoint.ref, signal),
    apply: ({ event }) => (event === 'assistant.state' ? 'stale' : 'same'),
  })

  readonly #targets = targetsFor(this)

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.get('endpoint') && changed.get('endpoint')?.id !== this.endpoint.id) this.error = undefined
  }

  override render(): unknown {
    const { name } = this.endpoint
    const tools = this.#tools.data
    return html`<div class="grid2 even"><section class="card"><div class="ch"><h2>${t('Messages of {name}', { name })}</h2></div>${show(
      this.#messages,
      ({ items }) =>
        items.length === 0
          ? html`<div class="cb"><p class="s q">${t('None yet.')}</p></div>`
          : html`<ul class="feed msgs">${items.map(message => this.#message(message))}</ul>`,
    )}</section>
    <section class="card"><div class="ch"><h2>${t('Tools as the assistant sees them')}</h2><div class="r">${
      tools
        ? html`<span class="q xs tn">${plural(tools.total, '{n} tool', '{n} tools')}, ${t('about {n} tokens', { n: tools.tokens })}</span>`
        : nothing
    }</div></div><div class="cb stack">${show(this.#tools, data => toolList(data))}</div></section>
    <section class="card"><div class="ch"><h2>${t('Settings of {name}', { name })}</h2></div><div class="cb stack">${this.#settings()}</div></section></div>`
  }

  #settings(): unknown {
    const { ref, revision, name, limits, origin } = this.endpoint
    const isFixed = origin === 'file'
    const limit = (id: string, field: string, label: string, value: number, min: number, max: number) =>
      html`<div class="field"><label for=${id}>${label} <span class="o">${formatNumber(min)}–${formatNumber(max)}</span></label><input id=${id} name=${field} type="number" min=${min} max=${max} required class="in ${this.#mistake(`/limits/${field}`) ? 'err' : ''}" .value=${String(value)} ?disabled=${isFixed}>${this.#hint(`/limits/${field}`)}</div>`
    // Another endpoint, or another revision of it, gets a new form: text entered before belongs to neither.
    return keyed(
      `${ref} ${revision}`,
      html`<form class="stack" @submit=${this.#save}>${limitedNote(this.endpoint, t('Look at it and save it to give it yours.'))}${this.error ? errorState(this.error) : nothing}
      <div class="form2"><div class="field"><label for="ep-name">${t('Name')}</label><input id="ep-name" name="name" class="in ${this.#mistake('/name') ? 'err' : ''}" required maxlength="64" autocomplete="off" .value=${name} ?disabled=${isFixed}>${this.#hint('/name')}</div>
      ${targetField('ep-group', this.#targets, { present: this.endpoint, isFixed, mistake: this.#mistake('/group') })}
      ${limit('lim-tools', 'tools', t('Most tools'), limits?.tools ?? 64, 1, 64)}
      ${limit('lim-characters', 'resultCharacters', t('Longest result, characters'), limits?.resultCharacters ?? 2000, 100, 2000)}</div>
      <div><button type="submit" class="btn" ?disabled=${isFixed || !live.reachable}>${t('Save endpoint')}</button></div></form>`,
    )
  }

  #mistake(pointer: string): string | undefined {
    const mistake = this.error?.field(`#${pointer}`)
    return mistake && fieldText(mistake)
  }

  #hint(pointer: string): unknown {
    const mistake = this.#mistake(pointer)
    return mistake === undefined ? nothing : html`<p class="hint bad">${icon('circle-alert')}${mistake}</p>`
  }

  #message({ at, direction, method, tool, bytes, durationMs, outcome }: EndpointMessage): unknown {
    const size = formatBytes(bytes)
    return html`<li>${icon(direction === 'in' ? 'arrow-down-left' : 'arrow-up-right', { label: direction === 'in' ? t('from the assistant') : t('from the hub') })}<span class="cut"><span class="mono">${method ?? t('result')}</span> ${tool ?? ''} <span class="q">${durationMs === undefined ? size : `${formatMs(durationMs)}, ${size}`}${
      outcome === undefined || outcome === 'success' ? nothing : html`, <span class="bad-t">${outcome}</span>`
    }</span></span><time datetime=${at} title=${formatDateTime(at)}>${formatClock(at)}</time></li>`
  }

  /** Sends all fields: this gives a limited endpoint the rights of the administrator who has reviewed it. */
  readonly #save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const data = new FormData(event.target as HTMLFormElement)
    const { ref, revision, direction, url, enabled = true } = this.endpoint
    const body = {
      ...{ name: String(data.get('name')).trim(), direction, group: chosenTarget(data), enabled },
      limits: { tools: Number(data.get('tools')), resultCharacters: Number(data.get('resultCharacters')) },
      ...(url === undefined ? {} : { url }),
    }
    try {
      const saved = await assistantApi.replace(ref, body, revision)
      this.error = undefined
      toast(t('Endpoint {name} saved', { name: saved.name }))
      this.dispatchEvent(new CustomEvent('pb-changed', { detail: saved }))
    } catch (error) {
      this.error = asApiError(error)
    }
  }
}
function toolList({ items, leftOut }: EndpointTools): unknown {
  return html`${
    items.length === 0
      ? html`<p class="s q">${t('It has no tools now.')}</p>`
      : html`<ul class="list eptools" tabindex="0" aria-label=${t('Tools as the assistant sees them')}>${items.map(
          ({ name, description, tokens }) =>
            html`<li><div class="tx"><span class="t1 mono">${name}</span>${description === undefined ? nothing : html`<p class="t2 cut" title=${description}>${description}</p>`}</div><span class="tn xs q">${t('{n} tokens', { n: tokens })}</span></li>`,
        )}</ul>`
  }${leftOut.length === 0 ? nothing : html`<p class="s warn-t">${plural(leftOut.length, '{n} tool is left out by the limit:', '{n} tools are left out by the limit:')} <span class="mono">${leftOut.join(', ')}</span></p>`}`
}
customElements.define('pb-assistant-detail', PbAssistantDetail)

declare global {
  interface HTMLElementTagNameMap {
    'pb-assistant-detail': PbAssistantDetail
  }
}
