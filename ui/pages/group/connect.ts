import { html, nothing, type PropertyValues } from 'lit'
import { api, segment } from '../../api/client.ts'
import type { Connections } from '../../api/connections.ts'
import { asApiError } from '../../api/problem.ts'
import { readAll } from '../../api/servers.ts'
import { type GroupRecord, refOf } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { PbElement } from '../../components/element.ts'
import { hubWords } from '../../components/hub-words.ts'
import { drawer } from '../../components/layers/layer.ts'
import { toast } from '../../components/layers/toast.ts'
import { errorState, errorText, show } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { plural, rich, t } from '../../text/t.ts'
import '../../components/copy.ts'

/** Placeholder in the hub's texts for the key, which it cannot show again. */
const PLACE = '<ACCESS_KEY>'
/** Interval of checks whether the client has connected, in milliseconds. */
const LOOK_MS = 1500
/** Clients that are shown at first: the hub lists the best known ones first. */
const FIRST = 8

interface ClientText {
  readonly endpoint: string
  readonly path?: string
  readonly text: string
  readonly format: 'json' | 'toml' | 'yaml' | 'shell'
  readonly command?: string
  readonly link?: string
  readonly note?: string
  readonly clients: readonly Client[]
}

/** A client that the hub can configure. */
interface Client {
  readonly id: string
  readonly label: string
}

interface Key {
  readonly id: string
  readonly label: string
  readonly last4: string
  readonly scopes: readonly unknown[]
  readonly lastUsedAt?: string
}

/** Pictures of clients by id; a client without one has a terminal. */
const PICTURES: Readonly<Record<string, string>> = {
  'claude-desktop': 'message-square',
  'claude-code': 'square-terminal',
  cursor: 'text-cursor-input',
  vscode: 'code',
  windsurf: 'wind',
  codex: 'square-chevron-right',
  gemini: 'sparkle',
  url: 'link',
}

/**
 * Drawer that connects a client to a group: client, key, text to paste, and the wait for the first connection.
 *
 * @fires pb-close
 * @fires pb-client - `detail: string`, another client was chosen
 */
