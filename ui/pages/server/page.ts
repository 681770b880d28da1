import { html, nothing } from 'lit'
import { api } from '../../api/client.ts'
import { asApiError } from '../../api/problem.ts'
import { controlServer, isEditable, refOf, type ServerVerb, serverPath } from '../../api/servers.ts'
import { hasRole, type Shared } from '../../api/sharing.ts'
import type { GroupRecord, ServerRecord, ThingRole } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { piecesOf } from '../../app/parts.ts'
import '../../app/piece-element.ts'
import { pluginPages } from '../../app/plugin-pages.ts'
import { Resource } from '../../app/resource.ts'
import { href, router } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import { type MenuItem, menu } from '../../components/layers/menu.ts'
import { toast } from '../../components/layers/toast.ts'
import { PbPage, tabs } from '../../components/page.ts'
import { signInLink, signInNote } from '../../components/servers/sign-in.ts'
import { attemptText, isResting, serverState } from '../../components/servers/status.ts'
import { lostThing } from '../../components/sharing/lost.ts'
import { sharedNote } from '../../components/sharing/shared-note.ts'
import { errorText, show, skeleton } from '../../components/states.ts'
import { formatSpan } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { deleteItem, deleteServers } from '../servers/bulk.ts'
import { readGroups } from '../servers/data.ts'
import './access.ts'
import './logs.ts'
import './metrics.ts'
import './overview.ts'
import './parts.ts'
import './settings.ts'
import './tools.ts'

type Tab = 'overview' | 'tools' | 'prompts' | 'resources' | 'logs' | 'metrics' | 'settings' | 'rules' | 'access'
/** The smallest role for each tab; those without an entry are for every reader. */
const TAB_ROLES: Readonly<Record<string, ThingRole>> = {
  logs: 'see',
  metrics: 'see',
  settings: 'change',
  rules: 'owner',
  access: 'owner',
}

