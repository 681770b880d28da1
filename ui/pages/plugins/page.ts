import { html, nothing } from 'lit'
import { api, type Page, segment } from '../../api/client.ts'
import { asApiError } from '../../api/problem.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { drawer, hide } from '../../components/layers/layer.ts'
import { toast } from '../../components/layers/toast.ts'
import type { Column } from '../../components/lists/table.ts'
import { hasLogs, logLink } from '../../components/log-link.ts'
import { type Crumb, PbPage } from '../../components/page.ts'
import { mark } from '../../components/servers/status.ts'
import { errorText, ownWordsOf, show } from '../../components/states.ts'
import { formatBytes, formatCount } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { problemText } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'
import type { Plugin } from './plugin.ts'
import '../../components/switch.ts'
import '../../components/lists/table.ts'
import '../../components/time.ts'
import './config.ts'

/** The plugins of the hub: their state and contributions; they are switched and configured without a restart. */
export class PbPagePlugins extends PbPage {
  readonly #plugins = new Resource<Page<Plugin>>(this, {
    read: signal => api.get('/api/admin/plugins', { query: { limit: 1000 }, signal }),
    topics: ['servers'],
    apply: ({ event }) => (event.startsWith('plugin.') ? 'stale' : 'same'),
  })

  override crumbs(): readonly Crumb[] {
    return [{ label: t('Plugins') }]
  }

  override content(): unknown {
    return html`${show(this.#plugins, page => this.#list(page.items))}${this.#details()}`
  }

  #list(plugins: readonly Plugin[]): unknown {
    const q = (this.view('q') ?? '').toLowerCase()
    const shown = plugins
      .filter(({ name, contributions }) => `${name} ${contributions.join(' ')}`.toLowerCase().includes(q))
      .sort((left, right) => rank(left) - rank(right))
    const columns: readonly Column<Plugin>[] = [
      {
        id: 'name',
        head: t('Plugin'),
        cell: plugin => html`<span class="nm">${plugin.name}</span>${shortFailure(plugin)}`,
      },
      { id: 'state', head: t('State'), cell: stateMark },
      {
        id: 'kind',
        head: t('Kind'),
        class: 'x',
        cell: plugin =>
          html`<span class="nw">${plugin.isolated ? t('in a worker of its own') : plugin.bundled ? t('bundled') : t('added')}</span>`,
      },
      {
        id: 'gives',
        head: t('Contributes'),
        class: 'full',
        cell: plugin => html`<span class="q xs">${plugin.contributions.join(', ') || '–'}</span>`,
      },
      {
        id: 'on',
        head: t('On'),
        class: 'end',
        cell: plugin =>
          html`<pb-switch .label=${t('{name} on', { name: plugin.name })} .isOn=${plugin.state !== 'disabled'} .disabled=${!live.reachable} .set=${(enabled: boolean) => this.#switch(plugin.name, enabled)}></pb-switch>`,
      },
    ]
    return html`<div class="filters"><div class="wrapin">${icon('search')}<input class="in" type="search" data-search placeholder=${t('Name or point')} aria-label=${t('Name or point')} .value=${this.view('q') ?? ''} @input=${(event: InputEvent) => this.setView({ q: (event.target as HTMLInputElement).value })}></div></div>
      <pb-table .label=${t('Plugins')} .rows=${shown} .columns=${columns} .keyOf=${(plugin: Plugin) => plugin.name} @pb-open=${(event: CustomEvent<Plugin>) => this.setView({ plugin: event.detail.name }, { push: true })}></pb-table>`
  }

  #details(): unknown {
    const name = this.view('plugin')
    const plugin = this.#plugins.data?.items.find(each => each.name === name)
    return drawer({
      open: plugin !== undefined,
      title: name ?? '',
      onClose: () => this.setView({ plugin: undefined }),
      body: plugin
        ? html`<div class="stack l">${facts(plugin)}${failure(plugin)}<pb-plugin-config .plugin=${plugin} @pb-saved=${() => void this.#plugins.reload()}></pb-plugin-config></div>`
        : nothing,
      foot: html`<button type="button" class="btn push" @click=${hide}>${t('Close')}</button>${
        plugin?.configurable === false
          ? nothing
          : html`<button class="btn pri" form="plugin-config" ?disabled=${!live.reachable}>${t('Save')}</button>`
      }`,
    })
  }

  async #switch(name: string, enabled: boolean): Promise<boolean> {
    let isTaken = true
    try {
      await api.patch(`/api/admin/plugins/${segment(name)}`, { body: { enabled } })
    } catch (error) {
      isTaken = false
      toast(errorText(asApiError(error)))
    }
    void this.#plugins.reload()
    return isTaken
  }
}
customElements.define('pb-page-plugins', PbPagePlugins)

