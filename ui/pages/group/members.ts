import { html, nothing, type PropertyValues } from 'lit'
import { readAll, serverPath } from '../../api/servers.ts'
import { refOf, type ServerRecord, type ToolRecord } from '../../api/types.ts'
import { PbElement } from '../../components/element.ts'
import { menu } from '../../components/layers/menu.ts'
import { mark, stateOf } from '../../components/servers/status.ts'
import { emptyState } from '../../components/states.ts'
import type { Choice, TreeNode } from '../../components/tree/tree.ts'
import { formatNumber } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import { type Draft, type DraftMember, newMember, renamed, selects, withTool } from './draft.ts'
import '../../components/tree/tree.ts'

interface Chosen {
  readonly id: string
  readonly parent: string | undefined
  readonly chosen: boolean
}

/**
 * The members of a group and their tools as a tree.
 *
 * @fires pb-change - `detail: Partial<Draft>`
 */
export class PbGroupMembers extends PbElement {
  static override properties = {
    draft: { attribute: false },
    servers: { attribute: false },
    disabled: { type: Boolean },
    tools: { state: true },
    search: { state: true },
    renaming: { state: true },
  }
  declare draft: Draft
  declare servers: readonly ServerRecord[]
  declare disabled: boolean
  /** Tools of each member's server, as far as they are read. */
  declare tools: ReadonlyMap<string, readonly ToolRecord[]>
  declare search: string
  /** The tool whose name is being changed, as `server\ntool`. */
  declare renaming: string | undefined
  readonly #requested = new Set<string>()

  constructor() {
    super()
    this.tools = new Map()
    this.search = ''
    this.servers = []
  }

  protected override updated(changed: PropertyValues): void {
    super.updated(changed)
    for (const { server } of this.draft.members) if (!this.#requested.has(server)) void this.#read(server)
    if (changed.has('renaming') && this.renaming !== undefined)
      this.querySelector<HTMLInputElement>('.alias-in')?.focus()
  }

  async #read(server: string): Promise<void> {
    this.#requested.add(server)
    // For a public server of another user, or a removed one, the tools are not available.
    const tools = await readAll<ToolRecord>(`${serverPath(server)}/tools`, {}).catch(() => [])
    this.tools = new Map(this.tools).set(server, tools)
  }

