import { html, nothing } from 'lit'
import { assistantApi, type Endpoint, type EndpointMessage, type EndpointTools } from '../../api/assistant.ts'
import type { Page } from '../../api/client.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { PbElement } from '../../components/element.ts'
import { limitedNote } from '../../components/limited-note.ts'
import { errorState, show } from '../../components/states.ts'
import { toast } from '../../components/toast.ts'
import { formatBytes, formatClock, formatDateTime, formatMs } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'

/**
 * Tools, limits and last messages of one endpoint.
 *
 * @fires pb-changed - when its limits were written
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
    }</div></div><div class="cb stack">${show(this.#tools, data => toolList(data))}${this.#limits()}</div></section></div>`
  }

  #limits(): unknown {
    const { limits, origin } = this.endpoint
    const isFixed = origin === 'file'
    return html`<form class="stack" @submit=${this.#save}>${limitedNote(this.endpoint, t('Make it anew to give it yours.'))}${this.error ? errorState(this.error) : nothing}<div class="form2"><div class="field"><label for="lim-tools">${t('Most tools')} <span class="o">1–64</span></label><input id="lim-tools" name="tools" type="number" min="1" max="64" class="in" .value=${String(limits?.tools ?? 64)} ?disabled=${isFixed}></div>
      <div class="field"><label for="lim-characters">${t('Longest result, characters')} <span class="o">100–2,000</span></label><input id="lim-characters" name="characters" type="number" min="100" max="2000" class="in" .value=${String(limits?.resultCharacters ?? 2000)} ?disabled=${isFixed}></div></div>
      <div><button type="submit" class="btn" ?disabled=${isFixed || !live.reachable}>${t('Save limits')}</button></div></form>`
  }

  #message({ at, direction, method, tool, bytes, durationMs, outcome }: EndpointMessage): unknown {
    const size = formatBytes(bytes)
    return html`<li>${icon(direction === 'in' ? 'arrow-down-left' : 'arrow-up-right', { label: direction === 'in' ? t('from the assistant') : t('from the hub') })}<span class="cut"><span class="mono">${method ?? t('result')}</span> ${tool ?? ''} <span class="q">${durationMs === undefined ? size : `${formatMs(durationMs)}, ${size}`}${
      outcome === undefined || outcome === 'success' ? nothing : html`, <span class="bad-t">${outcome}</span>`
    }</span></span><time datetime=${at} title=${formatDateTime(at)}>${formatClock(at)}</time></li>`
  }

  readonly #save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const data = new FormData(event.target as HTMLFormElement)
    const limits = { tools: Number(data.get('tools')), resultCharacters: Number(data.get('characters')) }
    try {
      await assistantApi.patch(this.endpoint.ref, { limits }, this.endpoint.revision)
      this.error = undefined
      toast(t('Limits saved'))
      this.dispatchEvent(new CustomEvent('pb-changed'))
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
