import { html, nothing } from 'lit'
import { api, type Page, segment } from '../../api/client.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { piecesOf } from '../../app/parts.ts'
import { pluginPages } from '../../app/plugin-pages.ts'
import { Resource } from '../../app/resource.ts'
import type { ShownRules } from '../../app/rules.ts'
import type { SessionUser } from '../../app/session.ts'
import { session } from '../../app/session.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { drawer, hide } from '../../components/layers/layer.ts'
import { menu } from '../../components/layers/menu.ts'
import { toast } from '../../components/layers/toast.ts'
import type { Column } from '../../components/lists/table.ts'
import { type Crumb, PbPage } from '../../components/page.ts'
import { mark } from '../../components/servers/status.ts'
import { errorState, errorText, show } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { fieldText } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'
import '../../components/copy.ts'
import '../../components/lists/table.ts'
import '../../components/time.ts'
import '../../app/rules.ts'
import './remove.ts'

/** A user as administrators see it. */
export interface UserRecord extends SessionUser {
  readonly disabled: boolean
  readonly mustChangePassword: boolean
  readonly grants: { readonly network: 'none' | 'proxy' }
  readonly origin: 'file' | 'store'
  readonly revision: number
  readonly createdAt: string
  readonly has: { readonly servers: number; readonly groups: number; readonly keys: number; readonly signIns: number }
  readonly lastSeenAt: string | null
  readonly [field: string]: unknown
}

type Filter = 'all' | 'admin' | 'disabled'

