import { html, nothing } from 'lit'
import { visibleName } from '../../../core/domain/text/visible-text.ts'
import { McpSession } from '../../api/mcp.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { readListing, refOf } from '../../api/servers.ts'
import type { GroupRecord, ServerRecord } from '../../api/types.ts'
import { Resource } from '../../app/resource.ts'
import { PbElement } from '../../components/element.ts'
import { emptyState, errorState, show } from '../../components/states.ts'
import { formatNumber } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import { canBeClient } from './call.ts'
import { contentView } from './result.ts'
import '../../components/json/json.ts'

interface Part {
  readonly name?: string
  readonly title?: string
  readonly description?: string
  readonly uri?: string
  readonly uriTemplate?: string
  readonly mimeType?: string
  readonly tokens: number
  readonly enabled?: boolean
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[]
}

const keyOf = (part: Part): string => part.uri ?? part.uriTemplate ?? part.name ?? ''

/** Prompts or resources of a server; each can be read as a client reads it. */
export class PbServerParts extends PbElement {
  static override properties = {
    server: { attribute: false },
    groups: { attribute: false },
    kind: {},
    chosen: { state: true },
    read: { state: true },
    error: { state: true },
    busy: { state: true },
  }
  declare server: ServerRecord
  declare groups: readonly GroupRecord[] | undefined
  declare kind: 'prompts' | 'resources'
  declare chosen: string | undefined
  /** The server's answer for the chosen item. */
  declare read: unknown
  declare error: ApiError | undefined
  declare busy: boolean
  readonly #list = new Resource(this, {
    key: () => [this.kind, refOf(this.server), this.server.status.state, this.server.status.counts],
    read: signal => readListing<Part>(refOf(this.server), this.kind, signal),
  })

  override render(): unknown {
    return show(this.#list, ({ items, live, readAt }) => {
      if (items.length === 0)
        return emptyState({
          icon: this.kind === 'prompts' ? 'message-square-text' : 'files',
          title: this.kind === 'prompts' ? t('This server has no prompts') : t('This server has no resources'),
        })
      return html`${live || readAt === null ? nothing : html`<div class="callout">${icon('history')}<p>${t('The server is not online. This is its last known list, read')} <pb-time .at=${readAt}></pb-time>.</p></div>`}
        <section class="card"><ul class="list parts">${items.map(item => this.#row(item))}</ul><div class="tf"><span>${plural(items.length, '{n} entry', '{n} entries')}</span></div></section>`
    })
  }

  #row(part: Part): unknown {
    const key = keyOf(part)
    const isOpen = this.chosen === key
    const toggle = (): void => {
      this.chosen = isOpen ? undefined : key
      this.read = undefined
      this.error = undefined
      // Items without arguments are read at once.
      if (!isOpen && part.uriTemplate === undefined && !part.arguments?.length) void this.#read(part, {})
    }
    return html`<li><button type="button" class="partrow" aria-expanded=${isOpen ? 'true' : 'false'} @click=${toggle}>${icon(isOpen ? 'chevron-down' : 'chevron-right', { class: 's14' })}
      <span class="grow"><span class="mono cut">${visibleName(part.uri ?? part.uriTemplate ?? part.name ?? '')}</span><span class="cellsub">${part.title ?? part.description ?? part.name}</span></span>
      ${part.mimeType === undefined ? nothing : html`<span class="tag">${part.mimeType}</span>`}${part.enabled === false ? html`<span class="tag">${icon('eye-off')}${t('Off')}</span>` : nothing}
      <span class="q xs tn">${t('about {n} tokens', { n: formatNumber(part.tokens, 0) })}</span></button>${isOpen ? this.#detail(part) : nothing}</li>`
  }

  #detail(part: Part): unknown {
    const names = part.arguments ?? templateNames(part.uriTemplate)
    const send = (event: Event): void => {
      event.preventDefault()
      const data = new FormData(event.target as HTMLFormElement)
      void this.#read(part, Object.fromEntries([...data].map(([name, value]) => [name, String(value)])))
    }
    return html`<div class="partbody stack">${part.description === undefined ? nothing : html`<p class="s q">${part.description}</p>`}
      ${
        names.length === 0
          ? nothing
          : html`<form class="stack" @submit=${send}>${names.map(
              ({ name, description, required }) =>
                html`<div class="field"><label for="part-${name}">${name}${required ? html` <span class="o">${t('required')}</span>` : nothing}</label><input id="part-${name}" name=${name} class="in"
                  ?required=${required ?? false} autocomplete="off">${description === undefined ? nothing : html`<p class="hint">${description}</p>`}</div>`,
            )}<span><button type="submit" class="btn" ?disabled=${this.busy}>${this.kind === 'prompts' ? t('Get prompt') : t('Read resource')}</button></span></form>`
      }${this.busy ? html`<div class="skel" aria-busy="true"></div>` : nothing}${this.error ? errorState(this.error) : nothing}${this.read === undefined ? nothing : this.#answer()}</div>`
  }

  #answer(): unknown {
    const { messages, contents } = this.read as {
      readonly messages?: readonly { readonly role: string; readonly content: Readonly<Record<string, unknown>> }[]
      readonly contents?: readonly Readonly<Record<string, unknown>>[]
    }
    if (messages) return messages.map(({ role, content }) => html`<p class="xs q">${role}</p>${contentView(content)}`)
    if (contents) return contents.map(content => contentView({ type: 'resource', resource: content }))
    return html`<pb-json .value=${this.read}></pb-json>`
  }

  async #read(part: Part, values: Readonly<Record<string, string>>): Promise<void> {
    const { chosen } = this
    this.busy = true
    this.error = undefined
    const session = new McpSession(this.server.owner, this.server.name, {
      notification: () => {},
      request: () => Promise.reject(new Error('The console answers no questions here')),
    })
    try {
      if (!canBeClient(this.server, this.groups))
        throw new Error(t('A group of the same name stands at its address: it cannot be read here.'))
      await session.open()
      const uri =
        part.uri ??
        part.uriTemplate?.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
      const read = await (this.kind === 'prompts'
        ? session.request('prompts/get', { name: part.name, arguments: values })
        : session.request('resources/read', { uri }))
      if (this.chosen === chosen) this.read = read
    } catch (error) {
      if (this.chosen === chosen) this.error = asApiError(error)
    } finally {
      session.close()
      this.busy = false
    }
  }
}
customElements.define('pb-server-parts', PbServerParts)

function templateNames(
  template = '',
): readonly { readonly name: string; readonly description?: string; readonly required: boolean }[] {
  return [...template.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => ({ name, required: true }))
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-server-parts': PbServerParts
  }
}
