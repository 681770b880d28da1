import { html, nothing, type TemplateResult } from 'lit'
import { api, problemOf, send, urlOf } from '../../api/client.ts'
import { inTurn } from '../../api/in-turn.ts'
import type { Metrics, Overview, Resources, WidgetAnswer } from '../../api/monitoring.ts'
import { asApiError } from '../../api/problem.ts'
import { readAll, serverPath } from '../../api/servers.ts'
import { type Health, refOf, type ServerRecord, type ToolRecord } from '../../api/types.ts'
import { Resource } from '../../app/resource.ts'
import { scopeOf } from '../../app/scope.ts'
import { menu } from '../../components/layers/menu.ts'
import { toast } from '../../components/layers/toast.ts'
import { PbPage, segments } from '../../components/page.ts'
import { emptyState, errorText, show } from '../../components/states.ts'
import { callRowsNote, sourceNote } from '../../text/figures.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { callLines, RANGES, rangeLabel, rangeOf, type ThresholdRule } from './calls.ts'
import { charts, type MonitoringData, resourcesCard, responseGroups, rowsCard } from './cards.ts'

/** Choices of the refresh interval, in seconds; 0: never. */
const REFRESHES = [0, 5, 15, 60]

/** Numbers over time: calls, errors and response times by server and tool, the machine, exports. */
class PbPageMonitoring extends PbPage {
  readonly #servers = new Resource<readonly ServerRecord[]>(this, {
    read: signal => readAll('/api/servers', { scope: this.#scope ?? 'visible' }, signal),
    key: () => this.#scope ?? 'visible',
    topics: ['servers'],
    pauseMs: 5000,
  })
  readonly #tools = new Resource<readonly ToolRecord[]>(this, {
    read: signal => readAll(`${serverPath(this.view('server') ?? '')}/tools`, {}, signal),
    key: () => this.view('server'),
  })
  readonly #data = new Resource<MonitoringData>(this, {
    read: signal => this.#read(signal),
    key: () => [this.view('range'), this.view('server'), this.view('tool'), this.#scope],
  })
  #timer: ReturnType<typeof setInterval> | undefined

  override connectedCallback(): void {
    super.connectedCallback()
    this.#timer = setInterval(() => {
      const every = this.#everySeconds * 1000
      const due = every > 0 && Date.now() - this.#data.readAtMs >= every
      if (due && document.visibilityState === 'visible' && !this.#data.loading) void this.#data.reload()
    }, 1000)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    clearInterval(this.#timer)
  }

  get #scope(): string | undefined {
    const scope = scopeOf(this.query)
    return scope === 'visible' ? undefined : scope
  }

  get #everySeconds(): number {
    const seconds = Number(this.view('refresh') ?? 15)
    return REFRESHES.includes(seconds) ? seconds : 15
  }

  override crumbs() {
    return [{ label: t('Monitoring') }]
  }

  async #read(signal: AbortSignal): Promise<MonitoringData> {
    const range = rangeOf(this.view('range') ?? '6h')
    const server = this.view('server')
    const tool = this.view('tool')
    const scope = this.#scope
    const selector = server === undefined ? '' : `{server="${server}"${tool === undefined ? '' : `, tool="${tool}"`}}`
    const ask = (type: string, query: string): Promise<WidgetAnswer> =>
      inTurn(() =>
        api.post('/api/monitoring/query', {
          body: { type, query, range: range.id, ...(scope ? { scope } : {}) },
          signal,
        }),
      )
    const [metrics, overview, resources, health, rules, p50, bySplit, tools] = await Promise.all([
      inTurn(() =>
        api.get<Metrics>('/api/monitoring/metrics', {
          query: { range: range.id, step: range.step, server, scope },
          signal,
        }),
      ),
      inTurn(() => api.get<Overview>('/api/monitoring/overview', { query: { range: range.id, scope }, signal })),
      api.get<Resources>('/api/monitoring/resources', { signal }),
      api.get<Health>('/health', { signal }),
      readAll<ThresholdRule>('/api/monitoring/rules', {}, signal),
      ask('chart', `p50_response_time${selector} step ${range.step}`),
      ask(
        'chart',
        server === undefined
          ? `p95_response_time by server step ${range.step} limit 6`
          : `p95_response_time{server="${server}"} by tool step ${range.step} limit 6`,
      ),
      ask('table', 'tools limit 10'),
    ])
    const calls =
      tool === undefined
        ? undefined
        : await Promise.all(
            ['request_count', 'error_count'].map(name => ask('chart', `${name}${selector} step ${range.step}`)),
          )
    const toolTimes =
      tool === undefined
        ? undefined
        : await Promise.all(
            ['avg', 'p95', 'p99'].map(name => ask('chart', `${name}_response_time${selector} step ${range.step}`)),
          )
    const shownMetrics = calls && toolTimes ? ofTool(metrics, calls, toolTimes) : metrics
    return {
      ...{ range, metrics: shownMetrics, overview, resources, rules, p50, bySplit, tools },
      startedAtMs: Date.now() - health.uptimeMs,
      lines: callLines(shownMetrics, range.stepMs, Date.now() - health.uptimeMs),
    }
  }

  override actions(): TemplateResult {
    const range = rangeOf(this.view('range') ?? '6h').id
    const every = this.#everySeconds
    return html`${segments(
      t('Time range'),
      RANGES.map(({ id }) => ({ id, label: rangeLabel(id) })),
      range,
      id => this.setView({ range: id === '6h' ? undefined : id }),
      'sm',
    )}
      ${menu(
        t('Refresh'),
        REFRESHES.map(seconds => ({
          label: everyText(seconds),
          checked: seconds === every,
          action: () => this.setView({ refresh: seconds === 15 ? undefined : String(seconds) }),
        })),
        html`<button type="button" slot="trigger" class="btn">${icon('refresh-cw')}${everyText(every)}</button>`,
      )}${menu(
        t('Export'),
        (['json', 'csv', 'prometheus'] as const).map(format => ({
          label: format === 'prometheus' ? 'OpenMetrics' : format.toUpperCase(),
          icon: 'download',
          action: () =>
            void download(
              '/api/monitoring/export',
              { format, range, scope: this.#scope },
              `metrics.${format === 'prometheus' ? 'txt' : format}`,
            ),
        })),
        html`<button type="button" slot="trigger" class="btn">${icon('download')}${t('Export')}</button>`,
      )}<button type="button" class="btn" @click=${() => void download('/api/monitoring/grafana/dashboard', {}, 'patchbay-grafana.json')}>${icon('external-link')}Grafana</button>`
  }

  override content() {
    const scrape = `${location.origin}${urlOf('/metrics')}`
    return html`<div class="filters">${this.#serverChoice()}${this.#toolChoice()}<span class="push row wide"><span class="q xs">${t('Scrape URL')}</span><code class="s">${scrape}</code><pb-copy .text=${scrape} label=${t('Copy the scrape URL')}></pb-copy></span></div>
      ${show(this.#data, data => this.#body(data))}`
  }

  #body(data: MonitoringData) {
    if (
      data.metrics.metrics.requests.total === 0 &&
      (data.metrics.series ?? []).length === 0 &&
      data.overview.calls.total === 0
    )
      return html`${emptyState({ icon: 'chart-line', title: t('Collecting'), text: t('No call in this time yet. The first point is here about 15 s after a client calls a tool.') })}${responseGroups(data)}${resourcesCard(data)}`
    return html`${charts(data, this.view('server'))}${responseGroups(data)}<div class="g21">${rowsCard(t('Busiest tools'), data.tools, callRowsNote())}${rowsCard(t('Busiest people'), people(data.overview), sourceNote('users'))}</div>${resourcesCard(data)}`
  }

  #serverChoice() {
    const present = this.view('server') ?? ''
    const servers = this.#servers.data?.filter(({ ref }) => ref !== undefined) ?? []
    return html`<select class="in fil" aria-label=${t('Server')} @change=${(event: Event) => this.setView({ server: (event.target as HTMLSelectElement).value, tool: undefined })}>
      <option value="">${t('All servers')}</option>${servers.map(server => html`<option value=${refOf(server)} ?selected=${refOf(server) === present}>${server.name}</option>`)}</select>`
  }

  #toolChoice() {
    if (this.view('server') === undefined) return nothing
    const present = this.view('tool') ?? ''
    return html`<select class="in fil" aria-label=${t('Tool')} @change=${(event: Event) => this.setView({ tool: (event.target as HTMLSelectElement).value })}><option value="">${t('All tools')}</option>${(
      this.#tools.data ?? []
    ).map(({ name }) => html`<option value=${name} ?selected=${name === present}>${name}</option>`)}</select>`
  }
}
customElements.define('pb-page-monitoring', PbPageMonitoring)

