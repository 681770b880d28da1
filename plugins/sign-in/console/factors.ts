import { html, nothing } from 'lit'
import {
  type ApiError,
  api,
  attempt,
  confirmed,
  errorState,
  icon,
  PbElement,
  plural,
  Resource,
  segment,
  session,
  show,
  t,
  toast,
} from 'patchbay/console'
import { hasPasskeys, makePasskey } from './ask-passkey.ts'
import './qr-code.ts'

interface Factor {
  readonly id: string
  readonly kind: 'totp' | 'passkey'
  readonly label: string
  readonly createdAt: string
  readonly lastUsedAt: string | null
}

interface Factors {
  readonly items: readonly Factor[]
  readonly recoveryCodes: number
  readonly required: boolean
  /** True where the hub's address is one for passkeys. */
  readonly passkeys: boolean
}

/** An app that waits for its first code. */
interface Begun {
  readonly id: string
  readonly secret: string
  readonly uri: string
}

/** A factor that is set. The first one has the rest. */
interface Answer {
  readonly recoveryCodes?: readonly string[]
  readonly session?: Parameters<typeof session.accept>[0]
}

/** The user's second factors: authenticator apps and recovery codes. */
export class PbFactors extends PbElement {
  static override properties = {
    error: { state: true },
    busy: { state: true },
    begun: { state: true },
    codes: { state: true },
    renaming: { state: true },
  }
  declare error: ApiError | undefined
  declare busy: boolean
  declare begun: Begun | undefined
  /** New recovery codes, shown once. */
  declare codes: readonly string[] | undefined
  /** The id of the factor that gets another name. */
  declare renaming: string | undefined
  readonly #factors = new Resource<Factors>(this, { read: signal => api.get('/api/auth/factors', { signal }) })

  override render(): unknown {
    if (this.codes) return this.#codes(this.codes)
    const error = this.error ? errorState(this.error) : nothing
    if (this.begun) return html`${error}${this.#beginning(this.begun)}`
    return html`${error}${show(this.#factors, factors => this.#list(factors))}`
  }

