import { html, nothing } from 'lit'
import { api, type Page, segment } from '../../api/client.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { PbElement } from '../../components/element.ts'
import { dialog, hide } from '../../components/layers/layer.ts'
import { toast } from '../../components/layers/toast.ts'
import { errorState } from '../../components/states.ts'
import { plural, t } from '../../text/t.ts'
import type { UserRecord } from './page.ts'

type Owned = 'transfer' | 'cascade'

/**
 * Dialog for deleting an account, with the choice for its servers and groups.
 *
 * @fires pb-removed
 *
 * @fires pb-closed
 */
export class PbRemoveUser extends PbElement {
  static override properties = {
    user: { attribute: false },
    others: { attribute: false },
    owned: { state: true },
    what: { state: true },
    heir: { state: true },
    typed: { state: true },
    error: { state: true },
  }
  declare user: UserRecord | undefined
  declare others: readonly UserRecord[]
  /** Servers and groups of the user; undefined: not read yet. */
  declare owned: { readonly servers: number; readonly groups: number } | undefined
  declare what: Owned
  declare heir: string
  declare typed: string
  declare error: ApiError | undefined
  #requestedId: string | undefined

  protected override updated(): void {
    if (this.user?.id === this.#requestedId) return
    this.#requestedId = this.user?.id
    this.owned = undefined
    this.error = undefined
    this.what = 'transfer'
    this.typed = ''
    this.heir = this.others[0]?.name ?? ''
    if (this.user) void this.#count(this.user)
  }

  override render(): unknown {
    const { user } = this
    return dialog({
      open: user !== undefined,
      title: t('Delete {name}?', { name: user?.name ?? '' }),
      onClose: () => this.dispatchEvent(new CustomEvent('pb-closed')),
      body: user ? this.#body(user) : nothing,
      foot: html`<button type="button" class="btn push" @click=${hide}>${t('Cancel')}</button><button type="button" class="btn danger" ?disabled=${this.typed !== user?.name || this.owned === undefined} @click=${(event: Event) => void this.#remove(event)}>${t('Delete user')}</button>`,
    })
  }

  #body(user: UserRecord): unknown {
    const { owned } = this
    const some = owned !== undefined && owned.servers + owned.groups > 0
    return html`<div class="stack">${this.error ? errorState(this.error) : nothing}<p class="s">${t('Keys, sign-ins, alert rules and assistants of {name} end at once.', { name: user.name })}</p>
      ${
        some
          ? html`<fieldset class="stack t"><legend class="lbl">${t('What becomes of {servers} and {groups}?', { servers: plural(owned.servers, '{n} server', '{n} servers'), groups: plural(owned.groups, '{n} group', '{n} groups') })}</legend>
        ${this.#choice('transfer', t('They go to another user, stopped until that user has looked at them'))}${
          this.what === 'transfer'
            ? html`<select class="in" aria-label=${t('Who gets them')} @change=${(event: Event) => {
                this.heir = (event.target as HTMLSelectElement).value
              }}>${this.others.map(({ name }) => html`<option ?selected=${name === this.heir}>${name}</option>`)}</select>`
            : nothing
        }${this.#choice('cascade', t('They are deleted as well'))}</fieldset>`
          : nothing
      }
      <div class="field"><label class="lbl" for="remove-typed">${t('Type {name} to go on', { name: user.name })}</label><input id="remove-typed" class="in code" autocomplete="off" spellcheck="false" .value=${this.typed} @input=${(
        event: InputEvent,
      ) => {
        this.typed = (event.target as HTMLInputElement).value
      }}></div></div>`
  }

  #choice(id: Owned, label: string): unknown {
    return html`<label class="chk"><input type="radio" name="owned" .checked=${this.what === id} @change=${() => {
      this.what = id
    }}><span>${label}</span></label>`
  }

  async #count({ name }: UserRecord): Promise<void> {
    const query = { owner: name, scope: 'all', limit: 1 }
    try {
      const [servers, groups] = await Promise.all([
        api.get<Page<unknown>>('/api/servers', { query }),
        api.get<Page<unknown>>('/api/groups', { query }),
      ])
      this.owned = { servers: servers.total, groups: groups.total }
    } catch (error) {
      this.error = asApiError(error)
    }
  }

  async #remove(event: Event): Promise<void> {
    const { user, owned } = this
    const close = event.currentTarget as Element
    if (!user || !owned) return
    const some = owned.servers + owned.groups > 0
    const query = !some ? {} : this.what === 'cascade' ? { cascade: true } : { transferTo: this.heir }
    try {
      await api.delete(`/api/admin/users/${segment(user.name)}`, { query })
      const layer = close.closest('wa-dialog') as (Element & { open: boolean }) | null
      if (layer) layer.open = false
      toast(t('{name} is deleted', { name: user.name }))
      this.dispatchEvent(new CustomEvent('pb-removed'))
    } catch (error) {
      this.error = asApiError(error)
    }
  }
}
customElements.define('pb-remove-user', PbRemoveUser)

declare global {
  interface HTMLElementTagNameMap {
    'pb-remove-user': PbRemoveUser
  }
}
