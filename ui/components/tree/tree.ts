import { html, nothing } from 'lit'
import { repeat } from 'lit/directives/repeat.js'
import { icon } from '../../text/icon.ts'
import { PbElement } from '../element.ts'

/** True for a chosen node; `mixed`: some of the nodes below it are chosen. */
export type Choice = boolean | 'mixed'

/** A node of a {@link PbTree}, with the nodes below it. */
export interface TreeNode {
  readonly id: string
  readonly label: string
  readonly choice: Choice
  /** Quiet words behind the label. */
  readonly note?: unknown
  /** At the right: tags, counts, fields. */
  readonly side?: unknown
  /** Absent: nothing can be below it. */
  readonly children?: readonly TreeNode[]
}

interface Line {
  readonly node: TreeNode
  readonly level: number
  readonly parent: string | undefined
}

/**
 * Items of two levels that are selected by checkboxes with three states, as a real ARIA tree.
 *
 * Keys: up and down move, right opens, left closes or goes to the parent, Space chooses, Home and End go to the ends, a letter
 * goes to the next item that begins with it.
 *
 * @fires pb-choose - `detail: { id, parent, chosen }`
 */
export class PbTree extends PbElement {
  static override properties = {
    label: {},
    nodes: { attribute: false },
    open: { attribute: false },
    disabled: { type: Boolean },
    at: { state: true },
  }
  declare label: string
  declare nodes: readonly TreeNode[]
  /** Ids of the opened ones; a search opens all. */
  declare open: ReadonlySet<string>
  declare disabled: boolean
  /** Key of the focused line. */
  declare at: string | undefined

  constructor() {
    super()
    this.nodes = []
    this.open = new Set()
  }

  get #lines(): Line[] {
    return this.nodes.flatMap(node => [
      { node, level: 1, parent: undefined },
      ...(this.open.has(node.id)
        ? (node.children ?? []).map(child => ({ node: child, level: 2, parent: node.id }))
        : []),
    ])
  }

  override render(): unknown {
    const lines = this.#lines
    const at = lines.some(line => keyOf(line) === this.at) ? this.at : lines[0] && keyOf(lines[0])
    return html`<ul class="tree" role="tree" aria-label=${this.label} aria-multiselectable="true" @keydown=${this.#pressed}>${repeat(lines, keyOf, line => this.#line(line, at))}</ul>`
  }

  #line(line: Line, at: string | undefined): unknown {
    const { node, level } = line
    const opened = node.children === undefined ? nothing : String(this.open.has(node.id))
    const box = boxOf(node.choice)
    return html`<li role="treeitem" class="tnode l${level}" data-key=${keyOf(line)} aria-level=${level} aria-expanded=${opened} aria-checked=${String(node.choice)} aria-selected=${node.choice === true ? 'true' : 'false'} aria-disabled=${this.disabled ? 'true' : nothing}
      tabindex=${keyOf(line) === at ? 0 : -1} @click=${(event: Event) => this.#clicked(event, line)}>${
        node.children === undefined
          ? html`<span class="tsp"></span>`
          : html`<span class="tw-open">${icon(this.open.has(node.id) ? 'chevron-down' : 'chevron-right', { class: 's14 q' })}</span>`
      }<span class="cbox ${box}" aria-hidden="true"></span><span class="${level === 1 ? 'med' : 'mono'} cut ${node.choice === false ? 'f' : ''}" title=${node.label}>${node.label}</span>${
        node.note === undefined ? nothing : html`<span class="q xs cut">${node.note}</span>`
      }<span class="push row xs q">${node.side ?? nothing}</span></li>`
  }

  #clicked(event: Event, line: Line): void {
    const target = event.target as Element
    if (target.closest('select, input, button, a')) return
    this.at = keyOf(line)
    if (target.closest('.tw-open')) this.#toggle(line.node.id)
    else this.#choose(line)
  }

  #choose({ node, parent }: Line): void {
    if (this.disabled) return
    this.dispatchEvent(new CustomEvent('pb-choose', { detail: { id: node.id, parent, chosen: node.choice !== true } }))
  }

  #toggle(id: string, open = !this.open.has(id)): void {
    const next = new Set(this.open)
    if (open) next.add(id)
    else next.delete(id)
    this.open = next
  }

  readonly #pressed = (event: KeyboardEvent): void => {
    const item = event.target as HTMLElement
    if (item.getAttribute('role') !== 'treeitem' || event.ctrlKey || event.metaKey || event.altKey) return
    const lines = this.#lines
    const index = lines.findIndex(line => keyOf(line) === item.dataset.key)
    const line = lines[index]
    if (!line) return
    const target = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: lines.length - 1 }[event.key]
    if (target !== undefined) void this.#focus(lines[Math.min(Math.max(target, 0), lines.length - 1)])
    else if (event.key === 'ArrowRight' || event.key === 'ArrowLeft')
      this.#across(line, event.key === 'ArrowRight', lines)
    else if (event.key === ' ' || event.key === 'Enter') this.#choose(line)
    else if (event.key.length === 1) void this.#focus(byLetter(lines, index, event.key))
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  #across({ node, parent }: Line, right: boolean, lines: readonly Line[]): void {
    const opened = this.open.has(node.id)
    if (right && node.children !== undefined) {
      if (!opened) this.#toggle(node.id, true)
      else void this.#focus(lines.find(line => line.parent === node.id))
    } else if (!right && opened && parent === undefined) this.#toggle(node.id, false)
    else if (!right && parent !== undefined)
      void this.#focus(lines.find(line => line.parent === undefined && line.node.id === parent))
  }

  async #focus(line: Line | undefined): Promise<void> {
    if (!line) return
    this.at = keyOf(line)
    await this.updateComplete
    ;[...this.querySelectorAll<HTMLElement>('[role="treeitem"]')].find(item => item.dataset.key === this.at)?.focus()
  }
}
customElements.define('pb-tree', PbTree)

function boxOf(choice: Choice): string {
  if (choice === 'mixed') return 'mix'
  return choice ? 'on' : ''
}

function keyOf({ node, parent }: Line): string {
  return JSON.stringify([parent ?? null, node.id])
}

function byLetter(lines: readonly Line[], from: number, letter: string): Line | undefined {
  const wanted = letter.toLowerCase()
  return [...lines.slice(from + 1), ...lines.slice(0, from)].find(({ node }) =>
    node.label.toLowerCase().startsWith(wanted),
  )
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-tree': PbTree
  }
}