  #list({ items, recoveryCodes, passkeys }: Factors): unknown {
    const add = this.#adding(passkeys)
    if (items.length === 0) {
      return html`<section class="card"><div class="ch line"><h2>${t('Second factor')}</h2></div><div class="cb stack l padt"><p>${t('A passkey, or a code of an app on your phone, besides the password. Whoever learns your password cannot sign in without it.')}</p>${add}</div></section>`
    }
    return html`<div class="stack"><section class="card"><div class="ch line"><h2>${t('Second factor')}</h2></div><ul class="list">${items.map(each => this.#row(each, items.length))}</ul><div class="cb stack padt">${add}</div></section>
      <section class="card"><div class="ch line"><h2>${t('Recovery codes')}</h2></div><div class="cb stack l padt"><p>${plural(recoveryCodes, '{n} code is left. Each is for one sign-in without the app or passkey.', '{n} codes are left. Each is for one sign-in without the app or passkey.')}</p>
      <div><button type="button" class="btn" ?disabled=${this.busy} @click=${() => void this.#renew()}>${t('Make new codes')}</button></div></div></section></div>`
  }

  #adding(passkeys: boolean): unknown {
    const app = html`<button type="button" class="btn ${passkeys ? '' : 'pri'}" ?disabled=${this.busy} @click=${() => void attempt(this, () => this.#begin())}>${icon('plus')}${t('Set an authenticator app')}</button>`
    if (!passkeys || !hasPasskeys()) {
      return html`<p class="hint">${t('Browsers keep passkeys for a host name with https, or for localhost, and not for the address of this page. An authenticator app works everywhere.')}</p><div>${app}</div>`
    }
    return html`<p class="hint">${t('With a passkey you sign in by fingerprint, face or PIN of your device, without the password.')}</p><div class="row wrap"><button type="button" class="btn pri" ?disabled=${this.busy} @click=${() => void attempt(this, () => this.#setPasskey())}>${icon('fingerprint')}${t('Set a passkey')}</button>${app}</div>`
  }

  #row({ id, kind, label, createdAt, lastUsedAt }: Factor, number: number): unknown {
    if (this.renaming === id) return this.#renameRow(id, label)
    return html`<li><span class="tx"><span class="t1">${label}</span><span class="t2">${kind === 'passkey' ? t('Passkey') : t('Authenticator app')} · ${t('since')} <pb-time .at=${createdAt}></pb-time>${lastUsedAt ? html` · ${t('last used')} <pb-time .at=${lastUsedAt}></pb-time>` : nothing}</span></span>
      <button type="button" class="btn" aria-label=${t('Rename {name}', { name: label })} @click=${() => {
        this.renaming = id
      }}>${t('Rename')}</button><button type="button" class="btn bad" aria-label=${t('Remove {name}', { name: label })} @click=${() => void this.#remove(id, label, number === 1)}>${t('Remove')}</button></li>`
  }

  #renameRow(id: string, label: string): unknown {
    return html`<li><form class="tx row wrap" @submit=${(event: SubmitEvent) => {
      event.preventDefault()
      const name = String(new FormData(event.target as HTMLFormElement).get('label')).trim()
      void attempt(this, async () => {
        await api.patch(`/api/auth/factors/${segment(id)}`, { body: { label: name } })
        this.renaming = undefined
        await this.#factors.reload()
      })
    }}><input class="in grow" name="label" aria-label=${t('Name')} maxlength="64" required .value=${label} autofocus><button class="btn" ?disabled=${this.busy}>${t('Save')}</button></form></li>`
  }

  #beginning({ id, secret, uri }: Begun): unknown {
    const text = (secret.match(/.{4}/g) ?? []).join(' ')
    return html`<section class="card"><div class="ch line"><h2>${t('Set an authenticator app')}</h2></div><form class="cb stack l padt" @submit=${(
      event: SubmitEvent,
    ) => {
      event.preventDefault()
      const code = String(new FormData(event.target as HTMLFormElement).get('code'))
      void attempt(this, () => this.#confirm(id, code))
    }}><p>${t('Scan this with the app, or enter the key there.')}</p>
      <pb-qr-code .text=${uri}></pb-qr-code>
      <div class="keyline"><code class="keytext">${text}</code><pb-copy .text=${secret} .caption=${t('Copy')}></pb-copy></div>
      <div class="field"><label class="lbl" for="first-code">${t('Code that the app shows')}</label><input id="first-code" name="code" class="in code" inputmode="numeric" autocomplete="one-time-code" maxlength="7" required></div>
      <p class="hint">${t('With the first app all your other sign-ins end. Access keys go on.')}</p>
      <div class="row"><button class="btn pri" ?disabled=${this.busy}>${t('Set the app')}</button><button type="button" class="btn" @click=${() => {
        this.begun = undefined
        this.error = undefined
      }}>${t('Cancel')}</button></div></form></section>`
  }

  #codes(codes: readonly string[]): unknown {
    const text = codes.join('\n')
    return html`<section class="card"><div class="ch line"><h2>${t('Recovery codes')}</h2></div><div class="cb stack l padt"><p>${t('Store these now: they are not shown again. Each is for one sign-in, if the app or the passkey is lost.')}</p>
      <pre class="keytext recovery">${text}</pre><div class="row wrap"><pb-copy .text=${text} .caption=${t('Copy')}></pb-copy><button type="button" class="btn pri" @click=${() => void this.#stored()}>${t('I have stored them')}</button></div></div></section>`
  }

  async #begin(): Promise<void> {
    this.begun = await api.post<Begun>('/api/auth/factors/totp', { body: {} })
  }

  async #confirm(id: string, code: string): Promise<void> {
    const answer = await api.post<Answer>('/api/auth/factors/totp/confirm', { body: { id, code } })
    this.begun = undefined
    await this.#isSet(answer, t('The app is set'))
  }

  async #setPasskey(): Promise<void> {
    const body = { passkey: await makePasskey(), label: t('Passkey') }
    await this.#isSet(await api.post<Answer>('/api/auth/factors/passkeys', { body }), t('The passkey is set'))
  }

  async #isSet(answer: Answer, text: string): Promise<void> {
    this.codes = answer.recoveryCodes
    if (answer.session) {
      // Until the codes are stored, a user who had to set the factor stays here.
      if (session.mustSetSecondFactor) session.acceptAndStay(answer.session)
      else session.accept(answer.session)
    }
    toast(text)
    if (!answer.recoveryCodes) await this.#factors.reload()
  }

  async #stored(): Promise<void> {
    this.codes = undefined
    await this.#factors.reload()
    session.leave()
  }

  async #renew(): Promise<void> {
    const yes = await confirmed({
      title: t('Make new recovery codes?'),
      text: t('The codes that you have now count no more.'),
      action: t('Make new codes'),
    })
    if (!yes) return
    await attempt(this, async () => {
      const { recoveryCodes } = await api.post<{ readonly recoveryCodes: readonly string[] }>(
        '/api/auth/factors/recovery-codes',
      )
      this.codes = recoveryCodes
    })
  }

  async #remove(id: string, name: string, isLast: boolean): Promise<void> {
    const yes = await confirmed({
      title: t('Remove {name}?', { name }),
      text: isLast
        ? t('The password alone is enough afterwards, and the recovery codes count no more.')
        : t('It counts no more.'),
      action: t('Remove'),
    })
    if (!yes) return
    await attempt(this, async () => {
      await api.delete(`/api/auth/factors/${segment(id)}`)
      toast(t('{name} is removed', { name }))
      await this.#factors.reload()
    })
  }
}
customElements.define('pb-factors', PbFactors)

declare global {
  interface HTMLElementTagNameMap {
    'pb-factors': PbFactors
  }
}
