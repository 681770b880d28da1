import { html, nothing } from 'lit'
import { api, type Page } from '../../api/client.ts'
import { asApiError } from '../../api/problem.ts'
import { refOf, serverPath } from '../../api/servers.ts'
import type { Shared } from '../../api/sharing.ts'
import type { GroupRecord, ServerRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { href, router } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import { copyText } from '../../components/copy.ts'
import { PbElement } from '../../components/element.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { toast } from '../../components/layers/toast.ts'
import { errorText } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { groupsWith } from '../servers/bulk.ts'
import { factCard } from './facts.ts'
import '../../components/copy.ts'
import '../../components/sharing/sharing.ts'

/** Access to a server, and its owner. */
export class PbServerAccess extends PbElement {
  static override properties = {
    server: { attribute: false },
    groups: { attribute: false },
    owner: { state: true },
    busy: { state: true },
  }
  declare server: ServerRecord
  declare groups: readonly GroupRecord[]
  /** The new owner that was chosen. */
  declare owner: string | undefined
  declare busy: boolean
  readonly #users = new Resource<Page<{ readonly name: string; readonly disabled?: boolean }>>(this, {
    key: () => (session.isAdmin ? 'admin' : undefined),
    read: signal => api.get('/api/admin/users', { query: { limit: 1000 }, signal }),
  })

  override render(): unknown {
    const { server } = this
    const isPublic = server.visibility === 'public'
    const address = `${location.origin}${document.documentElement.dataset.base ?? ''}/mcp/@${encodeURIComponent(server.owner)}/${encodeURIComponent(server.name)}`
    const using = groupsWith([server], this.groups)
    const thing: Shared = { kind: 'server', ref: refOf(server), name: server.name, owner: server.owner }
    return html`<pb-sharing .thing=${thing}></pb-sharing><div class="grid2 even"><section class="card"><div class="ch"><h2>${t('Visibility')}</h2></div><div class="cb stack"><fieldset class="field plain"><legend class="vh">${t('Visibility')}</legend>
        ${this.#choice('private', t('Private'), t('You, the administrators, and users that you share it with.'))}${this.#choice('public', t('Public'), t('Everybody who is signed in may see its tools and call them, with your settings and secrets, which they do not see.'))}</fieldset></div></section>
      ${factCard(t('Who may use it'), [
        [t('Owner'), html`<b class="med">${server.owner}</b>`],
        [
          t('Others'),
          isPublic ? t('everybody signed in') : t('users that it, or a group of yours that holds it, is shared with'),
        ],
        [
          t('In groups'),
          using.length === 0
            ? t('none')
            : using.map(
                (group, at) =>
                  html`${at > 0 ? ', ' : ''}<a href=${href(`/groups/${encodeURIComponent(group.ref)}`)}>${group.name}</a>${group.visibility === 'public' ? html` <span class="tag line">${t('Public')}</span>` : nothing}`,
              ),
        ],
        [
          t('Address'),
          html`<span class="row"><span class="mono addr">${address}</span><button type="button" class="btn ghost sm ico" aria-label=${t('Copy address')} title=${t('Copy address')} @click=${() => void copyText(address)}>${icon('copy')}</button></span>`,
        ],
      ])}${session.isAdmin ? this.#transfer() : nothing}</div>`
  }

  #choice(value: 'private' | 'public', label: string, text: string): unknown {
    const disabled = this.busy || !live.reachable || this.server.origin === 'file'
    return html`<label class="chk"><input type="radio" name="visibility" .checked=${(this.server.visibility ?? 'private') === value} ?disabled=${disabled}
      @change=${() => void this.#setVisibility(value)}><span>${label}<span class="hint block">${text}</span></span></label>`
  }

  #transfer(): unknown {
    const users = (this.#users.data?.items ?? []).filter(
      ({ name, disabled }) => name !== this.server.owner && !disabled,
    )
    const pick = (event: Event): void => {
      this.owner = (event.target as HTMLSelectElement).value || undefined
    }
    return html`<section class="card"><div class="ch"><h2>${t('Give to another owner')}</h2></div><div class="cb stack"><div class="field"><label for="new-owner">${t('New owner')}</label><select id="new-owner" class="in" @change=${pick}>
      <option value="">${t('Choose')}</option>${users.map(({ name }) => html`<option value=${name} ?selected=${name === this.owner}>${name}</option>`)}</select>
      <p class="hint">${t('It runs with the rights of the new owner, or with fewer until they have reviewed it. Its address changes.')}</p></div>
      <span><button type="button" class="btn" ?disabled=${this.owner === undefined || this.busy || !live.reachable || this.server.origin === 'file'} @click=${() => void this.#give()}>${t('Give away')}</button></span></div></section>`
  }

  async #setVisibility(visibility: 'private' | 'public'): Promise<void> {
    const before = this.server.visibility ?? 'private'
    const after = await this.#patch({ visibility })
    if (!after) return
    const text =
      visibility === 'public'
        ? t('{name} is public now', { name: after.name })
        : t('{name} is private now', { name: after.name })
    toast(text, () => void this.#patch({ visibility: before }))
  }

  async #give(): Promise<void> {
    const { owner } = this
    if (owner === undefined) return
    const yes = await confirmed({
      title: t('Give {name} to {owner}?', { name: this.server.name, owner }),
      text: t(
        '{owner} sees its settings, and its secrets work for them. Clients that use its present address lose it.',
        { owner },
      ),
      action: t('Give away'),
    })
    if (!yes) return
    const after = await this.#patch({ owner })
    if (after) await router.go(`/servers/${encodeURIComponent(refOf(after))}?tab=access`, { replace: true })
  }

  async #patch(body: Readonly<Record<string, unknown>>): Promise<ServerRecord | undefined> {
    this.busy = true
    try {
      const after = await api.patch<ServerRecord>(serverPath(refOf(this.server)), {
        body,
        revision: this.server.revision,
      })
      this.dispatchEvent(new CustomEvent('pb-server', { detail: after, bubbles: true }))
      return after
    } catch (error) {
      toast(errorText(asApiError(error)))
      this.requestUpdate()
      return undefined
    } finally {
      this.busy = false
    }
  }
}
customElements.define('pb-server-access', PbServerAccess)

declare global {
  interface HTMLElementTagNameMap {
    'pb-server-access': PbServerAccess
  }
}