function rank({ state }: Plugin): number {
  return { failed: 0, stopped: 1, running: 2, disabled: 3 }[state]
}

function stateMark({ state }: Plugin): unknown {
  if (state === 'running') return mark('ok', 'circle-check', t('Runs'))
  if (state === 'failed') return mark('bad', 'circle-x', t('Failed'))
  return mark('rest', 'circle-minus', state === 'disabled' ? t('Switched off') : t('Stopped'))
}

/** Facts about the plugin, its users, and a link to its log. */
function facts(plugin: Plugin): unknown {
  const { name, version, isolated, starts, startedAt, heapBytes, contributions, middleware, usedBy, sha256 } = plugin
  return html`<dl class="kv"><dt>${t('State')}</dt><dd>${stateMark(plugin)}</dd>
    <dt>${t('Version')}</dt><dd>${version ?? '–'}</dd>
    ${startedAt ? html`<dt>${t('Started')}</dt><dd><pb-time .at=${startedAt}></pb-time></dd>` : nothing}
    ${isolated ? html`<dt>${t('Memory of its worker')}</dt><dd>${heapBytes === undefined ? '–' : formatBytes(heapBytes)}</dd>` : nothing}
    <dt>${t('Restarts')}</dt><dd>${formatCount(Math.max(0, starts - 1))}</dd>
    <dt>${t('Contributes')}</dt><dd>${contributions.join(', ') || '–'}</dd>
    <dt>${t('Used by')}</dt><dd>${usedBy ? dependents(usedBy) : t('nothing')}</dd>
    ${middleware ? middlewareFacts(middleware) : nothing}
    ${sha256 ? html`<dt>SHA-256</dt><dd><code class="wrapx">${sha256}</code></dd>` : nothing}
    ${hasLogs() ? html`<dt>${t('Log')}</dt><dd>${logLink({ q: `component:"plugin:${name}"` }, t('Its log lines'))}</dd>` : nothing}</dl>`
}

/** Requests that its middlewares ended, and their last failure. */
function middlewareFacts({ refused, failed, skipped, lastFailure }: NonNullable<Plugin['middleware']>): unknown {
  return html`<dt>${t('Requests refused or answered by it')}</dt><dd>${formatCount(refused)}</dd>
    <dt>${t('Requests refused since it failed')}</dt><dd>${formatCount(failed)}</dd>
    <dt>${t('Requests that skipped it since it failed')}</dt><dd>${formatCount(skipped)}</dd>
    ${
      lastFailure
        ? html`<dt>${t('Last failure')}</dt><dd><pb-time .at=${lastFailure.at}></pb-time> <code class="wrapx">${lastFailure.contribution}: ${lastFailure.message}</code></dd>`
        : nothing
    }`
}

function dependents({ servers, serversTotal, channels }: NonNullable<Plugin['usedBy']>): unknown {
  const named = servers.length < serversTotal ? `${servers.join(', ')} …` : servers.join(', ')
  return html`${serversTotal > 0 ? html`<span title=${named}>${plural(serversTotal, '{n} server', '{n} servers')}</span>` : nothing}
    ${channels > 0 ? plural(channels, '{n} alert channel', '{n} alert channels') : nothing}
    ${serversTotal > 0 ? html`<span class="cellsub wrapx">${named}</span>` : nothing}`
}

function failure({ code = '', message, stack }: Plugin): unknown {
  if (!message) return nothing
  return html`<div class="callout bad" role="alert">${icon('circle-x')}<div class="grow stack t"><p><b>${problemText({ code, message })}</b></p>${ownWordsOf({ code, message })}${
    stack
      ? html`<details><summary class="xs">${t('Stack')}</summary><pre class="code wrap" tabindex="0">${stack}</pre></details>`
      : nothing
  }</div></div>`
}

function shortFailure({ code = '', message }: Plugin): unknown {
  if (message === undefined) return nothing
  // One row of a list: the whole of it is in the drawer of the plugin.
  return html`<span class="cellsub st-bad" title=${message}>${problemText({ code, message })}</span>`
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-page-plugins': PbPagePlugins
  }
}
