import { html, nothing } from 'lit'
import { api, readRevised } from '../../api/client.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { router } from '../../app/router.ts'
import { savedElsewhere } from '../../components/conflict.ts'
import { PbElement } from '../../components/element.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { toast } from '../../components/layers/toast.ts'
import { mark } from '../../components/servers/status.ts'
import { errorState, errorText, ownWordsOf, show } from '../../components/states.ts'
import { formatCount } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { fieldText, type Problem, problemText } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'
import { settingLabel } from './labels.ts'

type Values = Readonly<Record<string, unknown>>

interface Source {
  readonly source: 'default' | 'file' | 'env' | 'store'
  readonly variable: string
  readonly locked: boolean
  readonly restart: boolean
  readonly pending: boolean
  readonly type: 'boolean' | 'choice' | 'list' | 'number' | 'bytes' | 'duration' | 'text'
  readonly choices?: readonly string[]
  /** The value as one would type it. */
  readonly text?: string
}

interface Settings {
  readonly values: Values
  /** Counts the changes; a change by another user in between makes the own one fail. */
  readonly revision: number
  readonly sources: Readonly<Record<string, Source>>
}

interface Sink {
  readonly id: string
  readonly state: string
  readonly waiting: number
  readonly sent: number
  readonly dropped: Readonly<Record<string, number>>
  /** Users or components whose records a full queue lost, most first. */
  readonly losses: readonly { readonly user?: string; readonly component?: string; readonly dropped: number }[]
  /** Reason why it accepts nothing now. */
  readonly reason?: Problem
}

interface Logging {
  readonly level: string
  readonly levels: readonly { readonly component?: string; readonly server?: string; readonly level: string }[]
  readonly sinks: readonly Sink[]
}

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const
const IS_LOG = /^log|^history|^request|^syslog|^search|^otel/

