import { html, nothing } from 'lit'
import {
  type ApiError,
  asApiError,
  type Column,
  type Crumb,
  confirmed,
  emptyState,
  errorState,
  errorText,
  icon,
  live,
  PbPage,
  Resource,
  show,
  t,
  toast,
} from 'patchbay/console'
import { type Invitation, invitationsApi } from './api.ts'
import { roleText, thingPage, thingText } from './words.ts'

const DAY_MS = 86_400_000
const ROLES = ['use', 'see', 'change'] as const
const DAYS = [1, 7, 30, 90]
const MANY = 20

/** The user's invitations; `?thing=server:ada~notes` in the address makes one. */
export class PbPageInvitations extends PbPage {
  static override properties = {
    ...PbPage.properties,
    url: { state: true },
    error: { state: true },
    busy: { state: true },
  }
  /** The link of a new invitation, which is shown once. */
  declare url: string | undefined
  declare error: ApiError | undefined
  declare busy: boolean
  readonly #list = new Resource(this, {
    read: async signal => (await invitationsApi.list(signal)).items,
    topics: ['shares'],
  })

  override crumbs(): readonly Crumb[] {
    const thing = this.#thing()
    if (!thing) return [{ label: t('Servers'), path: '/servers' }, { label: t('Invitations') }]
    const path = `/${thing.kind}s/${encodeURIComponent(thing.ref)}`
    const list =
      thing.kind === 'group' ? { label: t('Groups'), path: '/groups' } : { label: t('Servers'), path: '/servers' }
    return [list, { label: thing.name, path }, { label: t('Invitations') }]
  }

  override content(): unknown {
    return html`${this.#form()}${show(this.#list, items => this.#table(items))}`
  }

  #thing(): { readonly kind: 'server' | 'group'; readonly ref: string; readonly name: string } | undefined {
    const [, kind, ref] = /^(server|group):(.+)$/s.exec(this.view('thing') ?? '') ?? []
    if (kind === undefined || ref === undefined) return undefined
    return { kind: kind as 'server' | 'group', ref, name: ref.split('~').at(-1) ?? ref }
  }

  #form(): unknown {
    const thing = this.#thing()
    if (this.url) {
      return html`<section class="card keynew"><div class="cb stack padt"><p class="s">${t('Send this link. It is shown this once.')}</p><div class="keyline"><code class="keytext">${this.url}</code><pb-copy .text=${this.url} .caption=${t('Copy')}></pb-copy></div>
        <div class="row end"><button type="button" class="btn" @click=${() => {
          this.url = undefined
        }}>${t('I have sent it')}</button></div></div></section>`
    }
    if (!thing) return nothing
    return html`<section class="card"><div class="ch"><h2>${t('Invite to {thing}', { thing: thingText(thing) })}</h2></div><form class="cb stack" @submit=${(event: SubmitEvent) => void this.#create(event)}>${this.error ? errorState(this.error) : nothing}
      <div class="shareform"><div class="field"><label for="inv-uses">${t('Number of people')}</label><select id="inv-uses" name="uses" class="in"><option value="1">${t('one person')}</option><option value=${MANY}>${t('up to {n} people', { n: MANY })}</option></select></div>
      <div class="field"><label for="inv-role">${t('They may')}</label><select id="inv-role" name="role" class="in">${ROLES.map(role => html`<option value=${role}>${roleText(role)}</option>`)}</select></div>
      <div class="field"><label for="inv-days">${t('Ends after')}</label><select id="inv-days" name="days" class="in">${DAYS.map(days => html`<option value=${days} ?selected=${days === 7}>${t('days: {n}', { n: days })}</option>`)}</select></div>
      <button class="btn pri" ?disabled=${this.busy || !live.reachable}>${icon('link')}${t('Make link')}</button></div>
      <p class="hint">${t('Everybody who has the link and an account on this hub can accept it, until as many people have.')}</p></form></section>`
  }

  #table(items: readonly Invitation[]): unknown {
    if (items.length === 0)
      return emptyState({
        icon: 'link',
        title: t('No invitations'),
        text: t('Make one from the sharing of a server or group of yours.'),
      })
    return html`<pb-table .label=${t('Invitations')} .rows=${items} .columns=${this.#columns()} .keyOf=${({ id }: Invitation) => id}></pb-table>`
  }

  #columns(): readonly Column<Invitation>[] {
    return [
      {
        id: 'things',
        head: t('Gives'),
        cell: ({ things }) =>
          things.length === 0
            ? html`<span class="q">${t('nothing any more')}</span>`
            : things.map((thing, at) => html`${at > 0 ? ', ' : ''}<a href=${thingPage(thing)}>${thingText(thing)}</a>`),
      },
      { id: 'role', head: t('They may'), class: 'x q', cell: ({ role }) => roleText(role) },
      {
        id: 'used',
        head: t('Accepted'),
        cell: ({ used, uses, acceptedBy }) =>
          `${used} / ${uses}${acceptedBy.length > 0 ? ` · ${acceptedBy.join(', ')}` : ''}`,
      },
      { id: 'ends', head: t('Ends'), cell: ({ expiresAt }) => html`<pb-time .at=${expiresAt}></pb-time>` },
      {
        id: 'acts',
        head: t('Actions'),
        quiet: true,
        class: 'end',
        cell: one =>
          html`<button type="button" class="btn sm" ?disabled=${!live.reachable} @click=${() => void this.#end(one)}>${t('End invitation')}</button>`,
      },
    ]
  }

  async #create(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const thing = this.#thing()
    if (!thing) return
    const form = new FormData(event.target as HTMLFormElement)
    this.busy = true
    this.error = undefined
    try {
      const { url } = await invitationsApi.create({
        things: [{ kind: thing.kind, ref: thing.ref }],
        role: String(form.get('role')),
        uses: Number(form.get('uses')),
        // A minute less, since the hub's clock may be behind this one.
        expires: new Date(Date.now() + Number(form.get('days')) * DAY_MS - 60_000).toISOString(),
      })
      this.url = url
      await this.#list.reload()
    } catch (error) {
      this.error = asApiError(error)
    }
    this.busy = false
  }

  async #end({ id }: Invitation): Promise<void> {
    const yes = await confirmed({
      title: t('End the invitation?'),
      text: t('Its link opens nothing any more. What was accepted stays shared.'),
      action: t('End invitation'),
    })
    if (!yes) return
    try {
      await invitationsApi.remove(id)
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
    await this.#list.reload()
  }
}
customElements.define('pb-page-invitations', PbPageInvitations)

declare global {
  interface HTMLElementTagNameMap {
    'pb-page-invitations': PbPageInvitations
  }
}