/** The accounts of the hub: making, changing, shutting and deleting them. */
export class PbPageUsers extends PbPage {
  static override properties = {
    ...PbPage.properties,
    error: { state: true },
    busy: { state: true },
    secret: { state: true },
    removing: { state: true },
    rules: { state: true },
  }
  declare error: ApiError | undefined
  declare busy: boolean
  /** A first password or a reset link: shown once. */
  declare secret: { readonly title: string; readonly text: string } | undefined
  declare removing: UserRecord | undefined
  declare rules: ShownRules | undefined
  readonly #users = new Resource<Page<UserRecord>>(this, {
    read: signal => api.get('/api/admin/users', { query: { limit: 1000 }, signal }),
  })

  override crumbs(): readonly Crumb[] {
    return [{ label: t('Users') }]
  }

  override actions(): unknown {
    return html`<button type="button" class="btn pri" @click=${() => this.setView({ drawer: 'new' }, { push: true })}>${icon('plus')}${t('New user')}</button>`
  }

  override content(): unknown {
    return html`${this.#secretNote()}${this.error && this.view('drawer') === undefined ? errorState(this.error) : nothing}${show(this.#users, page => this.#list(page.items))}${this.#newUser()}
      <pb-remove-user .user=${this.removing} .others=${this.#users.data?.items.filter(({ id }) => id !== this.removing?.id) ?? []} @pb-closed=${() => {
        this.removing = undefined
      }} @pb-removed=${() => void this.#users.reload()}></pb-remove-user><pb-rule-drawer .shown=${this.rules} @pb-closed=${() => {
        this.rules = undefined
      }}></pb-rule-drawer>`
  }

  #secretNote(): unknown {
    if (!this.secret) return nothing
    const { title, text } = this.secret
    return html`<section class="card keynew"><div class="cb stack padt"><p class="s">${title}</p><div class="keyline"><code class="keytext">${text}</code><pb-copy .text=${text} .caption=${t('Copy')}></pb-copy></div>
      <div class="row end"><button type="button" class="btn" @click=${() => {
        this.secret = undefined
      }}>${t('I have stored it')}</button></div></div></section>`
  }

  #list(users: readonly UserRecord[]): unknown {
    const filter = (this.view('filter') ?? 'all') as Filter
    const q = (this.view('q') ?? '').toLowerCase()
    const matches: Readonly<Record<Filter, (user: UserRecord) => boolean>> = {
      all: () => true,
      admin: ({ role }) => role === 'admin',
      disabled: ({ disabled }) => disabled,
    }
    const chips: readonly (readonly [Filter, string])[] = [
      ['all', t('All')],
      ['admin', t('Administrators')],
      ['disabled', t('Disabled')],
    ]
    const shown = users.filter(matches[filter]).filter(({ name }) => name.toLowerCase().includes(q))
    return html`<div class="filters"><div class="wrapin">${icon('search')}<input class="in" type="search" data-search placeholder=${t('Name')} aria-label=${t('Name')} .value=${this.view('q') ?? ''} @input=${(event: InputEvent) => this.setView({ q: (event.target as HTMLInputElement).value })}></div>
      ${chips.map(([id, label]) => html`<button type="button" class="chip ${filter === id ? 'on' : ''}" aria-pressed=${filter === id ? 'true' : 'false'} @click=${() => this.setView({ filter: id === 'all' ? undefined : id })}>${label} <b>${users.filter(matches[id]).length}</b></button>`)}</div>
      <pb-table .label=${t('Users')} .rows=${shown} .columns=${this.#columns(users)} .keyOf=${(user: UserRecord) => user.id}></pb-table>`
  }

  #columns(users: readonly UserRecord[]): readonly Column<UserRecord>[] {
    const onlyAdmin = (user: UserRecord): boolean =>
      user.role === 'admin' && users.filter(({ role, disabled }) => role === 'admin' && !disabled).length === 1
    return [
      {
        id: 'name',
        head: t('User'),
        cell: user =>
          html`<span class="row"><span class="nm">${user.name}</span>${user.id === session.user?.id ? html`<span class="tag">${t('you')}</span>` : nothing}</span>`,
      },
      {
        id: 'role',
        head: t('Role'),
        class: 'q',
        cell: user => (user.role === 'admin' ? t('Administrator') : t('User')),
      },
      {
        id: 'network',
        head: t('Network of programs'),
        class: 'x',
        cell: user =>
          user.role === 'admin' ? t('as the hub') : user.grants.network === 'proxy' ? t('granted') : t('none'),
      },
      {
        id: 'seen',
        head: t('Last seen'),
        class: 'x',
        cell: user =>
          user.lastSeenAt
            ? html`<pb-time .at=${user.lastSeenAt}></pb-time>`
            : html`<span class="q">${t('never')}</span>`,
      },
      { id: 'has', head: t('Has'), class: 'x', cell: user => possessionsOf(user) },
      { id: 'created', head: t('Made'), class: 'x', cell: user => html`<pb-time .at=${user.createdAt}></pb-time>` },
      { id: 'state', head: t('State'), cell: user => stateOf(user, onlyAdmin(user)) },
      {
        id: 'acts',
        head: t('Actions'),
        quiet: true,
        class: 'end',
        cell: user => menu(t('Actions for {name}', { name: user.name }), this.#deeds(user, onlyAdmin(user))),
      },
    ]
  }

  #deeds(user: UserRecord, onlyAdmin: boolean) {
    const change = (body: object, said: string) => () => void this.#change(user, body, said)
    return [
      user.role === 'admin'
        ? {
            label: t('Make an ordinary user'),
            icon: 'user',
            disabled: onlyAdmin,
            action: change({ role: 'user' }, t('{name} is an ordinary user now', { name: user.name })),
          }
        : {
            label: t('Make an administrator'),
            icon: 'shield',
            action: change({ role: 'admin' }, t('{name} is an administrator now', { name: user.name })),
          },
      user.grants.network === 'proxy'
        ? {
            label: t('Take the network from programs'),
            icon: 'globe-lock',
            disabled: user.role === 'admin',
            action: change(
              { grants: { network: 'none' } },
              t('Programs of {name} have no network now', { name: user.name }),
            ),
          }
        : {
            label: t('Let programs reach the network'),
            icon: 'globe',
            disabled: user.role === 'admin',
            action: change(
              { grants: { network: 'proxy' } },
              t('Programs of {name} may reach the network now', { name: user.name }),
            ),
          },
      { label: t('Make a reset link'), icon: 'link', disabled: user.disabled, action: () => void this.#link(user) },
      ...(pluginPages.has('factors')
        ? [{ label: t('Take away second factors'), icon: 'shield-off', action: () => void this.#takeFactors(user) }]
        : []),
      ...piecesOf('user-rules').map(piece => ({
        ...{ label: piece.title(), icon: 'gauge' },
        action: () => {
          this.rules = { piece, subject: { kind: 'user', ref: user.name, name: user.name } }
        },
      })),
      { label: t('Set a new password'), icon: 'key', action: () => void this.#reset(user) },
      user.disabled
        ? {
            label: t('Open the account'),
            icon: 'circle-check',
            action: change({ disabled: false }, t('{name} may sign in again', { name: user.name })),
          }
        : {
            label: t('Shut the account'),
            icon: 'circle-minus',
            disabled: onlyAdmin,
            action: change(
              { disabled: true },
              t('{name} is signed out, and the servers of {name} are stopped', { name: user.name }),
            ),
          },
      {
        label: t('Delete'),
        icon: 'trash-2',
        danger: true,
        disabled: onlyAdmin,
        action: () => {
          this.removing = user
        },
      },
    ]
  }

  #newUser(): unknown {
    const field = (pointer: string): string | undefined => {
      const mistake = this.error?.field(`#${pointer}`)
      return mistake && fieldText(mistake)
    }
    const mistake = field('/username') ?? field('/name')
    return drawer({
      open: this.view('drawer') === 'new',
      title: t('New user'),
      onClose: () => {
        this.error = undefined
        this.setView({ drawer: undefined })
      },
      body: html`<form id="new-user" class="stack l" @submit=${this.#create}>${this.error ? errorState(this.error) : nothing}
        <div class="field"><label class="lbl" for="new-name">${t('Name')}</label><input id="new-name" name="username" class="in ${mistake ? 'err' : ''}" autocomplete="off" spellcheck="false" required autofocus aria-describedby="new-name-hint"><p class="hint ${mistake ? 'bad' : ''}" id="new-name-hint">${mistake ?? t('Letters, digits, dash, underscore and dot.')}</p></div>
        <div class="field"><label class="lbl" for="new-role">${t('Role')}</label><select id="new-role" name="role" class="in"><option value="user">${t('User')}</option><option value="admin">${t('Administrator')}</option></select></div>
        <p class="hint">${t('A first password is made, which is shown once.')}</p></form>`,
      foot: html`<button type="button" class="btn push" @click=${hide}>${t('Cancel')}</button><button class="btn pri" form="new-user" ?disabled=${this.busy}>${this.busy ? t('Saving') : t('Make user')}</button>`,
    })
  }

  readonly #create = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = new FormData(event.target as HTMLFormElement)
    const name = String(form.get('username')).trim()
    const password = generated()
    this.busy = true
    try {
      await api.post('/api/admin/users', { body: { username: name, password, role: String(form.get('role')) } })
      this.secret = { title: t('The password of {name}, shown this once.', { name }), text: password }
      this.error = undefined
      this.setView({ drawer: undefined })
      await this.#users.reload()
    } catch (error) {
      this.error = asApiError(error)
    }
    this.busy = false
  }

  async #takeFactors({ name }: UserRecord): Promise<void> {
    const text = t('The password of {name} is enough afterwards, and all sign-ins of {name} end.', { name })
    if (!(await confirmed({ title: t('Take away second factors?'), action: t('Take away'), text }))) return
    this.error = undefined
    try {
      await api.delete(`/api/admin/users/${segment(name)}/factors`)
      toast(t('{name} has no second factor now', { name }))
    } catch (error) {
      this.error = asApiError(error)
    }
  }

  async #link(user: UserRecord): Promise<void> {
    const { name } = user
    try {
      const { url } = await api.post<{ readonly url: string }>(`/api/admin/users/${segment(name)}/reset-link`)
      this.error = undefined
      this.secret = {
        title: t('With this link {name} sets a new password, once, within 24 hours. It is shown this once.', { name }),
        text: url,
      }
    } catch (error) {
      this.error = asApiError(error)
    }
  }

  async #reset(user: UserRecord): Promise<void> {
    const password = generated()
    if (
      await this.#change(
        user,
        { password },
        t('The old password and all sign-ins of {name} have ended', { name: user.name }),
      )
    )
      this.secret = { title: t('The password of {name}, shown this once.', { name: user.name }), text: password }
  }

  async #change(user: UserRecord, body: object, said: string): Promise<boolean> {
    try {
      await api.patch(`/api/admin/users/${segment(user.name)}`, { body, revision: user.revision })
      this.error = undefined
      toast(said)
    } catch (error) {
      this.error = asApiError(error)
      toast(errorText(this.error))
    }
    await this.#users.reload()
    return this.error === undefined
  }
}
customElements.define('pb-page-users', PbPageUsers)