export class PbConnect extends PbElement {
  static override properties = {
    group: { attribute: false },
    client: {},
    secret: { state: true },
    key: { state: true },
    connected: { state: true },
    making: { state: true },
    clients: { state: true },
    all: { state: true },
  }
  declare group: GroupRecord
  /** The client; undefined: the drawer is closed. */
  declare client: string | undefined
  /** The secret of a key that was just made. */
  declare secret: string | undefined
  declare key: Key | undefined
  declare connected: string | undefined
  declare making: boolean
  /** As the hub lists them; empty until its first answer. */
  declare clients: readonly Client[]
  /** True when all clients are shown, and not the first ones alone. */
  declare all: boolean
  #timer: ReturnType<typeof setInterval> | undefined
  readonly #known = new Set<string>()
  #openedAtMs = 0
  readonly #text = new Resource<ClientText>(this, {
    read: async signal => {
      const { endpoint } = this.group
      const client = this.client === 'url' ? 'curl' : this.client
      const path = `/api/groups/${segment(refOf(this.group))}/client-config`
      const read = await api.get<ClientText>(path, { query: { client }, signal })
      this.clients = read.clients
      if (this.client !== 'url') return read
      // For any other client: the address, and the header that opens it.
      const text = `${endpoint}\nAuthorization: Bearer ${PLACE}\n`
      return { endpoint, format: 'shell', text, clients: read.clients }
    },
    key: () => (this.client === undefined ? undefined : [this.client, this.group.id]),
  })
  readonly #keys = new Resource<readonly Key[]>(this, {
    read: signal => readAll('/api/keys', {}, signal),
    key: () => (this.client === undefined ? undefined : 'open'),
  })

  constructor() {
    super()
    this.clients = []
    this.all = false
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#wait(false)
  }

  protected override updated(changed: PropertyValues): void {
    super.updated(changed)
    if (changed.has('client')) this.#wait(this.client !== undefined)
  }

  /** Starts the wait for a new client; clients that are connected when the drawer opens do not count. */
  #wait(open: boolean): void {
    if (!open) {
      clearInterval(this.#timer)
      this.#timer = undefined
      this.#openedAtMs = 0
      return
    }
    if (this.#timer !== undefined) return
    this.connected = undefined
    this.#openedAtMs = Date.now()
    this.#known.clear()
    void this.#look(true)
    this.#timer = setInterval(() => void this.#look(false), LOOK_MS)
  }

  async #look(first: boolean): Promise<void> {
    if (this.connected !== undefined) return
    const found = await api
      .get<Connections>('/api/monitoring/connections', { query: { range: '1m', scope: 'mine' } })
      .catch(() => undefined)
    if (!found) return
    const ids = new Set(found.links.filter(({ group }) => group === this.group.id).map(({ client }) => client))
    const here = found.clients.filter(({ id, kind }) => kind === 'client' && ids.has(id))
    if (first) for (const { id } of here) this.#known.add(id)
    const come = here.find(({ id, key }) => !this.#known.has(id) && (this.key === undefined || key?.id === this.key.id))
    if (come) this.connected = come.name || t('A client')
    // A client without a session shows itself by the use of its key.
    else if (!first && this.secret !== undefined && this.key) await this.#lookAtKey(this.key.id)
  }

  async #lookAtKey(id: string): Promise<void> {
    const keys = await readAll<Key>('/api/keys', {}).catch(() => undefined)
    const used = keys?.find(key => key.id === id)?.lastUsedAt
    if (used !== undefined && Date.parse(used) >= this.#openedAtMs && this.connected === undefined)
      this.connected = this.#name
  }

  get #name(): string {
    return this.clients.find(({ id }) => id === this.client)?.label ?? this.client ?? ''
  }

  override render(): unknown {
    return drawer({
      open: this.client !== undefined,
      title: t('Connect a client to {name}', { name: this.group.name }),
      body: html`<div class="stack"><div class="clients" role="radiogroup" aria-label=${t('Client')} @keydown=${this.#moved}>${this.#offered.map(
        ({ id, label }) =>
          html`<button type="button" role="radio" aria-checked=${id === this.client ? 'true' : 'false'} tabindex=${id === this.client ? 0 : -1} title=${label} @click=${() => this.#choose(id)}>${icon(PICTURES[id] ?? 'terminal')}<span class="cut">${label}</span></button>`,
      )}</div>${this.#more()}${this.#keyField()}${this.#snippet()}</div>`,
      foot: this.#foot(),
      onClose: () => {
        this.secret = undefined
        this.key = undefined
        this.dispatchEvent(new CustomEvent('pb-close'))
      },
    })
  }

  /** The hub's clients, at first the best known ones, and the address alone for any other one. */
  get #offered(): readonly Client[] {
    if (this.clients.length === 0) return []
    return [...this.clients.slice(0, this.#isShort ? FIRST : undefined), { id: 'url', label: t('Plain URL') }]
  }

  /** The chosen client is always shown. */
  get #isShort(): boolean {
    return !this.all && this.clients.findIndex(({ id }) => id === this.client) < FIRST
  }

  #more(): unknown {
    const more = this.clients.length - FIRST
    if (!this.#isShort || more <= 0) return nothing
    return html`<button type="button" class="btn ghost sm" @click=${this.#showAll}>${icon('chevron-down')}${plural(more, '{n} more client', '{n} more clients')}</button>`
  }

  readonly #showAll = async (): Promise<void> => {
    this.all = true
    await this.updateComplete
    // The button is gone. The focus moves to the first client that it has revealed.
    this.querySelectorAll<HTMLElement>('[role=radio]')[FIRST]?.focus()
  }

  #choose(id: string): void {
    this.dispatchEvent(new CustomEvent('pb-client', { detail: id }))
  }

  readonly #moved = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const offered = this.#offered
    const at = offered.findIndex(({ id }) => id === this.client)
    const next = (at + step + offered.length) % offered.length
    this.#choose(offered[next]?.id ?? 'claude-desktop')
    ;[...(event.currentTarget as Element).querySelectorAll<HTMLElement>('button')][next]?.focus()
  }

  #keyField(): unknown {
    const keys = (this.#keys.data ?? []).filter(key => opens(key, this.group))
    const pick = (event: Event): void => {
      this.secret = undefined
      this.key = keys.find(({ id }) => id === (event.target as HTMLSelectElement).value)
    }
    return html`<div class="field"><label for="connect-key">${t('Key')}</label><div class="row"><select id="connect-key" class="in grow" aria-describedby="connect-key-h" @change=${pick}>
      <option value="" ?selected=${this.key === undefined}>${t('New key: {label}, only {group}', { label: this.client ?? '', group: this.group.name })}</option>${keys.map(
        key => html`<option value=${key.id} ?selected=${key.id === this.key?.id}>${key.label} …${key.last4}</option>`,
      )}</select><button type="button" class="btn" ?disabled=${this.key !== undefined || this.making || !live.reachable} @click=${this.#make}>${t('Make key')}</button></div>
      <p class="hint" id="connect-key-h">${this.key && this.secret === undefined ? t('Its secret is not shown again: put it in place of {place}.', { place: PLACE }) : t('Opens this group and nothing else. You can revoke it under API keys.')}</p></div>${
        this.secret === undefined
          ? nothing
          : html`<div class="callout warn" role="status">${icon('key-round')}<p>${rich('{first} It is already in the text below. Copy it before you close.', { first: html`<b>${t('This key is shown once.')}</b>` })}</p></div>`
      }`
  }

  readonly #make = async (): Promise<void> => {
    this.making = true
    try {
      const body = { label: this.client ?? 'client', scopes: [{ group: refOf(this.group) }] }
      const made = await api.post<Key & { readonly secret: string }>('/api/keys', { body })
      this.secret = made.secret
      this.key = made
      void this.#keys.reload()
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
    this.making = false
  }

  #snippet(): unknown {
    if (this.#text.error && !this.#text.data) return errorState(this.#text.error, () => void this.#text.reload())
    return show(this.#text, data => {
      const text = this.secret === undefined ? data.text : data.text.replaceAll(PLACE, this.secret)
      const command = data.command?.replaceAll(PLACE, this.secret ?? PLACE)
      return html`<div class="stack t"><div class="row"><span class="med s">${data.path === undefined ? t('Run or paste') : html`${t('Add to')} <code>${data.path}</code>`}</span><button type="button" class="btn ghost sm ico push" aria-label=${t('Download')} title=${t('Download')} @click=${() => save(text, data)}>${icon('download')}</button></div>
        <pre class="code connect-text" tabindex="0">${text}</pre><div class="row wrap"><pb-copy .text=${text} .caption=${t('Copy')}></pb-copy>${
          data.link === undefined
            ? nothing
            : html`<a class="btn" href=${data.link}>${icon('external-link')}${t('Open in {name}', { name: this.#name })}</a>`
        }</div>${command === undefined || command === text.trim() ? nothing : html`<p class="xs q">${t('Or as a command:')}</p><div class="copyline"><span class="cut" title=${command}>${command}</span><pb-copy .text=${command}></pb-copy></div>`}${
          data.note === undefined ? nothing : html`<p class="xs q">${hubWords(data.note)}</p>`
        }</div>`
    })
  }

  #foot(): unknown {
    const tools = plural(this.group.tools, '{n} tool', '{n} tools')
    if (this.connected !== undefined)
      return html`<div class="row" role="status">${icon('circle-check', { class: 'st-ok' })}<div><b class="med">${t('Connected, {name}, {tools}', { name: this.connected, tools })}</b></div></div>`
    return html`<div class="row" role="status">${icon('loader-circle', { class: 'q' })}<div><span class="med">${t('Waiting for the first connection')}</span><span class="cellsub">${t('Restart {name}. This turns into “connected, {tools}” by itself.', { name: this.#name, tools })}</span></div></div>`
  }
}
customElements.define('pb-connect', PbConnect)

/** True when a key gives access to this group. */
function opens({ scopes }: Key, group: GroupRecord): boolean {
  return scopes.some(
    scope =>
      scope === 'mcp' ||
      (typeof scope === 'object' && scope !== null && (scope as { group?: string }).group === refOf(group)),
  )
}

function save(text: string, { path, format }: ClientText): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  link.download = path?.split(/[/\\]/).at(-1) ?? `patchbay.${format === 'shell' ? 'sh' : format}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-connect': PbConnect
  }
}
