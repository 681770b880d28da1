import { html, nothing } from 'lit'
import { api, type Page } from '../../api/client.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { SHARE_ROLES, type Share, type Shared, sharing, type Team } from '../../api/sharing.ts'
import type { ShareRole } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { pluginPages } from '../../app/plugin-pages.ts'
import { Resource } from '../../app/resource.ts'
import { href } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import { PbElement } from '../element.ts'
import { confirmed } from '../layers/confirm.ts'
import { toast } from '../layers/toast.ts'
import { errorState, errorText, show } from '../states.ts'
import { roleText, roleWord } from './roles.ts'
import '../time.ts'

/**
 * Lists and edits the shares of a server or group, for its owner and administrators. For a group it emits `pb-view-as` with the name
 * of the user for whom the group is to be previewed.
 */
export class PbSharing extends PbElement {
  static override properties = {
    thing: { attribute: false },
    by: { state: true },
    addRole: { state: true },
    error: { state: true },
    busy: { state: true },
  }
  declare thing: Shared
  /** The kind of subject that is added. */
  declare by: 'user' | 'team'
  declare addRole: ShareRole
  declare error: ApiError | undefined
  declare busy: boolean
  readonly #shares = new Resource<readonly Share[]>(this, {
    key: () => [this.thing.kind, this.thing.ref],
    read: signal => sharing.list(this.thing, signal),
    topics: ['shares'],
    apply: ({ event, data }) =>
      event === 'share.changed' && data.kind === this.thing.kind && data.ref === this.thing.ref ? 'stale' : 'same',
    pauseMs: 300,
  })
  readonly #teams = new Resource<readonly Team[]>(this, { read: signal => sharing.teams(signal) })
  /** Names for completion; only administrators get the list of users. */
  readonly #users = new Resource<Page<{ readonly name: string }>>(this, {
    key: () => (session.isAdmin ? 'admin' : undefined),
    read: signal => api.get('/api/admin/users', { query: { limit: 1000 }, signal }),
  })

  constructor() {
    super()
    this.by = 'user'
    this.addRole = 'use'
    this.busy = false
  }

  override render(): unknown {
    return html`<section class="card sharing" aria-labelledby="sharing-h"><div class="ch"><h2 id="sharing-h">${t('Sharing')}</h2>${this.#inviting()}</div>
      ${show(this.#shares, shares => this.#list(shares))}<div class="cb stack padt">${this.error ? errorState(this.error) : nothing}${this.#form()}</div></section>`
  }

  /** The way to an invitation, which its owner alone can make, while the plugin for them runs. */
  #inviting(): unknown {
    const { kind, ref, owner } = this.thing
    if (owner !== session.user?.name || !pluginPages.has('invitations')) return nothing
    return html`<div class="r"><a class="btn sm" href=${href('/invitations', { thing: `${kind}:${ref}` })}>${icon('link')}${t('Invite by link')}</a></div>`
  }

  #list(shares: readonly Share[]): unknown {
    if (shares.length === 0) return html`<p class="cb s q">${t('It is shared with nobody yet.')}</p>`
    return html`<ul class="list">${shares.map(share => this.#row(share))}</ul>`
  }

  #row(share: Share): unknown {
    const { subject, role, origin, grantedBy, createdAt } = share
    const { isTeam, name } = named(subject)
    const isFixed = origin === 'file'
    const off = isFixed || this.busy || !live.reachable
    const size = this.#teams.data?.find(team => team.name === name)?.size
    const note = isFixed
      ? t('stated in the settings file')
      : html`${grantedBy === undefined ? nothing : html`${t('by {name}', { name: grantedBy })} · `}<pb-time .at=${createdAt}></pb-time>`
    return html`<li>${icon(isTeam ? 'users-round' : 'user')}<span class="tx"><span class="t1"><span class="cut" title=${name}>${name}</span>${
      isTeam && size !== undefined
        ? html`<span class="tag">${plural(size, '{n} member', '{n} members')}</span>`
        : nothing
    }</span><span class="t2">${note}</span></span>
      ${this.thing.kind === 'group' && !isTeam ? this.#viewAs(name) : nothing}
      <select class="in roleof" aria-label=${t('Role of {name}', { name })} title=${roleText(role)} ?disabled=${off} @change=${(event: Event) => void this.#set(share, event.target as HTMLSelectElement)}>${SHARE_ROLES.map(
        one => html`<option value=${one} ?selected=${one === role} title=${roleText(one)}>${roleWord(one)}</option>`,
      )}</select>
      <button type="button" class="btn ghost ico" aria-label=${t('End sharing with {name}', { name })} title=${t('End sharing with {name}', { name })} ?disabled=${off} @click=${() => void this.#end(share)}>${icon('x')}</button></li>`
  }

  #viewAs(name: string): unknown {
    const label = t('Preview as {name}', { name })
    const act = (): boolean => this.dispatchEvent(new CustomEvent('pb-view-as', { detail: name }))
    return html`<button type="button" class="btn ghost ico" aria-label=${label} title=${label} @click=${act}>${icon('eye')}</button>`
  }

  #form(): unknown {
    const teams = this.#teams.data ?? []
    const isTeam = this.by === 'team'
    const users = (this.#users.data?.items ?? []).filter(({ name }) => name !== this.thing.owner)
    return html`<form class="stack" @submit=${this.#add}><div class="shareform">
      <div class="field"><label for="share-kind">${t('Share with')}</label><select id="share-kind" class="in" @change=${(
        event: Event,
      ) => {
        this.by = (event.target as HTMLSelectElement).value as 'user' | 'team'
      }}><option value="user" ?selected=${!isTeam}>${t('a person')}</option><option value="team" ?selected=${isTeam} ?disabled=${teams.length === 0}>${t('a team')}</option></select></div>
      <div class="field"><label for="share-name">${t('Name')}</label>${
        isTeam
          ? html`<select id="share-name" name="name" class="in">${teams.map(({ name }) => html`<option value=${name}>${name}</option>`)}</select>`
          : html`<input id="share-name" name="name" class="in" required maxlength="256" autocomplete="off" spellcheck="false" list=${users.length > 0 ? 'share-users' : nothing}>${
              users.length > 0
                ? html`<datalist id="share-users">${users.map(({ name }) => html`<option value=${name}></option>`)}</datalist>`
                : nothing
            }`
      }</div>
      <div class="field"><label for="share-role">${t('Role')}</label><select id="share-role" class="in" aria-describedby="share-role-h" @change=${(
        event: Event,
      ) => {
        this.addRole = (event.target as HTMLSelectElement).value as ShareRole
      }}>${SHARE_ROLES.map(one => html`<option value=${one} ?selected=${one === this.addRole}>${roleWord(one)}</option>`)}</select></div>
      <button class="btn pri" ?disabled=${this.busy || !live.reachable}>${icon('user-plus')}${t('Share')}</button></div>
      <p class="hint" id="share-role-h">${roleText(this.addRole)}</p></form>`
  }

  readonly #add = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const name = String(new FormData(form).get('name') ?? '').trim()
    const done = await this.#write(() => sharing.put(this.thing, `${this.by}:${name}`, this.addRole))
    if (!done) return
    if (this.by === 'user') form.reset()
    toast(t('{thing} is shared with {name}', { thing: this.thing.name, name }))
  }

  async #set({ subject, role: before }: Share, select: HTMLSelectElement): Promise<void> {
    const role = select.value as ShareRole
    const { name } = named(subject)
    if (await this.#write(() => sharing.put(this.thing, subject, role)))
      toast(t('{name} may {role} it now', { name, role: roleWord(role) }))
    else select.value = before
  }

  async #end({ subject }: Share): Promise<void> {
    const { name } = named(subject)
    const yes = await confirmed({
      title: t('End sharing with {name}?', { name }),
      text: t('It acts at once: calls that are running end, and clients of {name} lose the tools.', { name }),
      action: t('End sharing'),
    })
    if (yes && (await this.#write(() => sharing.remove(this.thing, subject))))
      toast(t('{thing} is no longer shared with {name}', { thing: this.thing.name, name }))
  }

  /** Writes, then reads the shares again. True: it was written. */
  async #write(deed: () => Promise<unknown>): Promise<boolean> {
    this.busy = true
    this.error = undefined
    try {
      await deed()
      await this.#shares.reload()
      this.dispatchEvent(new CustomEvent('pb-shared'))
      return true
    } catch (error) {
      this.error = asApiError(error)
      toast(errorText(this.error))
      return false
    } finally {
      this.busy = false
    }
  }
}
customElements.define('pb-sharing', PbSharing)

function named(subject: string): { readonly isTeam: boolean; readonly name: string } {
  const at = subject.indexOf(':')
  return { isTeam: subject.startsWith('team:'), name: subject.slice(at + 1) }
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-sharing': PbSharing
  }
}
