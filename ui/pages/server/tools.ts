import { html, nothing } from 'lit'
import { api, segment } from '../../api/client.ts'
import { asApiError } from '../../api/problem.ts'
import { isEditable, type Listing, readTools, refOf, serverPath } from '../../api/servers.ts'
import type { GroupRecord, ServerRecord, ToolRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { router } from '../../app/router.ts'
import { PbElement } from '../../components/element.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { menu } from '../../components/layers/menu.ts'
import { toast } from '../../components/layers/toast.ts'
import { emptyState, errorText, show } from '../../components/states.ts'
import { formatNumber } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import { renameDialog } from './rename.ts'
import './new-tools.ts'
import './try.ts'
import '../../components/json/json.ts'
import '../../components/layers/row-menu.ts'

/** Number of tools above which further ones are found only by the search. */
const MOST_SHOWN = 300

type Filter = 'all' | 'writes' | 'changed' | 'off'

/** Tools of a server: the list, and the pane to try one. */
export class PbServerTools extends PbElement {
  static override properties = {
    server: { attribute: false },
    groups: { attribute: false },
    query: { attribute: false },
    text: { state: true },
    filter: { state: true },
    renaming: { state: true },
  }
  declare server: ServerRecord
  declare groups: readonly GroupRecord[] | undefined
  /** Parameters of the address: `tool` is the chosen one. */
  declare query: URLSearchParams
  declare text: string
  declare filter: Filter
  declare renaming: ToolRecord | undefined
  readonly #tools = new Resource<Listing<ToolRecord>>(this, {
    key: () => [refOf(this.server), this.server.status.state === 'online'],
    read: signal => readTools(refOf(this.server), signal),
    topics: ['servers'],
    apply: ({ event, data }) =>
      data.serverId === this.server.id && /^(catalog|tool|server\.updated)/.test(event) ? 'stale' : 'same',
  })

  constructor() {
    super()
    this.text = ''
    this.filter = 'all'
  }

  override render(): unknown {
    return html`${show(this.#tools, list => this.#whole(list))}${renameDialog({
      tool: this.renaming,
      close: () => {
        this.renaming = undefined
      },
      save: (tool, changes) => void this.#change(tool, changes),
    })}`
  }

  #whole(list: Listing<ToolRecord>): unknown {
    const { items, live: isLive, readAt } = list
    if (items.length === 0)
      return emptyState({
        icon: 'wrench',
        title: isLive ? t('This server has no tools') : t('Its tools are not known yet'),
        text: isLive
          ? t('It may have prompts or resources.')
          : t('They are read when the server comes online for the first time.'),
      })
    const shown = items.filter(tool => this.#fits(tool))
    const wanted = this.query.get('tool')
    const chosen = items.find(({ name }) => name === wanted) ?? shown[0] ?? items[0]
    return html`${isLive || readAt === null ? nothing : html`<div class="callout">${icon('history')}<p>${t('The server is not online. These tools are from its last known list, read')} <pb-time .at=${readAt}></pb-time>.</p></div>`}
      <div class="try">${this.#list(items, shown, chosen)}<div class="stack trymain">${chosen ? html`${this.#changed(chosen)}<pb-try-tool .target=${{ kind: 'server', ...this.server }} .groups=${this.groups} .tool=${chosen}></pb-try-tool>` : nothing}</div></div>`
  }

  #fits(tool: ToolRecord): boolean {
    if (this.filter === 'off' && tool.enabled !== false) return false
    if (this.filter === 'changed' && tool.changed !== true) return false
    if (this.filter === 'writes' && !writes(tool)) return false
    const text = this.text.toLowerCase()
    return text === '' || `${tool.name} ${tool.title ?? ''} ${tool.description ?? ''}`.toLowerCase().includes(text)
  }

  #list(all: readonly ToolRecord[], shown: readonly ToolRecord[], chosen: ToolRecord | undefined): unknown {
    const tokens = all.reduce((sum, { tokens: one }) => sum + Number(one ?? 0), 0)
    const off = all.filter(({ enabled }) => enabled === false).length
    const hint = plural(all.length, '{n} tool', '{n} tools')
    const filters: readonly (readonly [Filter, string])[] = [
      ['all', t('All tools')],
      ['writes', t('Those that write')],
      ['changed', t('Changed definitions')],
      ['off', t('Switched off')],
    ]
    const trigger = html`<button type="button" slot="trigger" class="btn ghost ico ${this.filter === 'all' ? '' : 'on'}" aria-label=${t('Filter tools')} title=${t('Filter tools')}>${icon('list-filter')}</button>`
    return html`<section class="card toollist" aria-label=${t('Tools of {name}', { name: this.server.name })}><div class="ch line"><div class="wrapin">${icon('search', { class: 's14' })}<input class="in" type="search" data-search
      placeholder=${hint} aria-label=${t('Search tools')} .value=${this.text} @input=${(event: InputEvent) => {
        this.text = (event.target as HTMLInputElement).value
      }}></div>${menu(
        t('Filter tools'),
        filters.map(([id, label]) => ({
          label,
          checked: this.filter === id,
          action: () => {
            this.filter = id
          },
        })),
        trigger,
      )}</div>
      <ul>${shown.slice(0, MOST_SHOWN).map(tool => this.#item(tool, tool === chosen))}</ul>${shown.length === 0 ? html`<p class="s q pad">${t('No tool fits.')}</p>` : nothing}
      <div class="tf"><span>${hint}${off === 0 ? '' : `, ${t('{n} off', { n: off })}`}, ${t('about {n} tokens', { n: formatNumber(tokens, 0) })}${
        shown.length > MOST_SHOWN ? ` · ${t('first {n} shown', { n: MOST_SHOWN })}` : ''
      }</span>${isEditable(this.server) ? html`<pb-new-tools .server=${this.server} .tools=${all}></pb-new-tools>` : nothing}</div></section>`
  }

  #item(tool: ToolRecord, isChosen: boolean): unknown {
    const choose = (event: Event): void => {
      event.preventDefault()
      router.setQuery({ tool: tool.name }, { push: true })
    }
    const query = new URLSearchParams(this.query)
    query.set('tool', tool.name)
    return html`<li class="toolitem"><a href="?${query.toString()}" aria-current=${isChosen ? 'true' : nothing} @click=${choose}><span class="mono cut tn1 ${tool.enabled === false ? 'f' : ''}" title=${tool.name}>${tool.name}</span><span
      class="row"><span class="cellsub">${tool.title ?? tool.description ?? ''}</span>${traitOf(tool)}</span></a>${isEditable(this.server) ? this.#menu(tool) : nothing}</li>`
  }

  #menu(tool: ToolRecord): unknown {
    const disabled = !live.reachable || this.server.origin === 'file'
    const isOff = tool.enabled === false
    return html`<pb-row-menu .label=${t('Actions for {name}', { name: tool.name })} .items=${() => [
      {
        label: isOff ? t('Switch on') : t('Switch off'),
        icon: isOff ? 'eye' : 'eye-off',
        disabled,
        action: () => void this.#toggle(tool),
      },
      {
        label: t('Change name or description'),
        icon: 'pencil',
        disabled,
        action: () => {
          this.renaming = tool
        },
      },
      ...(tool.overridden === true
        ? [
            {
              label: t('As the server has it'),
              icon: 'rotate-ccw',
              disabled,
              action: () => void this.#change(tool, { enabled: null, name: null, description: null, arguments: null }),
            },
          ]
        : []),
    ]}></pb-row-menu>`
  }

  /** A definition that differs from the approved one: the new text must be read before it is approved. */
  #changed(tool: ToolRecord): unknown {
    if (tool.changed !== true || !isEditable(this.server)) return nothing
    const text = tool.waiting
      ? t(
          'The server has changed what this tool says of itself. It cannot be called until you approve the new definition.',
        )
      : t('The server has changed what this tool says of itself since it was first seen.')
    return html`<div class="callout warn">${icon('git-compare')}<div class="grow stack t"><p><b>${t('Changed definition')}</b> ${text}</p><details><summary>${t('The definition now')}</summary><pb-json .value=${{
      description: tool.description,
      inputSchema: tool.inputSchema,
      annotations: tool.annotations,
    }}></pb-json></details><p><button type="button" class="btn sm" ?disabled=${!live.reachable} @click=${() => void this.#approve(tool)}>${icon('check')}${t('Approve')}</button></p></div></div>`
  }

  async #toggle(tool: ToolRecord): Promise<void> {
    const isOff = tool.enabled === false
    await this.#change(tool, { enabled: isOff })
    if (!isOff) toast(t('{name} switched off', { name: tool.name }), () => void this.#change(tool, { enabled: true }))
  }

  async #change(tool: ToolRecord, changes: Readonly<Record<string, unknown>>): Promise<void> {
    const path = `${serverPath(refOf(this.server))}/tools/${segment(String(tool.original ?? tool.name))}`
    try {
      const after = await api.patch<ToolRecord>(path, { body: changes })
      const list = this.#tools.data
      if (list)
        this.#tools.set({ ...list, items: list.items.map(one => (one.original === after.original ? after : one)) })
      if (this.query.get('tool') === tool.name) router.setQuery({ tool: after.name })
      this.dispatchEvent(new CustomEvent('pb-server', { bubbles: true }))
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
  }

  async #approve(tool: ToolRecord): Promise<void> {
    const yes = await confirmed({
      title: t('Approve the new definition of {name}?', { name: tool.name }),
      text: t('Clients and models read it from now on. Approve only what you have read.'),
      action: t('Approve'),
      danger: false,
    })
    if (!yes) return
    try {
      await api.post(`${serverPath(refOf(this.server))}/tools/${segment(String(tool.original ?? tool.name))}/approve`, {
        body: { hash: tool.hash },
      })
      toast(t('{name} approved', { name: tool.name }))
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
    await this.#tools.reload()
  }
}
customElements.define('pb-server-tools', PbServerTools)

const writes = ({ annotations }: ToolRecord): boolean => annotations !== undefined && annotations.readOnlyHint === false

/** The one trait of a tool that matters most. */
function traitOf(tool: ToolRecord): unknown {
  if (tool.enabled === false) return html`<span class="tag">${icon('eye-off')}${t('Off')}</span>`
  if (tool.changed === true) return html`<span class="tag warn">${icon('git-compare')}${t('Changed')}</span>`
  if (tool.appOnly === true) return html`<span class="tag">${icon('app-window')}${t('For apps only')}</span>`
  const { destructiveHint, readOnlyHint } = tool.annotations ?? {}
  if (destructiveHint === true && readOnlyHint !== true)
    return html`<span class="tag warn">${icon('triangle-alert')}${t('Destructive')}</span>`
  return writes(tool) ? html`<span class="tag">${icon('pencil')}${t('Writes')}</span>` : nothing
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-server-tools': PbServerTools
  }
}
