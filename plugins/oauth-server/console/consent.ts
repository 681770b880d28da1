import { html, nothing } from 'lit'
import {
  type ApiError,
  asApiError,
  errorState,
  errorText,
  gate,
  icon,
  PbElement,
  Resource,
  router,
  session,
  skeleton,
  t,
} from 'patchbay/console'
import { type ConsentRequest, type GrantScope, type GrantTarget, oauthApi } from './api.ts'

/** Asks the signed-in person whether a client may use the hub, and leads back to the client with the answer. */
export class PbConsent extends PbElement {
  static override properties = {
    busy: { state: true },
    done: { state: true },
    error: { state: true },
    calls: { state: true },
    chosen: { state: true },
  }
  declare busy: boolean
  /** True when the answer is on its way to the client. */
  declare done: boolean
  declare error: ApiError | undefined
  /** False when the person has unticked calls of tools. */
  declare calls: boolean | undefined
  /** Number of the chosen target. */
  declare chosen: number | undefined
  readonly #request = new Resource<ConsentRequest>(this, {
    read: signal => oauthApi.request(this.#sealed, signal),
    key: () => this.#sealed,
  })

  get #sealed(): string {
    return router.place.query.get('request') ?? '-'
  }

  override render(): unknown {
    document.title = `${t('Connect an app')} · Patchbay`
    const { data, error } = this.#request
    const content = data ? this.#form(data) : error ? problem(error) : skeleton(4)
    return gate(html`<section class="card gcard">${content}</section>${this.#who()}`)
  }

  #who(): unknown {
    const name = session.user?.name ?? ''
    return html`<p class="xs q gfoot">${t('Signed in as {name}.', { name })} <button type="button" class="btn ghost sm" @click=${() => void session.signOut()}>${t('Sign in as somebody else')}</button></p>`
  }

  #form(request: ConsentRequest): unknown {
    const { client, redirectHost, anyProgram, resource } = request
    if (this.done) {
      return html`<h1 tabindex="-1">${t('Back to {name}', { name: client.name })}</h1><p role="status">${t('You can close this window if the app does not do it.')}</p>`
    }
    return html`<form class="stack l" @submit=${(event: SubmitEvent) => this.#decide(event, request)}>
      <h1>${t('Let “{name}” use this hub?', { name: client.name })}</h1>
      <dl class="kv">${client.host === undefined ? nothing : html`<dt>${t('The app is of')}</dt><dd class="mono">${client.host}</dd>`}
        <dt>${t('The answer goes to')}</dt><dd class="mono">${redirectHost}</dd>
        <dt>${t('It opens')}</dt><dd class="mono">${resource}</dd></dl>
      ${anyProgram ? html`<div class="callout warn">${icon('triangle-alert')}<p>${t('Any program can use this name. Go on only if you have just begun this yourself.')}</p></div>` : nothing}
      ${this.#targets(request.targets)}${this.#scopes(request.scopes)}
      ${this.error ? html`<div class="callout bad" role="alert">${icon('circle-x')}<p>${errorText(this.error)}</p></div>` : nothing}
      <div class="row wrap end"><button type="submit" name="answer" value="refuse" class="btn big" ?disabled=${this.busy}>${t('Refuse')}</button>
        <button type="submit" name="answer" value="allow" class="btn pri big" ?disabled=${this.busy}>${t('Allow')}</button></div></form>`
  }

  #targets(targets: readonly GrantTarget[]): unknown {
    if (targets.length < 2) return html`<p>${t('Servers: {what}', { what: targets.map(targetText).join() })}</p>`
    return html`<div class="field"><label class="lbl" for="target">${t('Which servers may it use?')}</label><select id="target" class="in big" @change=${(
      event: Event,
    ) => {
      this.chosen = Number((event.target as HTMLSelectElement).value)
    }}>${targets.map((target, at) => html`<option value=${at} ?selected=${at === (this.chosen ?? 0)}>${targetText(target)}</option>`)}</select></div>`
  }

  #scopes(scopes: readonly GrantScope[]): unknown {
    return html`<fieldset class="stack t"><legend class="lbl">${t('It may')}</legend>
      <label class="chk"><input type="checkbox" checked disabled><span>${t('see tools, prompts and resources, and read them')}</span></label>
      ${
        scopes.includes('mcp:tools')
          ? html`<label class="chk"><input type="checkbox" id="calls" .checked=${this.calls ?? true} @change=${(
              event: Event,
            ) => {
              this.calls = (event.target as HTMLInputElement).checked
            }}><span>${t('call tools as you')}</span></label>`
          : nothing
      }</fieldset>`
  }

  async #decide(event: SubmitEvent, { scopes, targets }: ConsentRequest): Promise<void> {
    event.preventDefault()
    const allow = (event.submitter as HTMLButtonElement | null)?.value === 'allow'
    const wanted: readonly GrantScope[] = this.calls === false ? ['mcp:read'] : scopes
    const { kind, id } = targets[this.chosen ?? 0] ?? { kind: 'all' as const }
    this.busy = true
    this.error = undefined
    try {
      const target = { kind, ...(id === undefined ? {} : { id }) }
      const answer = await oauthApi.decide(this.#sealed, { allow, ...(allow ? { scopes: wanted, target } : {}) })
      this.done = true
      location.assign(answer.redirect)
    } catch (error) {
      this.error = asApiError(error)
    }
    this.busy = false
  }
}
customElements.define('pb-consent', PbConsent)

/** The servers that a client may use, in words. */
export function targetText({ kind, name }: GrantTarget): string {
  if (kind === 'all') return t('all my servers')
  if (name === undefined) return t('something that you cannot see any more')
  return kind === 'group' ? t('group {name}', { name }) : t('server {name}', { name })
}

function problem(error: ApiError): unknown {
  return html`<h1>${t('This app cannot be connected')}</h1>${errorState(error)}<p class="s q">${t('Nothing was sent to the app. Close this window and begin again in the app.')}</p>`
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-consent': PbConsent
  }
}
