import { html, nothing } from 'lit'
import { type AssistantBridge, assistantApi, type Endpoint, type EndpointBody } from '../../api/assistant.ts'
import type { Page } from '../../api/client.ts'
import { asApiError } from '../../api/problem.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { router } from '../../app/router.ts'
import { copyText } from '../../components/copy.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { dialog, hide } from '../../components/layers/layer.ts'
import type { MenuItem } from '../../components/layers/menu.ts'
import { toast } from '../../components/layers/toast.ts'
import { PbPage } from '../../components/page.ts'
import { errorText, show } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import './add.ts'
import { bridgeCard } from './bridge.ts'
import { endpointCard } from './card.ts'
import './detail.ts'
import { type Tested, testDialog } from './test.ts'

/** Endpoints of voice and other assistants. */
class PbPageAssistant extends PbPage {
  static override properties = {
    ...PbPage.properties,
    fresh: { state: true },
    pasting: { state: true },
    tested: { state: true },
  }
  /** An inbound endpoint whose new token is shown. */
  declare fresh: Endpoint | undefined
  /** The endpoint whose address is being replaced. */
  declare pasting: Endpoint | undefined
  declare tested: Tested | undefined
  #timer: ReturnType<typeof setInterval> | undefined
  #release: (() => void) | undefined
  readonly #endpoints = new Resource<Page<Endpoint>>(this, {
    topics: ['servers'],
    everyMs: 5000,
    read: signal => assistantApi.list(signal),
    apply: ({ event }) => (event === 'assistant.state' ? 'stale' : 'same'),
  })

  readonly #bridge = new Resource<AssistantBridge>(this, { read: signal => assistantApi.bridge(signal) })

  override connectedCallback(): void {
    super.connectedCallback()
    this.#timer = setInterval(() => {
      if (this.#endpoints.data?.items.some(({ status }) => status.nextTryAt !== undefined)) this.requestUpdate()
    }, 1000)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    clearInterval(this.#timer)
    this.#release?.()
  }

  override crumbs() {
    return [{ label: t('Assistant') }]
  }

  override content() {
    return html`<p class="lede">${t('Your platform gives you an address; the hub stays connected to it and offers one group’s tools.')}</p>${this.fresh?.token ? this.#token(this.fresh) : nothing}
      <pb-assistant-add @pb-made=${(event: CustomEvent<Endpoint>) => this.#made(event.detail)}></pb-assistant-add>${show(this.#endpoints, ({ items }) => this.#list(items))}${this.#bridge.data ? bridgeCard(this.#bridge.data) : nothing}${this.#pasteDialog()}${testDialog(
        this.tested,
        () => this.tested && void this.#test(this.tested.endpoint),
        () => {
          this.tested = undefined
        },
      )}`
  }

  #list(items: readonly Endpoint[]) {
    if (items.length === 0) return html`<p class="s q">${t('No endpoints yet.')}</p>`
    const open = items.find(({ ref }) => ref === this.params.ref) ?? items[0]
    return html`<ul class="grid2 eps">${items.map(endpoint => endpointCard(endpoint, this.#acts, endpoint === open && items.length > 1))}</ul>${
      open
        ? html`<pb-assistant-detail .endpoint=${open} @pb-changed=${(event: CustomEvent<Endpoint>) => this.#saved(open, event.detail)}></pb-assistant-detail>`
        : nothing
    }`
  }

  readonly #acts = {
    switch: (endpoint: Endpoint, enabled: boolean) => this.#change(endpoint, { enabled }),
    pasteToken: (endpoint: Endpoint) => {
      this.pasting = endpoint
    },
    items: (endpoint: Endpoint): readonly MenuItem[] => this.#items(endpoint),
  }

  #items(endpoint: Endpoint): readonly MenuItem[] {
    const { ref, direction, origin } = endpoint
    const disabled = !live.reachable
    const act = (work: () => Promise<unknown>, done: string) => (): void => void this.#do(work, done)
    return [
      {
        label: t('Reconnect'),
        icon: 'refresh-cw',
        disabled,
        action: act(() => assistantApi.reconnect(ref), t('Dials again')),
      },
      { label: t('Test'), icon: 'flask-conical', disabled, action: () => void this.#test(endpoint) },
      ...(origin === 'file'
        ? []
        : [
            direction === 'inbound'
              ? { label: t('New token'), icon: 'key-round', disabled, action: () => void this.#newToken(endpoint) }
              : {
                  label: t('Paste a new address'),
                  icon: 'clipboard',
                  disabled,
                  action: () => this.#acts.pasteToken(endpoint),
                },
            { label: t('Delete'), icon: 'trash-2', danger: true, disabled, action: () => void this.#delete(endpoint) },
          ]),
    ]
  }

  #token({ name, token = '' }: Endpoint) {
    const url = this.#bridge.data?.socket ?? `${location.origin.replace(/^http/, 'ws')}/api/assistant/ws`
    return html`<section class="card keynew" aria-labelledby="tn" role="status"><div class="ch"><h2 id="tn">${icon('key-round')}${t('Token of {name}', { name })}</h2><div class="r"><span class="tag warn">${icon('eye-off')}${t('Shown once')}</span></div></div>
      <div class="cb stack"><div class="keyline"><code class="keytext">${token}</code><button type="button" class="btn pri" @click=${() => void this.#copy(token)}>${icon('copy')}${t('Copy')}</button></div>
      <p class="s q">${t('The device dials')} <span class="mono">${url}</span> ${t('and sends the token as Authorization: Bearer.')}</p>
      <div class="row wrap"><span class="push"><button type="button" class="btn" @click=${this.#stored}>${icon('check')}${t('I have stored it')}</button></span></div></div></section>`
  }

  #pasteDialog() {
    const endpoint = this.pasting
    const submit = async (event: SubmitEvent): Promise<void> => {
      event.preventDefault()
      const form = event.target as HTMLFormElement
      const url = String(new FormData(form).get('url') ?? '').trim()
      if (!endpoint || !(await this.#change(endpoint, { url }, t('Address replaced')))) return
      hide({ currentTarget: form } as unknown as Event)
    }
    return dialog({
      open: endpoint !== undefined,
      title: t('Paste a new address'),
      body: html`<form id="paste-form" @submit=${submit}><div class="field"><label for="paste-url">${t('Address of {name}', { name: endpoint?.name ?? '' })}</label><input id="paste-url" name="url" type="password" class="in code" required autocomplete="off" placeholder="wss://…"><p class="hint">${t('Hidden while you paste. The hub dials it at once.')}</p></div></form>`,
      foot: html`<button type="button" class="btn push" @click=${hide}>${t('Cancel')}</button><button type="submit" form="paste-form" class="btn pri">${t('Replace address')}</button>`,
      onClose: () => {
        this.pasting = undefined
      },
    })
  }

  /** An endpoint with another name has another address. */
  #saved(before: Endpoint, { ref }: Endpoint): void {
    if (this.params.ref === before.ref && ref !== before.ref) void router.go(`/assistant/${encodeURIComponent(ref)}`)
    void this.#endpoints.reload()
  }

  #made(endpoint: Endpoint): void {
    void this.#endpoints.reload()
    if (endpoint.token === undefined) return toast(t('Endpoint {name} added', { name: endpoint.name }))
    this.fresh = endpoint
    this.#release?.()
    this.#release = router.guard(() =>
      confirmed({
        title: t('Have you stored the token?'),
        text: t('When you leave, the hub can no longer show it.'),
        action: t('Leave'),
      }),
    )
  }

  readonly #stored = (): void => {
    this.fresh = undefined
    this.#release?.()
    this.#release = undefined
  }

  async #copy(token: string): Promise<void> {
    toast(
      (await copyText(token)) ? t('Copied') : t('This browser lets nothing be copied here. Select the text instead.'),
    )
  }

  async #change(endpoint: Endpoint, body: EndpointBody, done?: string): Promise<boolean> {
    return this.#do(() => assistantApi.patch(endpoint.ref, body, endpoint.revision), done)
  }

  async #newToken(endpoint: Endpoint): Promise<void> {
    const { name } = endpoint
    const text = t('The old token opens nothing from then on; the device needs the new one.')
    if (!(await confirmed({ title: t('New token for {name}?', { name }), text, action: t('Make new token') }))) return
    try {
      this.#made({ ...endpoint, ...(await assistantApi.token(endpoint.ref)) })
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
  }

  async #test(endpoint: Endpoint): Promise<void> {
    this.tested = { endpoint }
    const result = await assistantApi.test(endpoint.ref).then(
      report => ({ report }),
      (error: unknown) => ({ error: asApiError(error) }),
    )
    // Unless the dialog was closed meanwhile.
    if (this.tested?.endpoint === endpoint) this.tested = { endpoint, ...result }
  }

  async #delete({ ref, name }: Endpoint): Promise<void> {
    const text = t('The assistant loses its tools at once, and the token is gone.')
    const question = { title: t('Delete endpoint {name}?', { name }), text, action: t('Delete endpoint'), typed: name }
    if (await confirmed(question))
      await this.#do(() => assistantApi.delete(ref), t('Endpoint {name} deleted', { name }))
  }

  async #do(work: () => Promise<unknown>, done?: string): Promise<boolean> {
    try {
      await work()
      if (done !== undefined) toast(done)
      await this.#endpoints.reload()
      return true
    } catch (error) {
      const failed = asApiError(error)
      toast(`${errorText(failed)} (${failed.code})`)
      await this.#endpoints.reload()
      return false
    }
  }
}
customElements.define('pb-page-assistant', PbPageAssistant)