/** The settings of the hub, each with its source; settings of the environment are locked. */
export class PbSystemSettings extends PbElement {
  static override properties = {
    section: {},
    changes: { state: true },
    error: { state: true },
    busy: { state: true },
    q: { state: true },
  }
  declare section: string
  /** Values that were changed and not saved, as they were typed. */
  declare changes: Readonly<Record<string, unknown>>
  declare error: ApiError | undefined
  declare busy: boolean
  declare q: string
  #unguard: (() => void) | undefined
  /** The revision of the settings when the first value was changed. */
  #basis: number | undefined
  readonly #settings = new Resource<Settings>(this, {
    read: signal => readSettings(signal),
    topics: ['servers'],
    apply: event => (event.event === 'config.changed' ? 'stale' : 'same'),
  })
  readonly #logging = new Resource<Logging>(this, {
    key: () => (this.section === 'logs' ? 'read' : undefined),
    read: signal => api.get('/api/admin/logging', { signal }),
    everyMs: 5000,
  })

  constructor() {
    super()
    this.changes = {}
    this.q = ''
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#unguard?.()
  }

  override render(): unknown {
    return show(
      this.#settings,
      settings =>
        html`${this.section === 'raw' ? raw(settings) : this.#rows(settings)}${this.section === 'logs' ? show(this.#logging, logging => this.#sinks(logging)) : nothing}`,
    )
  }

  #rows(settings: Settings): unknown {
    const { values, sources } = settings
    const logs = this.section === 'logs'
    const keys = Object.keys(sources).filter(
      key => IS_LOG.test(key) === logs && `${key} ${settingLabel(key)}`.toLowerCase().includes(this.q.toLowerCase()),
    )
    const changed = Object.keys(this.changes).length
    return html`${this.error ? this.#problem(this.error, settings) : nothing}<section class="card"><div class="ch line"><h2>${logs ? t('Logs') : t('General')}</h2><div class="r"><div class="wrapin">${icon('search')}<input class="in" type="search" data-search placeholder=${t('Find a setting')} aria-label=${t('Find a setting')} @input=${(
      event: InputEvent,
    ) => {
      this.q = (event.target as HTMLInputElement).value
    }}></div></div></div>${keys.map(key => this.#row(key, values[key], sources[key]))}${
      changed === 0
        ? nothing
        : html`<div class="setfoot row"><span class="s">${plural(changed, '{n} change', '{n} changes')}</span><span class="push row"><button type="button" class="btn" @click=${() => this.#set({})}>${t('Discard')}</button><button type="button" class="btn pri" ?disabled=${this.busy || !live.reachable} @click=${() => void this.#save()}>${this.busy ? t('Saving') : t('Save')}</button></span></div>`
    }</section>`
  }

  #row(key: string, value: unknown, source: Source | undefined): unknown {
    if (!source) return nothing
    const mistake = this.error?.field(`#/${key}`)
    return html`<div class="setrow"><div><p class="med s" id="label-${key}">${settingLabel(key)}</p><p class="xs q">${mistake ? html`<span class="st-bad">${fieldText(mistake)}</span>` : hint(source)}</p></div>
      <div class="setv">${this.#field(key, key in this.changes ? this.changes[key] : value, source)}</div><div class="row wrap sets">${sourceTag(source)}${source.pending || key in this.changes ? html`<span class="tag warn">${icon('rotate-cw')}${t('Needs a restart')}</span>` : nothing}${
        source.source === 'store' && !source.locked
          ? html`<button type="button" class="btn ghost sm" @click=${() => this.#set({ ...this.changes, [key]: null })}>${t('Restore default')}</button>`
          : nothing
      }</div></div>`
  }

  #field(key: string, value: unknown, { locked, type, choices, text = '' }: Source): unknown {
    const set = (next: unknown): void => this.#set({ ...this.changes, [key]: next })
    const name = `label-${key}`
    if (type === 'boolean')
      return html`<input type="checkbox" class="sw" role="switch" aria-labelledby=${name} ?disabled=${locked} .checked=${value === true} @change=${(event: Event) => set((event.target as HTMLInputElement).checked)}>`
    if (type === 'choice')
      return html`<select class="in" aria-labelledby=${name} ?disabled=${locked} @change=${(event: Event) => set((event.target as HTMLSelectElement).value)}>${value === undefined ? html`<option value=""></option>` : nothing}${choices?.map(choice => html`<option translate="no" ?selected=${choice === value}>${choice}</option>`)}</select>`
    const shown = key in this.changes || type === 'list' ? textOf(value) : text
    return html`<input class="in code" aria-labelledby=${name} ?disabled=${locked} spellcheck="false" .value=${shown} @change=${(event: Event) => set(settingOf(type, (event.target as HTMLInputElement).value))}>`
  }

  #sinks({ level, sinks }: Logging): unknown {
    return html`<section class="card"><div class="ch line"><h2>${t('Level now')}</h2><div class="r"><select class="in" aria-label=${t('Level now')} @change=${(event: Event) => void this.#level((event.target as HTMLSelectElement).value)}>${LEVELS.map(each => html`<option translate="no" ?selected=${each === level}>${each}</option>`)}</select></div></div><div class="cb"><p class="hint">${t('Holds at once and until the next start.')}</p></div></section>
      <section class="card"><div class="ch line"><h2>${t('Sinks')}</h2></div><div class="tw"><table class="cards"><thead><tr><th scope="col">${t('Sink')}</th><th scope="col">${t('State')}</th><th scope="col" class="num">${t('Sent')}</th><th scope="col" class="num">${t('Waiting')}</th><th scope="col" class="num">${t('Dropped')}</th></tr></thead><tbody>${sinks.map(
        sink =>
          html`<tr><td><span class="nm">${sink.id}</span>${sink.reason ? html`<span class="cellsub wrapx st-bad">${problemText(sink.reason)}</span>${ownWordsOf(sink.reason)}` : nothing}</td><td>${sink.state === 'up' ? mark('ok', 'circle-check', t('Up')) : mark('bad', 'circle-x', t('Failing'))}</td><td class="num" data-l=${t('Sent')}>${formatCount(sink.sent)}</td><td class="num" data-l=${t('Waiting')}>${formatCount(sink.waiting)}</td><td class="num" data-l=${t('Dropped')}>${formatCount(Object.values(sink.dropped).reduce((sum, one) => sum + one, 0))}${lossesOf(sink)}</td></tr>`,
      )}</tbody></table></div></section>`
  }

  #set(changes: Readonly<Record<string, unknown>>): void {
    // Reading the settings again during an edit must not hide that another user changed them.
    if (Object.keys(changes).length === 0) this.#basis = undefined
    else this.#basis ??= this.#settings.data?.revision
    this.changes = changes
    this.error = undefined
    this.#unguard?.()
    this.#unguard =
      Object.keys(changes).length === 0
        ? undefined
        : router.guard(() =>
            confirmed({
              title: t('Leave without saving?'),
              text: t('The changed settings are lost.'),
              action: t('Leave'),
              danger: false,
            }),
          )
  }

  async #save(): Promise<void> {
    this.busy = true
    try {
      await api.patch('/api/admin/settings', {
        body: this.changes,
        revision: this.#basis ?? this.#settings.data?.revision,
      })
      this.#set({})
      toast(t('Saved. What needs a restart counts from the next start of the hub.'))
      await this.#settings.reload()
    } catch (error) {
      const problem = asApiError(error)
      // The values that another user saved are shown beside the entered ones.
      if (problem.code === 'version_conflict') await this.#settings.reload()
      this.error = problem
      await this.updateComplete
      // The button is below a long list, and the error is shown at its top.
      this.querySelector('[role="alert"]')?.scrollIntoView({ block: 'center' })
    }
    this.busy = false
  }

  #problem(error: ApiError, { values, revision }: Settings): unknown {
    if (error.code !== 'version_conflict') return errorState(error)
    const mine = this.changes
    return savedElsewhere({
      ...{ refusal: error, mine, theirs: Object.fromEntries(Object.keys(mine).map(key => [key, values[key]])) },
      takeTheirs: () => this.#set({}),
      keepMine: () => {
        this.#basis = revision
        void this.#save()
      },
    })
  }

  async #level(level: string): Promise<void> {
    try {
      await api.patch('/api/admin/logging', { body: { level } })
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
    await this.#logging.reload()
  }
}
customElements.define('pb-system-settings', PbSystemSettings)

async function readSettings(signal: AbortSignal): Promise<Settings> {
  const [{ body: values, revision }, sources] = await Promise.all([
    readRevised<Values>('/api/admin/settings', signal),
    api.get<Settings['sources']>('/api/admin/settings/sources', { signal }),
  ])
  return { values, sources, revision }
}

function raw({ values }: Settings): unknown {
  const text = JSON.stringify(values, null, 2)
  return html`<section class="card"><div class="ch line"><h2>${t('All as JSON')}</h2></div><div class="cb padt"><pre class="code" tabindex="0">${text}</pre><p class="hint">${t('Secrets are never among them.')}</p></div></section>`
}

function hint({ source, variable, locked }: Source): string {
  if (source === 'env') return t('Locked: {variable} is set in the environment.', { variable })
  return locked ? t('Set by {variable} in the environment alone.', { variable }) : variable
}

function sourceTag({ source, locked }: Source): unknown {
  if (source === 'env') return html`<span class="tag line">${icon('lock')}${t('Environment')}</span>`
  if (source === 'file') return html`<span class="tag line">${icon('file-json')}${t('File')}</span>`
  if (source === 'store') return html`<span class="tag acc">${t('Set here')}</span>`
  return html`<span class="tag line">${locked ? icon('lock') : nothing}${t('Default')}</span>`
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return Array.isArray(value) ? value.join(', ') : String(value)
}

function settingOf(type: Source['type'], text: string): unknown {
  if (text.trim() === '') return null
  if (type === 'list')
    return text
      .split(',')
      .map(one => one.trim())
      .filter(one => one !== '')
  return type === 'number' && /^\d+$/.test(text.trim()) ? Number(text) : text.trim()
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-system-settings': PbSystemSettings
  }
}

/** Users or components that lost records because the queue was full. */
function lossesOf({ losses }: Sink) {
  if (losses.length === 0) return nothing
  const who = losses
    .slice(0, 3)
    .map(({ user, component = '', dropped }) => `${user ?? component} ${formatCount(dropped)}`)
  return html`<span class="cellsub wrapx">${t('Most by {who}', { who: who.join(', ') })}</span>`
}
