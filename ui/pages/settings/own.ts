import { html, nothing } from 'lit'
import { api } from '../../api/client.ts'
import type { ApiError } from '../../api/problem.ts'
import { preferences, type Theme } from '../../app/preferences.ts'
import { Resource } from '../../app/resource.ts'
import { session } from '../../app/session.ts'
import { attempt } from '../../components/attempt.ts'
import { PbElement } from '../../components/element.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { toast } from '../../components/layers/toast.ts'
import { errorState, show } from '../../components/states.ts'
import { problemText } from '../../text/problem.ts'
import { LANGUAGES, type Language, t } from '../../text/t.ts'
import '../../components/time.ts'
import { type Limit, limitTables } from './limits.ts'
import './sign-ins.ts'

interface OwnSettings {
  readonly language: Language
  readonly theme: Theme
  readonly hostedKeys: Readonly<Record<string, { readonly set: true; readonly last4: string; readonly setAt: string }>>
}

interface Platform {
  readonly name: string
  readonly label: string
  readonly hosts: readonly string[]
  /** Address at which a key is created. */
  readonly docs?: string
  /** Origin of the key in use: `own`, `system` or `none`. */
  readonly key: { readonly from: string }
  /** Servers that the key is sent to. */
  readonly servers: readonly string[]
  /** Servers that have an Authorization of their own. */
  readonly overridden: readonly string[]
}

type Session = Parameters<typeof session.accept>[0]

/** The parts of the settings that everybody has: profile, hosted keys, appearance, limits. */
export class PbOwnSettings extends PbElement {
  static override properties = { section: {}, error: { state: true }, busy: { state: true } }
  declare section: string
  declare error: ApiError | undefined
  declare busy: boolean
  readonly #settings = new Resource<OwnSettings>(this, { read: signal => api.get('/api/settings', { signal }) })
  readonly #platforms = new Resource<{ readonly items: readonly Platform[] }>(this, {
    key: () => (this.section === 'hosted-keys' ? 'read' : undefined),
    read: signal => api.get('/api/plugins/hosted-keys/platforms', { signal }),
  })
  readonly #limits = new Resource<{ readonly items: readonly Limit[] }>(this, {
    key: () => (this.section === 'limits' ? 'read' : undefined),
    read: signal => api.get('/api/limits', { signal }),
  })

  override render(): unknown {
    const error = this.error ? errorState(this.error) : nothing
    if (this.section === 'hosted-keys') return html`${error}${show(this.#platforms, ({ items }) => this.#keys(items))}`
    if (this.section === 'appearance') return this.#appearance()
    if (this.section === 'limits') return show(this.#limits, ({ items }) => limitTables(items))
    return html`${error}${this.#profile()}`
  }

  #profile(): unknown {
    return html`<section class="card"><div class="ch line"><h2>${t('Profile')}</h2></div><div class="cb padt"><dl class="kv"><dt>${t('User')}</dt><dd>${session.user?.name}</dd><dt>${t('Role')}</dt><dd>${session.isAdmin ? t('Administrator') : t('User')}</dd></dl></div></section>
      <section class="card"><div class="ch line"><h2>${t('Password')}</h2></div><form class="cb stack l padt" @submit=${this.#changePassword}>
        <input class="vh" tabindex="-1" aria-hidden="true" autocomplete="username" .value=${session.user?.name ?? ''} readonly>
        ${this.#password('current', t('Present password'), 'current-password')}${this.#password('next', t('New password'), 'new-password')}
        <p class="hint">${t('Every other sign-in of yours ends with the change. Access keys go on.')}</p><div><button class="btn pri" ?disabled=${this.busy}>${t('Change password')}</button></div></form></section>
      <pb-sign-ins></pb-sign-ins>`
  }

  #password(id: string, label: string, autocomplete: string): unknown {
    return html`<div class="field"><label class="lbl" for=${id}>${label}</label><input id=${id} name=${id} class="in" type="password" autocomplete=${autocomplete} required></div>`
  }

  #keys(platforms: readonly Platform[]): unknown {
    const { hostedKeys = {} } = this.#settings.data ?? {}
    return html`<section class="card"><div class="ch line"><h2>${t('Hosted keys')}</h2></div><ul class="list">${platforms.map(
      platform => {
        const { [platform.name]: own } = hostedKeys
        return html`<li><form class="tx stack t" @submit=${(event: SubmitEvent) => this.#saveKey(event, platform)}><span class="t1">${platform.label}${own ? html`<span class="tag ok">${t('set')}</span>` : html`<span class="tag">${t('not set')}</span>`}</span>
        <p class="t2 wrapx">${t('Sent to {hosts} over https alone, where the server has no Authorization of its own.', { hosts: platform.hosts.join(', ') })}</p>${own ? html`<p class="xs q">${t('ends in {last4}, set', { last4: own.last4 })} <pb-time .at=${own.setAt}></pb-time></p>` : nothing}${keyUse(platform)}
        <div class="row wrap"><input class="in code grow" type="password" name="key" autocomplete="off" aria-label=${t('Key of {platform}', { platform: platform.label })} required placeholder=${own ? t('A new key') : t('Key')}><button class="btn">${t('Save')}</button>${
          own
            ? html`<button type="button" class="btn" @click=${() => void this.#testKey(platform)}>${t('Test')}</button><button type="button" class="btn bad" @click=${() => void this.#removeKey(platform)}>${t('Remove')}</button>`
            : nothing
        }</div></form></li>`
      },
    )}</ul></section>`
  }

  #appearance(): unknown {
    const themes: readonly (readonly [Theme, string])[] = [
      ['system', t('As the system')],
      ['light', t('Light')],
      ['dark', t('Dark')],
    ]
    return html`<section class="card"><div class="ch line"><h2>${t('Appearance and keys')}</h2></div><div class="cb stack l padt"><div class="field"><label class="lbl" for="theme">${t('Theme')}</label><select id="theme" class="in" @change=${(
      event: Event,
    ) => {
      preferences.theme = (event.target as HTMLSelectElement).value as Theme
      void this.#keep({ theme: preferences.theme })
    }}>${themes.map(([id, label]) => html`<option value=${id} ?selected=${preferences.theme === id}>${label}</option>`)}</select></div>
      <div class="field"><label class="lbl" for="language">${t('Language')}</label><select id="language" class="in" @change=${async (
        event: Event,
      ) => {
        const language = (event.target as HTMLSelectElement).value as Language
        await preferences.useLanguage(language)
        await this.#keep({ language })
      }}>${Object.entries(LANGUAGES).map(([code, label]) => html`<option value=${code} lang=${code} ?selected=${preferences.language === code}>${label}</option>`)}</select></div>
      <label class="chk"><input type="checkbox" .checked=${preferences.letterKeys} @change=${(event: Event) => {
        preferences.letterKeys = (event.target as HTMLInputElement).checked
      }}><span>${t('Keys of a single letter')}</span></label></div></section>`
  }

  readonly #changePassword = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const fields = new FormData(form)
    await attempt(this, async () => {
      session.accept(
        await api.post<Session>('/api/auth/password', {
          body: { currentPassword: String(fields.get('current')), newPassword: String(fields.get('next')) },
        }),
      )
      form.reset()
      toast(t('The password is changed'))
    })
  }

  #saveKey(event: SubmitEvent, platform: Platform): void {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const key = String(new FormData(form).get('key')).trim()
    void attempt(this, async () => {
      this.#settings.set(
        await api.patch<OwnSettings>('/api/settings', { body: { hostedKeys: { [platform.name]: key } } }),
      )
      form.reset()
      toast(t('The key is saved; servers of {platform} reconnect with it', { platform: platform.label }))
    })
  }

  async #testKey(platform: Platform): Promise<void> {
    await attempt(this, async () => {
      const report = await api.post<KeyReport>('/api/plugins/hosted-keys/test', { body: { platform: platform.name } })
      toast(reportText(report, platform.label))
    })
  }

  async #removeKey(platform: Platform): Promise<void> {
    const yes = await confirmed({
      title: t('Remove the key of {platform}?', { platform: platform.label }),
      text: t('Servers of that platform that have no Authorization of their own will be refused.'),
      action: t('Remove key'),
    })
    if (!yes) return
    await attempt(this, async () =>
      this.#settings.set(
        await api.patch<OwnSettings>('/api/settings', { body: { hostedKeys: { [platform.name]: null } } }),
      ),
    )
  }

  async #keep(body: object): Promise<void> {
    await attempt(this, () => api.patch('/api/settings', { body }))
  }
}
customElements.define('pb-own-settings', PbOwnSettings)