  override render(): unknown {
    const { members } = this.draft
    const nodes = members.map(member => this.#node(member)).filter(node => node !== undefined)
    const opened = this.search === '' ? undefined : new Set(nodes.map(({ id }) => id))
    return html`<section class="card"><div class="ch line"><h2>${t('Servers and tools')}</h2><div class="r"><div class="wrapin">${icon('search', { class: 's14' })}<input class="in" type="search" data-search placeholder=${t('Filter tools')} aria-label=${t('Filter tools')}
      @input=${(event: InputEvent) => {
        this.search = (event.target as HTMLInputElement).value.trim().toLowerCase()
      }}></div>${this.disabled ? nothing : this.#adding()}</div></div>${
        members.length === 0
          ? emptyState({ icon: 'server', title: t('No server in it yet'), text: t('Add one; then choose its tools.') })
          : nodes.length === 0
            ? emptyState({
                icon: 'search',
                title: t('Nothing matches'),
                text: t('No tool of these servers has this in its name.'),
              })
            : html`<pb-tree .label=${t('Servers and tools of {name}', { name: this.draft.name || t('the new group') })} .nodes=${nodes} .open=${opened ?? nothing} ?disabled=${this.disabled} @pb-choose=${this.#chosen}></pb-tree>`
      }</section>`
  }

  #adding(): unknown {
    const present = new Set(this.draft.members.map(({ server }) => server))
    const others = this.servers.filter(server => !present.has(refOf(server)))
    const items = others.map(server => ({
      label: refOf(server),
      icon: stateOf(server).icon,
      action: () => this.#put([...this.draft.members, newMember(server)]),
    }))
    const label = t('Add server')
    return menu(
      label,
      items.length > 0 ? items : [{ label: t('Every server is in it'), action: () => {}, disabled: true }],
      html`<button type="button" slot="trigger" class="btn">${icon('plus')}${label}</button>`,
    )
  }

  #node(member: DraftMember): TreeNode | undefined {
    const tools = this.tools.get(member.server) ?? []
    const shown = tools.filter(({ name }) => this.search === '' || name.toLowerCase().includes(this.search))
    if (this.search !== '' && shown.length === 0) return undefined
    const record = this.servers.find(server => refOf(server) === member.server)
    const count = tools.filter(({ name }) => selects(member, name)).length
    const choice: Choice =
      member.tools === 'all' || (count > 0 && count === tools.length) ? true : count === 0 ? false : 'mixed'
    return {
      ...{ id: member.server, label: record?.name ?? member.server, choice, note: record?.transport },
      side: this.#memberSide(member, record, count, tools.length),
      children: shown.map(tool => this.#tool(member, tool)),
    }
  }

  #memberSide(member: DraftMember, record: ServerRecord | undefined, count: number, all: number): unknown {
    const state = record && record.status.state !== 'online' ? stateOf(record) : undefined
    const mode = (event: Event): void => {
      const whole = (event.target as HTMLSelectElement).value === 'all'
      const known = this.tools.get(member.server) ?? []
      this.#replace({
        ...member,
        tools: whole ? 'all' : known.filter(({ name }) => selects(member, name)).map(({ name }) => ({ name })),
      })
    }
    const name = record?.name ?? member.server
    const takeOut = this.disabled
      ? nothing
      : html`<button type="button" class="btn ghost sm ico" tabindex="-1" aria-label=${t('Take {name} out', { name })} title=${t('Take {name} out', { name })} @click=${() => this.#put(this.draft.members.filter(each => each !== member))}>${icon('x')}</button>`
    // Its tools are known to the group alone.
    if (!record) return html`<span class="q s">${t('not shared with you by itself')}</span>${takeOut}`
    return html`${state ? mark(state.tone, state.icon, t('{state}, from the cache', { state: state.word })) : nothing}<span class="nw">${t('{n} of {all} tools', { n: count, all })}</span>
      <select class="in mini2" tabindex="-1" aria-label=${t('Which tools of {name}', { name })} ?disabled=${this.disabled} @change=${mode}><option value="all" ?selected=${member.tools === 'all'}>${t('All, also future ones')}</option><option value="some" ?selected=${member.tools !== 'all'}>${t('Only these')}</option></select>${takeOut}`
  }

  #tool(member: DraftMember, tool: ToolRecord): TreeNode {
    const { name, annotations } = tool
    const as = member.tools === 'all' ? undefined : member.tools.find(each => each.name === name)?.as
    const key = `${member.server}\n${name}`
    const risk = annotations?.destructiveHint === true && annotations.readOnlyHint !== true
    const tokens = Math.ceil(
      (name.length + (tool.description?.length ?? 0) + JSON.stringify(tool.inputSchema ?? {}).length) / 4,
    )
    const done = (event: Event): void => {
      this.renaming = undefined
      this.#replace(
        renamed(member, name, (event.target as HTMLInputElement).value.trim(), this.tools.get(member.server) ?? []),
      )
    }
    const alias =
      this.renaming === key
        ? html`<input class="in mini2 alias-in" aria-label=${t('Other name of {name}', { name })} .value=${as ?? ''} placeholder=${name} @change=${done} @blur=${done}>`
        : html`${as ? html`<span class="mono">→ ${as}</span>` : nothing}${
            selects(member, name) && !this.disabled
              ? html`<button type="button" class="btn ghost sm ico" tabindex="-1" aria-label=${t('Another name for {name}', { name })} title=${t('Another name for {name}', { name })} @click=${() => {
                  this.renaming = key
                }}>${icon('pencil')}</button>`
              : nothing
          }`
    return {
      ...{ id: name, label: name, choice: selects(member, name) },
      side: html`${risk ? html`<span class="tag warn">${icon('triangle-alert')}${t('Destructive')}</span>` : nothing}${alias}<span class="nw">${plural(tokens, 'about {n} token', 'about {n} tokens', { n: formatNumber(tokens, 0) })}</span>`,
    }
  }

  readonly #chosen = (event: CustomEvent<Chosen>): void => {
    const { id, parent, chosen } = event.detail
    const member = this.draft.members.find(({ server }) => server === (parent ?? id))
    if (!member) return
    const known = this.tools.get(member.server) ?? []
    if (parent !== undefined) return this.#replace(withTool(member, id, chosen, known))
    this.#replace({ ...member, tools: chosen ? 'all' : [] })
  }

  #replace(member: DraftMember): void {
    this.#put(this.draft.members.map(each => (each.server === member.server ? member : each)))
  }

  #put(members: readonly DraftMember[]): void {
    this.dispatchEvent(new CustomEvent('pb-change', { detail: { members } }))
  }
}
customElements.define('pb-group-members', PbGroupMembers)

declare global {
  interface HTMLElementTagNameMap {
    'pb-group-members': PbGroupMembers
  }
}
