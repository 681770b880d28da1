import { html, nothing, svg, type TemplateResult } from 'lit'
import { api, type Page } from '../../api/client.ts'
import { inTurn } from '../../api/in-turn.ts'
import type { ActivityCall, Metrics, Overview, Resources } from '../../api/monitoring.ts'
import { readAll } from '../../api/servers.ts'
import type { Health, ServerRecord } from '../../api/types.ts'
import { Resource } from '../../app/resource.ts'
import { href } from '../../app/router.ts'
import { callsMark } from '../../components/calls-mark.ts'
import { PbElement } from '../../components/element.ts'
import { missingFigure } from '../../components/hub-words.ts'
import { hasLogs, logLink } from '../../components/log-link.ts'
import { isResting } from '../../components/servers/status.ts'
import { show } from '../../components/states.ts'
import { formatCount, formatPercent, UNKNOWN } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { rich, t } from '../../text/t.ts'
import { rangeOf, type ThresholdRule } from '../monitoring/calls.ts'
import { attentionCard, firingCard } from './attention.ts'
import { callCharts } from './call-charts.ts'
import '../../components/chart/chart.ts'
import '../../components/patch-bay/patch-bay.ts'

interface Data {
  readonly overview: Overview
  readonly servers: readonly ServerRecord[]
  readonly rules: readonly ThresholdRule[]
}

interface Calls {
  readonly metrics: Metrics
  readonly health: Health
}

/** Interval at which figures are read again, in milliseconds. */
const EVERY_MS = 15_000

/** The overview: counts, problems that need an action, calls over the range, the patch bay, activity and the machine. */
class PbDashboardOverview extends PbElement {
  static override properties = { range: {}, scope: {}, query: { attribute: false } }
  declare range: string
  declare scope: 'mine' | 'visible' | 'all'
  declare query: URLSearchParams
  readonly #data = new Resource<Data>(this, {
    read: async signal => {
      const scope = this.#scopeQuery
      const [overview, servers, rules] = await Promise.all([
        inTurn(() => api.get<Overview>('/api/monitoring/overview', { query: { range: this.range, scope }, signal })),
        readAll<ServerRecord>('/api/servers', { scope: this.scope }, signal),
        readAll<ThresholdRule>('/api/monitoring/rules', {}, signal),
      ])
      return { overview, servers, rules }
    },
    key: () => [this.range, this.scope],
    topics: ['servers', 'alerts'],
    everyMs: EVERY_MS,
  })
  readonly #calls = new Resource<Calls>(this, {
    read: async signal => {
      const query = { range: this.range, step: rangeOf(this.range).step, scope: this.#scopeQuery }
      const [metrics, health] = await Promise.all([
        inTurn(() => api.get<Metrics>('/api/monitoring/metrics', { query, signal })),
        api.get<Health>('/health', { signal }),
      ])
      return { metrics, health }
    },
    key: () => [this.range, this.scope],
    everyMs: EVERY_MS,
  })
  readonly #activity = new Resource<Page<ActivityCall>>(this, {
    read: signal =>
      inTurn(() => api.get('/api/monitoring/activity', { query: { limit: 6, scope: this.#scopeQuery }, signal })),
    key: () => (hasLogs() ? this.scope : undefined),
    everyMs: EVERY_MS,
  })
  readonly #machine = new Resource<Resources>(this, {
    read: signal => api.get('/api/monitoring/resources', { signal }),
    everyMs: EVERY_MS,
  })

  get #scopeQuery(): string | undefined {
    return this.scope === 'visible' ? undefined : this.scope
  }

  override render(): unknown {
    return html`<div class="attn-first stack">${show(this.#data, data => [tiles(data, this.scope), this.#attention(data)])}</div>
      ${show(this.#calls, ({ metrics, health }) => callCharts(metrics, health.uptimeMs, this.range, this.#data.data?.rules ?? []))}
      <pb-patch-bay .scope=${this.scope} .query=${this.query}></pb-patch-bay>
      <div class="g21 even">${this.#feed()}${this.#machineCard()}</div>`
  }

  #attention({ overview, servers }: Data): TemplateResult {
    const reload = (): void => void this.#data.reload()
    return html`<div class="g21">${attentionCard(overview, servers, reload)}${firingCard(overview, reload)}</div>`
  }

  #feed(): unknown {
    return !hasLogs()
      ? nothing
      : html`<section class="card"><div class="ch"><h2>${t('Recent activity')}</h2><div class="r">${logLink({}, t('Logs'))}</div></div>${show(
          this.#activity,
          ({ items }) =>
            items.length === 0
              ? html`<p class="cb q s">${t('No call yet. It appears here as soon as a client calls a tool.')}</p>`
              : html`<ul class="feed">${items.map(activityLine)}</ul>`,
        )}</section>`
  }

  #machineCard(): TemplateResult {
    return html`<section class="card"><div class="ch"><h2>${t('Resources')}</h2><div class="r"><a href=${href('/monitoring')}>${t('Monitoring')}</a></div></div>
      <div class="cb stack">${show(this.#machine, machine)}</div></section>`
  }
}
customElements.define('pb-dashboard-overview', PbDashboardOverview)