/** One server: its state, lists, records and settings. */
class PbPageServer extends PbPage {
  static override properties = { ...PbPage.properties, busy: { state: true }, now: { state: true } }
  /** The deed under way. */
  declare busy: ServerVerb | undefined
  declare now: number
  #timer: ReturnType<typeof setInterval> | undefined
  /** The server as it was last shown, for the text when it is lost. */
  #seen: { readonly name: string; readonly owner: string; readonly ref: string | undefined } | undefined
  readonly #server = new Resource<ServerRecord>(this, {
    key: () => this.params.ref,
    read: signal => api.get<ServerRecord>(serverPath(this.params.ref ?? ''), { signal }),
    topics: ['servers', 'shares'],
    apply: ({ event, data }, server) => {
      if (event === 'share.changed') return data.kind === 'server' && data.ref === refOf(server) ? 'stale' : 'same'
      if (!/^(server|connection|catalog|tool)\./.test(event)) return 'same'
      return data.serverId === server.id || server.id === undefined ? 'stale' : 'same'
    },
    pauseMs: 500,
    everyMs: 30_000,
  })
  readonly #groups = new Resource<readonly GroupRecord[]>(this, {
    read: readGroups,
    topics: ['servers'],
    pauseMs: 5000,
  })

  override connectedCallback(): void {
    super.connectedCallback()
    this.#timer = setInterval(() => {
      this.now = Date.now()
      // The progress of a start causes no events.
      const isStarting = this.#server.data?.status.starting !== undefined
      if (isStarting && document.visibilityState === 'visible' && !this.#server.loading) void this.#server.reload()
    }, 1000)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    clearInterval(this.#timer)
  }

  override crumbs() {
    const name = this.#server.data?.name ?? this.params.ref?.split('~').at(-1) ?? ''
    return [{ label: t('Servers'), path: '/servers' }, { label: name }]
  }

  override headNote(): unknown {
    const server = this.#server.data
    if (!server) return nothing
    const { status } = server
    const beside =
      status.state === 'online'
        ? t('for {time}', { time: formatSpan(Date.now() - Date.parse(status.since)) })
        : attemptText(status)
    return html`${serverState(server)}<span class="q s wide">${beside ?? nothing}</span>${
      server.visibility === 'public' ? html`<span class="tag line">${t('Public')}</span>` : nothing
    }`
  }

  override actions(): unknown {
    const server = this.#server.data
    if (!server || !isEditable(server)) return server ? signInLink(server) : nothing
    const isOff = !live.reachable || this.busy !== undefined
    const runs = server.enabled === true
    const isDown = runs && server.status.state === 'offline' && !isResting(server.status)
    const needsReview = (server.review as { readonly required?: boolean } | undefined)?.required === true
    const act = (verb: ServerVerb) => (): void => void this.#control(server, verb)
    const again = isDown ? t('Try now') : t('Restart')
    return html`${signInLink(server)}${
      runs
        ? html`<span class="wide"><button type="button" class="btn" ?disabled=${isOff} @click=${act('restart')}>${icon('rotate-cw')}${again}</button></span>
          <button type="button" class="btn" ?disabled=${isOff} @click=${act('stop')}>${icon('square')}${this.busy === 'stop' ? t('Stopping') : t('Stop server')}</button>`
        : html`<button type="button" class="btn pri" ?disabled=${isOff || needsReview} @click=${act('start')}>${icon('play')}${this.busy === 'start' ? t('Starting') : t('Start server')}</button>`
    }${menu(t('More actions'), [
      { label: again, icon: 'rotate-cw', disabled: isOff || !runs, action: act('restart') },
      { label: t('Refresh its lists'), icon: 'list-restart', disabled: isOff || !runs, action: act('refresh') },
      { label: t('Settings'), icon: 'settings-2', action: () => this.#open('settings') },
      ...ownerItems(
        server,
        () => this.#open('access'),
        isOff,
        () => void this.#remove(server),
      ),
    ])}`
  }

  override content(): unknown {
    const { ref } = this.params
    const { data, error } = this.#server
    if (data) this.#seen = { name: data.name, owner: data.owner, ref }
    const seen = this.#seen?.ref === ref ? this.#seen : undefined
    const loading = (): unknown => skeleton(8)
    return (
      lostThing('server', data ? undefined : error, seen) ?? show(this.#server, server => this.#whole(server), loading)
    )
  }

  #whole(server: ServerRecord): unknown {
    const tab = this.#tab(server)
    return html`${this.#tabs(server, tab)}${this.#notes(server)}${this.#part(server, tab)}`
  }

  #tab(server: ServerRecord): Tab {
    const wanted = this.view('tab') ?? 'overview'
    const entries = this.#entries(server)
    return (entries.find(({ id }) => id === wanted)?.id ?? 'overview') as Tab
  }

  #entries(server: ServerRecord) {
    // The sums of the status are not the reader's if each caller has lists of its own.
    const counts = server.mine ? undefined : server.status.counts
    const all = [
      { id: 'overview', label: t('Overview') },
      { id: 'tools', label: t('Tools'), n: counts?.tools },
      { id: 'prompts', label: t('Prompts'), n: counts?.prompts },
      { id: 'resources', label: t('Resources'), n: counts?.resources },
      { id: 'logs', label: t('Logs') },
      { id: 'metrics', label: t('Metrics') },
      { id: 'settings', label: t('Settings') },
      ...(piecesOf('server-rules').length > 0 ? [{ id: 'rules', label: t('Rules') }] : []),
      { id: 'access', label: t('Access') },
    ]
    return all.filter(({ id }) => hasRole(server, TAB_ROLES[id] ?? 'use'))
  }

  #tabs(server: ServerRecord, tab: Tab): unknown {
    const entries = this.#entries(server)
    const label = t('Parts of {name}', { name: server.name })
    const address = (id: string): string =>
      href(this.#path(), { tab: id === 'overview' ? undefined : id, scope: this.view('scope') })
    return html`<div class="wide">${tabs(label, entries, tab, address)}</div>
      <label class="phone tabmenu"><span class="vh">${label}</span><select class="in" @change=${(event: Event) =>
        this.#open((event.target as HTMLSelectElement).value as Tab)}>${entries.map(
        ({ id, label: word, n }) =>
          html`<option value=${id} ?selected=${id === tab}>${word}${n === undefined ? '' : ` · ${n}`}</option>`,
      )}</select></label>`
  }

  /** Notes on every tab: the owner, the origin, and a pending review. */
  #notes(server: ServerRecord): unknown {
    const review = server.review as { readonly required?: boolean; readonly hash: string } | undefined
    return html`${sharedNote(thingOf(server), server.role, server.visibility)}${signInNote(server, server.owner === session.user?.name)}${
      server.origin === 'file'
        ? html`<div class="callout">${icon('file-text')}<p>${t('This server is in the settings file. Change it there: the hub applies edits of the file by itself.')}</p></div>`
        : nothing
    }${review && isEditable(server) ? this.#review(server, review) : nothing}`
  }

  #review(
    server: ServerRecord,
    { required = false, hash }: { readonly required?: boolean; readonly hash: string },
  ): unknown {
    const save = async (): Promise<void> => {
      try {
        this.#server.set(
          await api.patch<ServerRecord>(serverPath(refOf(server)), {
            body: { reviewed: hash },
            revision: server.revision,
          }),
        )
        toast(t('Reviewed. {name} may be started now.', { name: server.name }))
      } catch (error) {
        toast(errorText(asApiError(error)))
        await this.#server.reload()
      }
    }
    const text = required
      ? t(
          'This server was configured by somebody with fewer rights than you have. It stays off until you have read its configuration.',
        )
      : t('This server was configured by somebody with fewer rights than you have, and runs with theirs.')
    return html`<div class="callout warn">${icon('triangle-alert')}<div class="grow"><p>${text}</p><p class="row wrap"><a href=${href(this.#path(), { tab: 'settings' })}>${t('Read its configuration')}</a>
      <button type="button" class="btn sm push" ?disabled=${!live.reachable} @click=${save}>${t('I have read it: give it my rights')}</button></p></div></div>`
  }

  #part(server: ServerRecord, tab: Tab): unknown {
    const groups = this.#groups.data ?? []
    const changed = ({ detail }: CustomEvent<ServerRecord>): void => this.#server.set(detail)
    const reload = (): void => void this.#server.reload()
    if (tab === 'tools')
      return html`<pb-server-tools .server=${server} .groups=${this.#groups.data} .query=${this.query} @pb-server=${reload}></pb-server-tools>`
    if (tab === 'prompts' || tab === 'resources')
      return html`<pb-server-parts .server=${server} .groups=${this.#groups.data} .kind=${tab}></pb-server-parts>`
    if (tab === 'logs') return html`<pb-server-logs .server=${server}></pb-server-logs>`
    if (tab === 'metrics') return html`<pb-server-metrics .server=${server}></pb-server-metrics>`
    if (tab === 'settings')
      return html`<pb-server-settings .server=${server} .groups=${groups} @pb-server=${changed} @pb-delete=${() => void this.#remove(server)}></pb-server-settings>`
    if (tab === 'rules')
      return piecesOf('server-rules').map(
        piece =>
          html`<pb-piece .piece=${piece} .subject=${{ kind: 'server', ref: refOf(server), name: server.name }}></pb-piece>`,
      )
    if (tab === 'access')
      return html`<pb-server-access .server=${server} .groups=${groups} @pb-server=${changed}></pb-server-access>`
    return html`<pb-server-overview .server=${server} .groups=${groups} .now=${this.now}></pb-server-overview>`
  }

  #path(): string {
    return `/servers/${encodeURIComponent(this.params.ref ?? '')}`
  }

  #open(tab: Tab): void {
    void router.go(`${this.#path()}${tab === 'overview' ? '' : `?tab=${tab}`}`)
  }

  async #control(server: ServerRecord, verb: ServerVerb): Promise<void> {
    this.busy = verb
    try {
      const after = await controlServer(refOf(server), verb)
      this.#server.set(after)
      if (verb === 'stop') toast(t('{name} stopped', { name: server.name }), () => void this.#control(after, 'start'))
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
    this.busy = undefined
  }

  async #remove(server: ServerRecord): Promise<void> {
    if (await deleteServers([server], this.#groups.data ?? [])) await router.go('/servers', { replace: true })
  }
}
customElements.define('pb-page-server', PbPageServer)

/** The server as its shares have it. */
function thingOf(server: ServerRecord): Shared {
  return { kind: 'server', ref: refOf(server), name: server.name, owner: server.owner }
}

/** Entries of the menu for its owner and administrators. */
function ownerItems(server: ServerRecord, share: () => void, isOff: boolean, remove: () => void): readonly MenuItem[] {
  if (!hasRole(server, 'owner')) return []
  return [
    { label: t('Share'), icon: 'users-round', action: share },
    ...ruleItems(server),
    ...deleteItem(server, isOff, remove),
  ]
}

/** The way to a rule about the content of its calls; nothing while the plugin for them is off. */
function ruleItems(server: ServerRecord) {
  if (!pluginPages.has('guards')) return []
  const action = () => void router.go(`/guards?drawer=new&of=server:${encodeURIComponent(refOf(server))}`)
  return [{ label: t('New content rule'), icon: 'shield', action }]
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-page-server': PbPageServer
  }
}
