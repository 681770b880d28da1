import { html, nothing } from 'lit'
import { api, segment } from '../../api/client.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { Resource } from '../../app/resource.ts'
import { session } from '../../app/session.ts'
import { PbElement } from '../../components/element.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { toast } from '../../components/layers/toast.ts'
import { errorState, show } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import { programOf } from './user-agent.ts'
import '../../components/time.ts'

interface SignIn {
  readonly id: string
  readonly current: boolean
  readonly createdAt: string
  readonly lastUsedAt: string
  readonly clientAddress: string
  readonly client: string | null
}

/** Number of sign-ins shown at first; scripts can leave more behind than anybody reads. */
const FIRST = 10

/** The user's open sign-ins, with a button to end each. */
export class PbSignIns extends PbElement {
  static override properties = { error: { state: true }, all: { state: true } }
  declare error: ApiError | undefined
  declare all: boolean | undefined
  readonly #signIns = new Resource<{ readonly items: readonly SignIn[] }>(this, {
    read: signal => api.get('/api/auth/sign-ins', { signal }),
  })

  override render(): unknown {
    return html`<section class="card"><div class="ch line"><h2>${t('Sign-ins')}</h2></div>${this.error ? errorState(this.error) : nothing}${show(
      this.#signIns,
      ({ items }) => this.#list(items),
    )}</section>`
  }

  #list(items: readonly SignIn[]): unknown {
    const others = items.filter(({ current }) => !current).length
    const shown = this.all ? items : items.slice(0, FIRST)
    const more =
      shown.length < items.length
        ? html`<button type="button" class="btn ghost" @click=${() => {
            this.all = true
          }}>${t('Show all {n}', { n: items.length })}</button>`
        : nothing
    return html`<ul class="list">${shown.map(each => this.#row(each))}</ul>
      <div class="cb stack padt">${more}<p class="hint">${t('A sign-in ends by itself after 12 hours without an open console, and after 30 days at the latest. Access keys are not among them.')}</p><div class="row wrap">
      <button type="button" class="btn" @click=${() => void session.signOut()}>${icon('log-out')}${t('Sign out')}</button>${
        others > 0
          ? html`<button type="button" class="btn bad" @click=${() => void this.#endOthers(others)}>${t('End all others')}</button>`
          : nothing
      }</div></div>`
  }

  #row({ id, current, client, clientAddress, createdAt, lastUsedAt }: SignIn): unknown {
    const name = programOf(client) ?? t('Unknown program')
    return html`<li><span class="tx"><span class="t1">${name}${current ? html`<span class="tag ok">${t('this one')}</span>` : nothing}</span>
      <span class="t2">${clientAddress} · ${t('since')} <pb-time .at=${createdAt}></pb-time> · ${t('last used')} <pb-time .at=${lastUsedAt}></pb-time></span></span>${
        current
          ? nothing
          : html`<button type="button" class="btn" aria-label=${t('End the sign-in of {program} at {address}', { program: name, address: clientAddress })} @click=${() => void this.#end(id)}>${t('End')}</button>`
      }</li>`
  }

  async #end(id: string): Promise<void> {
    await this.#try(async () => {
      await api.delete(`/api/auth/sign-ins/${segment(id)}`)
      toast(t('The sign-in is ended'))
    })
  }

  async #endOthers(others: number): Promise<void> {
    const yes = await confirmed({
      title: t('End all other sign-ins?'),
      text: plural(
        others,
        '{n} other sign-in of yours is signed out at once.',
        '{n} other sign-ins of yours are signed out at once.',
      ),
      action: t('End all others'),
    })
    if (!yes) return
    await this.#try(async () => {
      const { ended } = await api.delete<{ readonly ended: number }>('/api/auth/sign-ins')
      toast(plural(ended, '{n} sign-in is ended', '{n} sign-ins are ended'))
    })
  }

  async #try(act: () => Promise<void>): Promise<void> {
    this.error = undefined
    try {
      await act()
    } catch (error) {
      this.error = asApiError(error)
    }
    await this.#signIns.reload()
  }
}
customElements.define('pb-sign-ins', PbSignIns)

declare global {
  interface HTMLElementTagNameMap {
    'pb-sign-ins': PbSignIns
  }
}
