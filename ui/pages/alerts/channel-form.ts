import { html, nothing } from 'lit'
import { alertsApi, type Channel, type ChannelBody, type ChannelType, type Delivery } from '../../api/alerts.ts'
import type { Page } from '../../api/client.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { live } from '../../app/live.ts'
import { titleOf } from '../../app/plugin-pages.ts'
import { Resource } from '../../app/resource.ts'
import { router } from '../../app/router.ts'
import { savedElsewhere } from '../../components/conflict.ts'
import { PbElement } from '../../components/element.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { limitedNote } from '../../components/limited-note.ts'
import { errorState, show, skeleton } from '../../components/states.ts'
import '../../components/time.ts'
import { toast } from '../../components/layers/toast.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { attempt } from './attempt.ts'
import { configFields, withValue } from './channel-fields.ts'
import { deliveryMark, kindText, outcomeText, outcomeWords } from './words.ts'

/**
 * The form of one channel, and what went to it.
 *
 * @fires pb-changed - when the channel was written
 */
export class PbChannelForm extends PbElement {
  static override properties = { ref: {}, body: { state: true }, error: { state: true }, busy: { state: true } }
  /** `new`, or the channel's reference. */
  declare ref: string
  declare body: ChannelBody | undefined
  declare error: ApiError | undefined
  declare busy: 'save' | 'test' | undefined
  readonly #types = new Resource<Page<ChannelType>>(this, { read: signal => alertsApi.channelTypes(signal) })
  readonly #channel = new Resource<Channel>(this, {
    key: () => (this.ref === 'new' ? undefined : this.ref),
    read: signal => alertsApi.channel(this.ref, signal),
  })
  readonly #deliveries = new Resource<Page<Delivery>>(this, {
    key: () => (this.ref === 'new' ? undefined : this.ref),
    topics: ['alerts'],
    everyMs: 5000,
    read: signal => alertsApi.deliveries(this.ref, 100, signal),
  })

  get #present(): ChannelBody | undefined {
    if (this.body) return this.body
    if (this.ref === 'new') return { name: '', type: this.#types.data?.items[0]?.type ?? 'webhook', config: {} }
    const channel = this.#channel.data
    return (
      channel && { name: channel.name, type: channel.type, enabled: channel.enabled ?? true, config: channel.config }
    )
  }

  override render(): unknown {
    const body = this.#present
    const types = this.#types.data?.items
    const failed = this.#channel.error ?? this.#types.error
    if (!body || !types) return failed ? errorState(failed, () => void this.#channel.reload()) : skeleton()
    const isFile = this.#channel.data?.origin === 'file'
    return html`${isFile ? html`<div class="callout acc">${icon('lock')}<p>${t('This channel is in the settings file and is changed there.')}</p></div>` : nothing}${limitedNote(this.#channel.data, t('Enter its secrets again and save it to give it yours.'))}${
      this.error ? this.#problem(this.error, body) : nothing
    }<form class="card pad stack l formw" @submit=${this.#save}>
      <div class="form2"><div class="field"><label for="ch-name">${t('Name')}</label><input id="ch-name" class="in" required maxlength="64" autocomplete="off" .value=${body.name} ?disabled=${isFile} @input=${(event: Event) => this.#set({ name: (event.target as HTMLInputElement).value })}></div>
      <div class="field"><label for="ch-type">${t('Kind')}</label><select id="ch-type" class="in" ?disabled=${isFile || this.ref !== 'new'} @change=${(event: Event) => this.#set({ type: (event.target as HTMLSelectElement).value, config: {} })}>${types.map(
        ({ type: id, label, labels }) =>
          html`<option value=${id} ?selected=${id === body.type}>${labels ? titleOf({ title: labels }) : label}</option>`,
      )}</select></div></div>
      ${this.#config(body, types, isFile)}${this.ref === 'new' ? nothing : html`<label class="chk"><input type="checkbox" .checked=${body.enabled ?? true} ?disabled=${isFile} @change=${(event: Event) => this.#set({ enabled: (event.target as HTMLInputElement).checked })}><span>${t('On')}</span></label>`}
      <div class="row wrap">${
        this.ref === 'new' || isFile
          ? nothing
          : html`<button type="button" class="btn bad" ?disabled=${!live.reachable} @click=${() => void this.#delete()}>${t('Delete channel')}</button>`
      }<span class="push row">${this.#testButton()}<button type="submit" class="btn pri" ?disabled=${isFile || !live.reachable || this.busy === 'save'}>${this.busy === 'save' ? t('Saving') : t('Save channel')}</button></span></div></form>${
        this.ref === 'new' ? nothing : this.#sent()
      }`
  }

  #problem(error: ApiError, mine: ChannelBody): unknown {
    const theirs = this.#channel.data
    if (error.code !== 'version_conflict' || !theirs) return errorState(error)
    const { name, type, enabled = true, config } = theirs
    const takeTheirs = (): void => {
      this.body = undefined
      this.error = undefined
    }
    return savedElsewhere({
      ...{ refusal: error, theirs: { name, type, enabled, config }, mine: { ...mine }, secret: ['config'], takeTheirs },
      keepMine: () => void this.#write(),
    })
  }

  #config({ type: id, config }: ChannelBody, types: readonly ChannelType[], disabled: boolean): unknown {
    const type = types.find(one => one.type === id)
    if (!type)
      return html`<p class="s q">${t('The plugin of this kind is not running: its fields cannot be shown.')}</p>`
    const change = (path: readonly string[], value: unknown): void =>
      this.#set({ config: withValue(config, path, value) })
    const { configSchema: schema, withheld } = type
    return configFields({ schema, config, path: [], withheld, disabled, error: this.error, change })
  }

  #testButton(): unknown {
    if (this.ref === 'new') return nothing
    const unsaved = this.body !== undefined
    return html`<button type="button" class="btn" ?disabled=${unsaved || !live.reachable || this.busy === 'test'} title=${unsaved ? t('Save the channel first') : nothing} @click=${() => void this.#test()}>${icon('send')}${t('Send test')}</button>`
  }

  #sent(): unknown {
    return html`<section class="card"><div class="ch"><h2>${t('Deliveries')}</h2></div>${show(
      this.#deliveries,
      ({ items, total }) =>
        items.length === 0
          ? html`<div class="cb"><p class="s q">${t('Nothing was sent yet.')}</p></div>`
          : html`<ul class="list">${items.map(delivery => this.#delivery(delivery))}</ul>${total > items.length ? html`<div class="tf">${t('First {n} of {total}', { n: items.length, total })}</div>` : nothing}`,
    )}</section>`
  }

  #delivery(delivery: Delivery): unknown {
    const { id, kind, state, attempts, updatedAt } = delivery
    return html`<li><div class="tx"><span class="t1">${kind === 'test' ? html`<span class="tag acc">${icon('flask-conical')}${t('TEST')}</span>` : kindText(kind)} ${deliveryMark(delivery)}</span><p class="t2 wrapx">${outcomeText(delivery)}${attempts > 1 ? html` · ${t('{n} attempts', { n: attempts })}` : nothing} · <pb-time .at=${updatedAt}></pb-time></p>${outcomeWords(delivery)}</div>${
      state === 'sent' || state === 'waiting'
        ? nothing
        : html`<button type="button" class="btn sm" ?disabled=${!live.reachable} @click=${() => void this.#retry(id)}>${t('Send again')}</button>`
    }</li>`
  }

  #set(changes: Partial<ChannelBody>): void {
    const present = this.#present
    if (present) this.body = { ...present, ...changes }
  }

  readonly #save = (event: SubmitEvent): void => {
    event.preventDefault()
    void this.#write()
  }

  async #write(): Promise<void> {
    const body = this.#present
    if (!body) return
    this.busy = 'save'
    try {
      const before = this.#channel.data
      const written = before
        ? await alertsApi.replaceChannel(this.ref, body, before.revision)
        : await alertsApi.createChannel(body)
      this.body = undefined
      this.error = undefined
      this.dispatchEvent(new CustomEvent('pb-changed'))
      toast(t('Channel {name} saved', { name: written.name }))
      if (written.ref === this.ref) this.#channel.set(written)
      else await router.go(`/alerts/channels/${encodeURIComponent(written.ref)}`, { replace: true })
    } catch (error) {
      const failed = asApiError(error)
      if (failed.code === 'version_conflict') await this.#channel.reload()
      this.error = failed
    }
    this.busy = undefined
  }

  async #test(): Promise<void> {
    this.busy = 'test'
    const outcome = await attempt(() => alertsApi.testChannel(this.ref))
    this.busy = undefined
    if (outcome)
      toast(
        outcome.ok
          ? t('Test delivered: {detail}', { detail: outcome.detail })
          : t('Test failed: {detail}', { detail: outcomeText(outcome) }),
      )
    await this.#deliveries.reload()
  }

  async #retry(id: string): Promise<void> {
    await attempt(() => alertsApi.retry(this.ref, id), t('It waits to be sent'))
    await this.#deliveries.reload()
  }

  async #delete(): Promise<void> {
    const name = this.#channel.data?.name ?? ''
    const question = { title: t('Delete channel {name}?', { name }), action: t('Delete channel'), typed: name }
    if (
      !(await confirmed({
        ...question,
        text: t('Its secrets and the list of its deliveries are lost; rules that name only it tell nobody.'),
      }))
    )
      return
    if ((await attempt(() => alertsApi.deleteChannel(this.ref).then(() => true))) !== true) return
    this.dispatchEvent(new CustomEvent('pb-changed'))
    await router.go('/alerts?tab=channels')
  }
}
customElements.define('pb-channel-form', PbChannelForm)

declare global {
  interface HTMLElementTagNameMap {
    'pb-channel-form': PbChannelForm
  }
}