function everyText(seconds: number): string {
  return seconds === 0 ? t('Paused') : t('Every {n} s', { n: seconds })
}

/** The answers for one tool, in the form of the metrics of a server. */
function ofTool(
  metrics: Metrics,
  [requests, errors]: readonly WidgetAnswer[],
  times: readonly WidgetAnswer[],
): Metrics {
  const points = (answer: WidgetAnswer | undefined) => new Map(answer?.series?.[0]?.points ?? [])
  const [failed, avg, p95, p99] = [points(errors), ...times.map(points)]
  const series = [...points(requests)].map(([timestamp, count]) => ({
    ...{ timestamp, requests: count ?? 0, errors: failed?.get(timestamp) ?? 0 },
    ...{ avg: avg?.get(timestamp) ?? null, p95: p95?.get(timestamp) ?? null, p99: p99?.get(timestamp) ?? null },
  }))
  return { ...metrics, series }
}

function people({ topUsers }: Overview): WidgetAnswer {
  return {
    columns: [{ name: 'user' }, { name: 'calls', unit: 'count' }, { name: 'errors', unit: 'count' }],
    rows: topUsers.map(({ user, requests, errors }) => [user, requests, errors]),
  }
}

/** Saves an answer of the hub as a file; the token is a header, so a plain link would not do. */
async function download(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  name: string,
): Promise<void> {
  try {
    const response = await send('GET', path, { query })
    if (!response.ok) throw await problemOf(response)
    const link = document.createElement('a')
    link.href = URL.createObjectURL(await response.blob())
    link.download = name
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  } catch (error) {
    toast(errorText(asApiError(error)))
  }
}
