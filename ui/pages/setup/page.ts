import { html, nothing } from 'lit'
import { api } from '../../api/client.ts'
import { ApiError } from '../../api/problem.ts'
import { router } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import { attempt } from '../../components/attempt.ts'
import { brandMark } from '../../components/brand.ts'
import { PbElement } from '../../components/element.ts'
import { errorState, errorText } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import { strengthOf } from './strength.ts'

type Session = Parameters<typeof session.accept>[0]

interface Entry {
  readonly name: string
  readonly verdict: string
  readonly ref?: string
  readonly error?: Readonly<Record<string, unknown>>
}

interface SystemSettings {
  readonly publicUrl?: string
}

type Sources = Readonly<Record<string, { readonly source: string; readonly locked: boolean }>>

/**
 * The first run: the token from the log, the administrator, then optional steps. Once the administrator exists the page can be
 * left: the dashboard offers the missing steps.
 */
export class PbSetup extends PbElement {
  static override properties = {
    step: { state: true },
    error: { state: true },
    busy: { state: true },
    strength: { state: true },
    found: { state: true },
    url: { state: true },
    sources: { state: true },
  }
  /** From 0. */
  declare step: number
  declare error: ApiError | undefined
  declare busy: boolean
  /** Strength of the password, from 0 to 4; undefined: nothing was entered yet. */
  declare strength: number | undefined
  /** Entries of the file that was chosen. */
  declare found: readonly Entry[] | undefined
  declare url: string
  declare sources: Sources | undefined
  #token = ''
  #document = ''

  constructor() {
    super()
    this.step = session.user ? 2 : 0
    this.url = location.origin
  }

  override render(): unknown {
    document.title = `${t('Set-up')} · Patchbay`
    const steps = [t('Token from the log'), t('Administrator'), t('Public URL'), t('Import'), t('First client')]
    return html`<main class="gate top"><div class="setupbox"><div class="gbrand">${brandMark()}<span>patchbay</span><span class="push s q nb">${t('Set-up, step {at} of {n}', { at: this.step + 1, n: steps.length })}</span></div>
      <div class="setupg"><ol class="sstep" aria-label=${t('Steps')}>${steps.map((label, at) => this.#stepMark(label, at))}</ol>
      <section class="card gcard wide2" aria-live="polite">${this.#content()}${this.error ? errorState(this.error) : nothing}</section></div>
      <p class="xs q gfoot">${t('You can close this page and go on later; only the administrator is needed.')}</p></div></main>`
  }