/** Result of testing a key. */
interface KeyReport {
  readonly ok: boolean
  /** Code of the plugin, or of an error on the way to the platform. */
  readonly code: string
  readonly status?: number
  readonly detail: string
}

function reportText({ ok, code, status = 0, detail }: KeyReport, platform: string): string {
  if (ok) return t('{platform} takes the key', { platform })
  if (code === 'no_server') return t('None of your servers of {platform} would use the key', { platform })
  if (code === 'no_key') return t('There is no key of {platform}', { platform })
  if (code === 'key_refused') return t('{platform} refuses the key', { platform })
  if (code === 'answered') return t('{platform} answered with HTTP {status}', { platform, status })
  return problemText({ code, message: detail })
}

/** Servers that get the key, and those with an Authorization of their own. */
function keyUse({ servers, overridden, key, docs }: Platform): unknown {
  return html`<p class="xs q">${servers.length > 0 ? t('Used by {servers}.', { servers: servers.join(', ') }) : t('No server of yours uses it yet.')} ${
    overridden.length > 0 ? t('Own Authorization: {servers}.', { servers: overridden.join(', ') }) : nothing
  } ${key.from === 'system' ? t('The key of the hub is used while you have none.') : nothing} ${docs && /^https:/.test(docs) ? html`<a href=${docs} target="_blank" rel="noreferrer">${t('Where to get one')}</a>` : nothing}</p>`
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-own-settings': PbOwnSettings
  }
}