/** Records that would be transferred or deleted with the user. */
function possessionsOf({ has }: UserRecord): unknown {
  const parts = [
    ...(has.servers > 0 ? [plural(has.servers, '{n} server', '{n} servers')] : []),
    ...(has.groups > 0 ? [plural(has.groups, '{n} group', '{n} groups')] : []),
    ...(has.keys > 0 ? [plural(has.keys, '{n} key', '{n} keys')] : []),
  ]
  return parts.length > 0 ? parts.join(', ') : html`<span class="q">${t('nothing')}</span>`
}

function stateOf(user: UserRecord, onlyAdmin: boolean): unknown {
  if (user.disabled) return mark('rest', 'circle-minus', t('Disabled'))
  if (onlyAdmin) return html`<span class="tag line">${t('the only administrator')}</span>`
  if (user.mustChangePassword) return mark('warn', 'clock', t('Has a first password'))
  return html`${mark('ok', 'circle-check', t('Active'))}${user.origin === 'file' ? html` <span class="tag line">${t('from the settings file')}</span>` : nothing}`
}

const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'

/** A first password: five groups of four, without letters that are taken for others; about 99 bits. */
function generated(): string {
  const random = crypto.getRandomValues(new Uint32Array(20))
  const text = [...random].map(number => LETTERS[number % LETTERS.length]).join('')
  return text.match(/.{4}/g)?.join('-') ?? text
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-page-users': PbPageUsers
  }
}