  #stepMark(label: string, at: number): unknown {
    const done = at < this.step
    const present = at === this.step
    return html`<li aria-current=${present ? 'step' : nothing}><span class="no ${done ? 'done' : present ? 'now' : ''}">${done ? icon('check', { class: 's14' }) : at + 1}</span><span>${label}${done ? html`<span class="vh">, ${t('done')}</span>` : nothing}</span></li>`
  }

  #content(): unknown {
    if (this.step === 0) return this.#tokenForm()
    if (this.step === 1) return this.#accountForm()
    if (this.step === 2) return this.#addressForm()
    return this.step === 3 ? this.#importForm() : this.#client()
  }

  #tokenForm(): unknown {
    return html`<h1>${t('Whose hub is this?')}</h1><p class="s q">${t('Whoever can read the hub’s log may set it up. It printed a line that begins with “setup token:”.')}</p>
      <form class="stack l mt2" @submit=${this.#tokenGiven}><div class="field"><label class="lbl" for="token">${t('Set-up token')}</label>
        <input id="token" name="token" class="in big code" autocomplete="off" spellcheck="false" required autofocus .value=${this.#token} aria-describedby="token-hint">
        <p class="hint" id="token-hint">${t('Lost it? “patchbay setup-token” prints it again on the machine of the hub.')}</p></div>
        <div class="row"><button class="btn pri big push">${t('Go on')}</button></div></form>`
  }

  #accountForm(): unknown {
    const words = [t('very weak'), t('weak'), t('fair'), t('good'), t('strong')]
    return html`<h1>${t('The first administrator')}</h1><p class="s q">${t('Owns what the settings file lists, and may make further users.')}</p>
      <form class="stack l mt2" @submit=${this.#account}><div class="field"><label class="lbl" for="name">${t('User')}</label>
        <input id="name" name="username" class="in big" autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus></div>
        <div class="field"><label class="lbl" for="password">${t('Password')}</label><input id="password" name="password" type="password" class="in big" autocomplete="new-password" required aria-describedby="password-hint" @input=${(
          event: InputEvent,
        ) => {
          const { value } = event.target as HTMLInputElement
          this.strength = value === '' ? undefined : strengthOf(value)
        }}><p class="hint" id="password-hint" role="status">${this.strength === undefined ? t('A few words are better than a short riddle.') : t('This password is {strength}.', { strength: words[this.strength] ?? '' })}</p></div>
        <div class="row"><button type="button" class="btn ghost big" @click=${() => this.#go(0)}>${t('Back')}</button><button class="btn pri big push" ?disabled=${this.busy}>${this.busy ? t('Saving') : t('Make administrator')}</button></div></form>`
  }

  #addressForm(): unknown {
    const locked = this.sources?.publicUrl?.locked === true
    return html`<h1>${t('How clients reach the hub')}</h1><p class="s q">${t('This page came from {url}. Behind a proxy, clients may need another address; it is used in the configurations that they get.', { url: location.origin })}</p>
      <form class="stack l mt2" @submit=${this.#address}><div class="field"><label class="lbl" for="url">${t('Public URL')}</label><input id="url" class="in big code" type="url" ?disabled=${locked} .value=${this.url} @input=${(
        event: InputEvent,
      ) => {
        this.url = (event.target as HTMLInputElement).value
      }} aria-describedby="url-hint"><p class="hint" id="url-hint">${locked ? t('Set by the environment (PUBLIC_URL), and changed there alone.') : t('Used from the next start of the hub. Without it, the address of each request counts.')}</p></div>${this.#foot(t('Save address'), locked)}</form>`
  }

  #importForm(): unknown {
    const fresh = this.found?.filter(({ verdict }) => verdict === 'new').length ?? 0
    return html`<h1>${t('Bring your servers along')}</h1><p class="s q">${t('The settings of a client or of another hub. Secrets are sealed on this hub, the file is left as it is.')}</p>
      <form class="stack l mt2" @submit=${this.#import}><div class="field"><label class="lbl" for="file">${t('Settings file')}</label><input id="file" type="file" accept=".json,.jsonc,.toml,.yaml,.yml,application/json" class="in file" @change=${this.#chosen}></div>
      ${this.found ? html`<ul class="list entries bordered">${this.found.map(entry => this.#entry(entry))}</ul>` : nothing}${this.#foot(plural(fresh, 'Import {n} server', 'Import {n} servers'), fresh === 0)}</form>`
  }

  #entry({ name, verdict, error }: Entry): unknown {
    const tag =
      verdict === 'new'
        ? html`<span class="tag ok">${t('New')}</span>`
        : verdict === 'exists'
          ? html`<span class="tag warn">${t('Exists')}</span>`
          : html`<span class="tag bad">${t('Invalid')}</span>`
    return html`<li><div class="tx"><span class="t1">${name}${tag}</span>${error ? html`<p class="t2 wrapx">${errorText(new ApiError(400, error))}</p>` : nothing}</div></li>`
  }

  #client(): unknown {
    return html`<h1>${t('Connect a client')}</h1><p class="s q">${t('The hub has a sample server in a group of the same name. The next page gives a client what it needs, and shows when it has connected.')}</p>
      <div class="row wrap mt2"><a class="btn ghost big" href="/" @click=${(event: Event) => this.#leave(event, '/')}>${t('To the dashboard')}</a><span class="push"></span>
      <a class="btn pri big" href="/groups" @click=${(event: Event) => this.#leave(event, '/groups')}>${t('Connect a client')}</a></div>`
  }

  #foot(action: string, disabled: boolean): unknown {
    return html`<div class="row wrap"><span class="push row"><button type="button" class="btn big" @click=${() => this.#go(this.step + 1)}>${t('Skip')}</button><button class="btn pri big" ?disabled=${disabled || this.busy}>${action}</button></span></div>`
  }

  #go(step: number): void {
    this.error = undefined
    this.step = step
    if (step === 2) void this.#readSettings()
    void this.updateComplete.then(() => this.querySelector<HTMLElement>('input:not([disabled]), a.btn')?.focus())
  }

  readonly #tokenGiven = (event: SubmitEvent): void => {
    event.preventDefault()
    this.#token = String(new FormData(event.target as HTMLFormElement).get('token')).trim()
    this.#go(1)
  }

  readonly #account = (event: SubmitEvent): void => {
    event.preventDefault()
    const form = new FormData(event.target as HTMLFormElement)
    const body = { token: this.#token, username: String(form.get('username')), password: String(form.get('password')) }
    void this.#try(async () => {
      const made = await api.post<Session>('/api/setup', { body })
      // After a reload, the address shows where to continue.
      await router.go('/setup', { replace: true })
      session.accept(made)
      this.#go(2)
    })
  }

  readonly #address = (event: SubmitEvent): void => {
    event.preventDefault()
    void this.#try(async () => {
      await api.patch('/api/admin/settings', { body: { publicUrl: this.url } })
      this.#go(3)
    })
  }

  readonly #chosen = (event: Event): void => {
    const file = (event.target as HTMLInputElement).files?.[0]
    if (!file) return
    void this.#try(async () => {
      this.#document = await file.text()
      this.found = (await this.#send(true)).entries
    })
  }

  readonly #import = (event: SubmitEvent): void => {
    event.preventDefault()
    void this.#try(async () => {
      this.found = (await this.#send(false)).entries
      if (this.found.every(({ verdict }) => verdict !== 'invalid')) this.#go(4)
    })
  }

  #send(dryRun: boolean): Promise<{ readonly entries: readonly Entry[] }> {
    return api.post('/api/servers/import', {
      query: dryRun ? { dryRun: true } : {},
      body: { document: this.#document },
    })
  }

  async #readSettings(): Promise<void> {
    const [settings, sources] = await Promise.allSettled([
      api.get<SystemSettings>('/api/admin/settings'),
      api.get<Sources>('/api/admin/settings/sources'),
    ])
    if (settings.status === 'fulfilled' && settings.value.publicUrl) this.url = settings.value.publicUrl
    if (sources.status === 'fulfilled') this.sources = sources.value
  }

  #leave(event: Event, path: string): void {
    event.preventDefault()
    event.stopPropagation()
    delete document.documentElement.dataset.setup
    void router.go(path)
  }

  #try(act: () => Promise<void>): Promise<void> {
    return attempt(this, act, ({ code }) => {
      // The token is judged together with the account.
      if (code === 'token_invalid') this.step = 0
    })
  }
}
customElements.define('pb-setup', PbSetup)

declare global {
  interface HTMLElementTagNameMap {
    'pb-setup': PbSetup
  }
}
