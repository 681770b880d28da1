import { html, nothing } from 'lit'
import {
  type ApiError,
  asApiError,
  type Column,
  confirmed,
  connectPath,
  emptyState,
  errorState,
  errorText,
  href,
  icon,
  live,
  PbPage,
  Resource,
  show,
  t,
  toast,
} from 'patchbay/console'
import { type Connection, connectionsApi, type WantingServer } from './api.ts'

interface Listed {
  readonly items: readonly Connection[]
  readonly wanting: readonly WantingServer[]
}

/** The servers at which the user is signed in, and those that wait for it. */
class PbPageConnections extends PbPage {
  static override properties = { ...PbPage.properties, error: { state: true }, busy: { state: true } }
  declare error: ApiError | undefined
  declare busy: boolean
  readonly #list = new Resource<Listed>(this, {
    read: signal => connectionsApi.list(signal),
    topics: ['servers'],
    apply: () => 'stale',
    everyMs: 30_000,
  })

  override crumbs() {
    return [{ label: t('Servers'), path: '/servers' }, { label: t('Sign-ins at servers') }]
  }

  override content() {
    return html`<p class="lede">${t('Servers that want to know who calls. Each sign-in is yours alone, and the hub renews it by itself.')}</p>${show(
      this.#list,
      ({ items, wanting }) =>
        html`${wanting.map(wantingLine)}${items.length === 0 ? (wanting.length === 0 ? none() : nothing) : this.#table(items)}${this.#pasted()}`,
    )}`
  }

  #table(items: readonly Connection[]) {
    return html`<pb-table .rows=${items} .columns=${this.#columns()} .keyOf=${(one: Connection) => one.id} .label=${t('Sign-ins at servers')}></pb-table>`
  }

  #columns(): readonly Column<Connection>[] {
    return [
      {
        id: 'server',
        head: t('Server'),
        cell: ({ server, for: who }) =>
          html`${server === '' ? shownName(server) : html`<a class="nm" href=${href(`/servers/${encodeURIComponent(server)}`)}>${server.replace('~', ' / ')}</a>`}${
            who === 'all' ? html` <span class="tag line">${t('for everybody')}</span>` : nothing
          }`,
      },
      { ...{ id: 'state', head: t('State'), label: t('State') }, cell: connection => stateWord(connection) },
      {
        ...{ id: 'issuer', head: t('Signed in at'), label: t('Signed in at') },
        cell: ({ issuer }) =>
          issuer === '' ? t('your own values') : html`<span class="mono s">${URL.parse(issuer)?.host ?? issuer}</span>`,
      },
      {
        ...{ id: 'scopes', head: t('Permissions'), label: t('Permissions') },
        cell: ({ scopes }) => html`<span class="mono s">${scopes.join(' ')}</span>`,
      },
      {
        ...{ id: 'used', head: t('Last used'), label: t('Last used') },
        cell: ({ lastUsedAt, createdAt }) => html`<pb-time .at=${lastUsedAt ?? createdAt}></pb-time>`,
      },
      {
        ...{ id: 'acts', head: t('Actions'), quiet: true, class: 'full' },
        cell: connection =>
          html`<span class="row end">${
            connection.server === ''
              ? nothing
              : html`<a class="btn sm" href=${href(connectPath(connection.serverId))} aria-label=${t('Sign in again at {name}', { name: shownName(connection.server) })}>${t('Sign in again')}</a>`
          }<button type="button" class="btn bad sm" ?disabled=${!live.reachable} aria-label=${wordsOf(connection).label} @click=${() => void this.#end(connection)}>${icon('unplug')}${wordsOf(connection).action}</button></span>`,
      },
    ]
  }

  /** For a browser that could not come back to the hub, such as one on another machine. */
  #pasted() {
    return html`<details class="card pad"><summary>${t('The browser did not come back here')}</summary>
      <form class="stack l" @submit=${(event: SubmitEvent) => this.#finish(event)}>
        <div class="field"><label class="lbl" for="address">${t('Address at which the browser ended')}</label><input id="address" name="address" class="in mono" type="url" required autocomplete="off" aria-describedby="address-hint"><p class="hint" id="address-hint">${t('Copy the whole address of the page that could not be opened.')}</p></div>
        ${this.error ? errorState(this.error) : nothing}
        <div class="row end"><button type="submit" class="btn pri" ?disabled=${this.busy}>${t('Finish the sign-in')}</button></div></form></details>`
  }

  async #finish(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    this.busy = true
    this.error = undefined
    try {
      const { server } = await connectionsApi.finish(String(new FormData(form).get('address')).trim())
      form.reset()
      toast(t('You are signed in at {name}', { name: server }))
      await this.#list.reload()
    } catch (error) {
      this.error = asApiError(error)
    }
    this.busy = false
  }

  async #end(connection: Connection): Promise<void> {
    const { title, action, text, done } = wordsOf(connection)
    if (!(await confirmed({ title, action, text }))) return
    try {
      await connectionsApi.end(connection.id)
      toast(done)
      await this.#list.reload()
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
  }
}
customElements.define('pb-page-connections', PbPageConnections)

/** The words of the button that ends a connection: a sign-in, or values that the user has entered. */
function wordsOf({
  server,
  issuer,
}: Connection): Readonly<Record<'label' | 'action' | 'title' | 'text' | 'done', string>> {
  const name = shownName(server)
  if (issuer === '')
    return {
      label: t('Remove your values for {name}', { name }),
      action: t('Remove the values'),
      title: t('Remove your values for {name}?', { name }),
      text: t('The hub forgets them. Calls of this server are refused until you enter values again.'),
      done: t('Your values for {name} are removed', { name }),
    }
  return {
    label: t('Sign out at {name}', { name }),
    action: t('Sign out'),
    title: t('Sign out at {name}?', { name }),
    text: t('Your calls of this server are refused until you sign in again. The issuer is told, if it takes that.'),
    done: t('You are signed out at {name}', { name }),
  }
}

function shownName(server: string): string {
  return server === '' ? t('a server that is not shared with you any more') : server
}

function stateWord({ state }: Connection): unknown {
  if (state === 'active') return html`<span class="row">${icon('circle-check')}${t('signed in')}</span>`
  return html`<span class="row bad">${icon('circle-x')}${state === 'refused' ? t('the hub is refused as a client') : t('has ended')}</span>`
}

function wantingLine({ server, serverId }: WantingServer) {
  return html`<div class="callout warn">${icon('triangle-alert')}<p class="grow">${t('“{name}” wants you to sign in.', { name: server.replace('~', ' / ') })}</p><a class="btn sm pri" href=${href(connectPath(serverId))}>${t('Sign in')}</a></div>`
}

function none() {
  return html`<section class="card">${emptyState({
    icon: 'key',
    title: t('No sign-ins'),
    text: t('A server that wants OAuth shows “Sign in” on its page. Your sign-ins are listed here.'),
  })}</section>`
}