function tiles({ overview, servers }: Data, scope: string): TemplateResult {
  const counts = overview.servers
  const stopped = servers.filter(({ status }) => isResting(status)).length
  const faults = Math.max(0, counts.offline - stopped)
  const tile = (
    look: string,
    image: string,
    word: string,
    value: number,
    note: string,
    state?: string,
  ): TemplateResult =>
    html`<a class="tile ${look}" href=${href(state === 'tools' ? '/groups' : '/servers', { state: state === 'tools' ? undefined : state, scope: scope === 'visible' ? undefined : scope })}><span class="k">${icon(image)}${word}</span><span class="v">${formatCount(value)} ${note === '' ? nothing : html`<small>${note}</small>`}</span></a>`
  return html`<nav class="tiles" aria-label=${t('Counts, each leads to its list')}>${[
    tile('', 'server', t('Servers'), counts.total, stopped === 0 ? '' : t('{n} stopped', { n: stopped })),
    tile(
      'ok',
      'circle-check',
      t('Online'),
      counts.online,
      counts.total === 0 ? '' : formatPercent(counts.online / counts.total, 0),
      'online',
    ),
    tile(counts.connecting > 0 ? 'warn' : '', 'loader-circle', t('Connecting'), counts.connecting, '', 'connecting'),
    tile(
      faults > 0 ? 'bad' : '',
      'circle-x',
      t('Offline'),
      counts.offline,
      stopped > 0 ? t('{n} stopped', { n: stopped }) : '',
      'offline',
    ),
    tile(
      '',
      'wrench',
      t('Tools'),
      overview.tools,
      overview.sessions === 0 ? '' : t('{n} connected', { n: overview.sessions }),
      'tools',
    ),
  ]}</nav>`
}

function activityLine(call: ActivityCall): TemplateResult {
  const good = call.status === 'success'
  const name = html`<b class="med">${call.tool === '' ? t('several tools') : call.tool}</b>`
  const from = html`<b class="med">${call.user.name}</b>`
  const where = call.server ?? call.group ?? UNKNOWN
  // Many calls have one record, and no request in common.
  const query =
    call.requestId === undefined
      ? { from: call.timestamp, to: call.timestamp, user: call.user.name }
      : { q: `requestId:${call.requestId}` }
  return html`<li>${icon(good ? 'wrench' : 'circle-x', good ? {} : { class: 'bad', label: t('Failed') })}<span class="cut">${logLink(
    query,
    html`${
      good
        ? rich('{user} called {tool} of {server}', { user: from, tool: name, server: where })
        : rich('{tool} of {server} failed for {user}', { user: from, tool: name, server: where })
    }${callsMark({ message: 'tools/call', ...call })}`,
  )}</span><pb-time .at=${call.timestamp}></pb-time></li>`
}

function machine({ cpu, memory, disk, reasons }: Resources): TemplateResult {
  const line = (image: string, word: string, usage: string | null, text: unknown, reason: string): TemplateResult => {
    const percent = Number.parseFloat(usage ?? '')
    return html`<dt>${icon(image)}${word}</dt>${
      usage === null || !Number.isFinite(percent)
        ? html`<dd class="na">${t('not available')}: ${reason} ${UNKNOWN}</dd>`
        : html`<dd class="bar"><svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=${`${word} ${usage}`}>${svg`<rect class="tr" width="100" height="6"></rect><rect class="f1" width=${Math.min(100, percent)} height="6"></rect>`}</svg></dd><dd class="num">${text}</dd>`
    }`
  }
  return html`<dl class="res">${[
    line(
      'cpu',
      t('Processor'),
      cpu.usage,
      rich('{used} of {n} cores', { used: html`<b>${cpu.usage}</b>`, n: cpu.cores }),
      missingFigure('cpu', reasons.cpu),
    ),
    line(
      'memory-stick',
      t('Memory'),
      memory.usage,
      rich('{used} of {total}', { used: html`<b>${memory.used}</b>`, total: memory.total ?? '' }),
      missingFigure('memory', reasons.memory),
    ),
    line(
      'hard-drive',
      t('Disk'),
      disk.usage,
      rich('{used} of {total}', { used: html`<b>${disk.used}</b>`, total: disk.total ?? '' }),
      missingFigure('disk', reasons.disk),
    ),
  ]}</dl>`
}
