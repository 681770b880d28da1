import { html, nothing } from 'lit'
import {
  type ApiError,
  asApiError,
  errorState,
  gate,
  href,
  icon,
  PbElement,
  Resource,
  router,
  session,
  skeleton,
  t,
} from 'patchbay/console'
import { type BroughtValue, type ConnectionFor, type ConnectPlace, connectionsApi } from './api.ts'
import './device-code.ts'
import { underWay } from './under-way.ts'

/** The parameter of the page with the sign-in whose code is shown. */
const FLOW = 'flow'

/** Leads the user to the sign-in of a server. Messages of the hub name this page. */
export class PbConnectServer extends PbElement {
  static override properties = {
    params: { attribute: false },
    query: { attribute: false },
    busy: { state: true },
    error: { state: true },
    chosen: { state: true },
  }
  declare params: Readonly<Record<string, string>>
  declare query: URLSearchParams
  declare busy: boolean
  declare error: ApiError | undefined
  /** The choice of the owner; undefined until it is made. */
  declare chosen: ConnectionFor | undefined
  readonly #place = new Resource<ConnectPlace>(this, {
    read: signal => connectionsApi.place(this.#id, signal),
    key: () => this.#id,
  })

  get #id(): string {
    return this.params.id ?? ''
  }

  override render(): unknown {
    document.title = `${t('Sign in at a server')} · Patchbay`
    const { data, error } = this.#place
    const content = data ? this.#form(data) : error ? cannot(error) : skeleton(4)
    const name = session.user?.name ?? ''
    return gate(
      html`<section class="card gcard">${content}</section><p class="xs q gfoot">${t('Signed in as {name}.', { name })} <button type="button" class="btn ghost sm" @click=${() => void session.signOut()}>${t('Sign in as somebody else')}</button></p>`,
    )
  }

  #form(place: ConnectPlace): unknown {
    if (place.bring) return this.#values(place, place.bring)
    const flow = this.query.get(FLOW)
    if (flow !== null)
      return html`<pb-device-code .flow=${flow} .name=${place.name} @pb-done=${this.#ended} @pb-again=${() => this.#start(place)}></pb-device-code>${this.error ? errorState(this.error) : nothing}`
    const { name, owner, own, host, connection } = place
    const isDone = connection?.state === 'active'
    return html`<form class="stack l" @submit=${(event: SubmitEvent) => this.#begin(event, place)}>
      <h1 tabindex="-1">${t('Sign in at “{name}”', { name })}</h1>
      ${own ? nothing : html`<p class="s q">${t('A server of {owner}.', { owner })}</p>`}
      ${isDone ? html`<div class="callout ok" role="status">${icon('circle-check')}<p>${t('You are signed in there. Sign in again to give it a wider permission, or to be somebody else there.')}</p></div>` : nothing}
      ${own ? this.#who(place) : html`<p>${t('Your calls then carry your own sign-in, which nobody else uses.')}</p>`}
      ${host === undefined ? nothing : html`<p>${t('The sign-in is used at {host}, whoever asks you for it. Sign in only if you trust that host.', { host })}</p>`}
      ${this.error ? errorState(this.error) : nothing}
      <div class="row wrap end"><a class="btn big" href=${href(`/servers/${encodeURIComponent(place.server)}`)}>${t('To the server')}</a>
        <button type="submit" class="btn pri big" ?disabled=${this.busy}>${isDone ? t('Sign in again') : t('Sign in')}</button></div></form>`
  }

  /** The values that the server asks for. They are never shown again. */
  #values(place: ConnectPlace, bring: readonly BroughtValue[]): unknown {
    const { name, owner, own, host, connection } = place
    const isDone = connection?.state === 'active'
    return html`<form class="stack l" @submit=${(event: SubmitEvent) => this.#enter(event, place, bring)}>
      <h1 tabindex="-1">${t('Your values for “{name}”', { name })}</h1>
      ${own ? nothing : html`<p class="s q">${t('A server of {owner}.', { owner })}</p>`}
      ${isDone ? html`<div class="callout ok" role="status">${icon('circle-check')}<p>${t('You have entered your values. Enter them again to change them.')}</p></div>` : nothing}
      <p>${host === undefined ? t('Your own process of the program gets them, and nobody else sees them.') : t('They are sent to {host} with your calls, and nobody else sees them. Enter them only if you trust that host.', { host })}</p>
      ${bring.map(({ name: id, label, help }) => html`<div class="field"><label class="lbl" for=${`v-${id}`}>${label}</label><input id=${`v-${id}`} name=${id} class="in mono" type="password" required maxlength="8192" autocomplete="off" spellcheck="false" aria-describedby=${help === undefined ? nothing : `h-${id}`}>${help === undefined ? nothing : html`<p class="hint" id=${`h-${id}`}>${help}</p>`}</div>`)}
      ${this.error ? errorState(this.error) : nothing}
      <div class="row wrap end"><a class="btn big" href=${href(`/servers/${encodeURIComponent(place.server)}`)}>${t('To the server')}</a>
        <button type="submit" class="btn pri big" ?disabled=${this.busy}>${t('Save the values')}</button></div></form>`
  }

  async #enter(event: SubmitEvent, { server }: ConnectPlace, bring: readonly BroughtValue[]): Promise<void> {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const given = new FormData(form)
    this.busy = true
    this.error = undefined
    try {
      await connectionsApi.enter(server, Object.fromEntries(bring.map(({ name }) => [name, String(given.get(name))])))
      form.reset()
      await this.#place.reload()
    } catch (error) {
      this.error = asApiError(error)
    }
    this.busy = false
  }

  #who({ for: who }: ConnectPlace): unknown {
    const chosen = this.chosen ?? who
    const choice = (value: ConnectionFor, text: string): unknown =>
      html`<label class="chk"><input type="radio" name="who" value=${value} .checked=${chosen === value} ?disabled=${who === 'all' && value === 'self'} @change=${() => {
        this.chosen = value
      }}><span>${text}</span></label>`
    return html`<fieldset class="stack t"><legend class="lbl">${t('Who signs in?')}</legend>
      ${choice('self', t('Each user, with their own account there'))}
      ${choice('all', t('I do, and all users of the server act there with my account'))}</fieldset>`
  }

  #begin(event: SubmitEvent, place: ConnectPlace): Promise<void> {
    event.preventDefault()
    return this.#start(place)
  }

  readonly #ended = async (): Promise<void> => {
    await this.#place.reload()
    router.setQuery({ [FLOW]: undefined })
  }

  async #start({ server, for: who }: ConnectPlace): Promise<void> {
    this.busy = true
    this.error = undefined
    try {
      const { flow, authorizeUrl } = await connectionsApi.begin(server, this.chosen ?? who)
      if (authorizeUrl === undefined) router.setQuery({ [FLOW]: flow })
      else {
        underWay.set(this.#id)
        location.assign(authorizeUrl)
      }
    } catch (error) {
      this.error = asApiError(error)
    }
    this.busy = false
  }
}
customElements.define('pb-connect-server', PbConnectServer)

function cannot(error: ApiError): unknown {
  return html`<h1 tabindex="-1">${t('You cannot sign in here')}</h1>${errorState(error)}`
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-connect-server': PbConnectServer
  }
}
