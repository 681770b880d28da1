import { type Route, route } from '../../route.ts'
import { anyObject } from '../schemas.ts'

/** Grafana asks for the data source with this variable when the dashboard is imported. */
const SOURCE = { type: 'prometheus', uid: `\${DS_PROMETHEUS}` }
/** Width and height of a panel, in Grafana's grid of 24 columns. */
const [WIDTH, HEIGHT] = [12, 8]

/** Title, expression, unit, and the legend of each line. All names are those of `/metrics`. */
const PANELS: readonly (readonly [title: string, expression: string, unit: string, legend: string])[] = [
  ['Servers by state', 'patchbay_servers', 'short', '{{state}}'],
  ['Tools', 'patchbay_tools', 'short', 'tools'],
  ['Calls a second', 'sum by (status) (rate(patchbay_tool_calls_total[5m]))', 'reqps', '{{status}}'],
  [
    'Failed calls',
    '(sum(rate(patchbay_tool_calls_total{status!="success"}[5m])) or vector(0)) / sum(rate(patchbay_tool_calls_total[5m]))',
    'percentunit',
    'failed',
  ],
  [
    'Response time of tools, p95',
    'histogram_quantile(0.95, sum by (le, owner, server) (rate(patchbay_tool_call_duration_seconds_bucket[5m])))',
    's',
    '{{owner}}~{{server}}',
  ],
  [
    'Busiest tools',
    'topk(10, sum by (server, tool) (rate(patchbay_tool_calls_total[5m])))',
    'reqps',
    '{{server}} {{tool}}',
  ],
  ['Offline servers', 'patchbay_server_up == 0', 'short', '{{owner}}~{{server}}'],
  [
    'Response time of HTTP, p95',
    'histogram_quantile(0.95, sum by (le, route) (rate(patchbay_http_request_duration_seconds_bucket[5m])))',
    's',
    '{{route}}',
  ],
  ['MCP sessions', 'patchbay_sessions', 'short', 'sessions'],
  ['Alerts that fire', 'patchbay_alerts_firing', 'short', '{{severity}}'],
  ['Event loop', 'patchbay_event_loop_lag_seconds', 's', 'longest hold'],
  ['Log records a second', 'sum by (level) (rate(patchbay_log_records_total[5m]))', 'short', '{{level}}'],
  [
    'Lost log records',
    'sum by (sink, reason) (increase(patchbay_log_dropped_total[5m]))',
    'short',
    '{{sink}} {{reason}}',
  ],
  ['Processors of the hub', 'rate(process_cpu_seconds_total[5m])', 'percentunit', 'cores'],
  ['Memory of the hub', 'process_resident_memory_bytes', 'bytes', 'resident'],
]

const example = { title: 'Patchbay', uid: 'patchbay', schemaVersion: 39, panels: [] }

/** A dashboard for Grafana. */
export function grafanaRoutes(): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/monitoring/grafana/dashboard',
      access: 'user',
      summary: 'A dashboard for the metrics of /metrics, to be imported into Grafana',
      tag: 'monitoring',
      responses: { 200: { description: 'The dashboard', schema: anyObject, example } },
      handle: () => ({ body: dashboard() }),
    }),
  ]
}

function dashboard() {
  return {
    __inputs: [
      {
        name: 'DS_PROMETHEUS',
        label: 'Prometheus',
        type: 'datasource',
        pluginId: 'prometheus',
        pluginName: 'Prometheus',
      },
    ],
    __requires: [
      { type: 'grafana', id: 'grafana', name: 'Grafana', version: '10.0.0' },
      { type: 'datasource', id: 'prometheus', name: 'Prometheus', version: '1.0.0' },
    ],
    title: 'Patchbay',
    uid: 'patchbay',
    tags: ['patchbay', 'mcp'],
    timezone: '',
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [] },
    annotations: { list: [] },
    panels: PANELS.map(panel),
  }
}

function panel([title, expr, unit, legendFormat]: (typeof PANELS)[number], index: number) {
  return {
    id: index + 1,
    type: 'timeseries',
    title,
    datasource: SOURCE,
    gridPos: { x: (index % 2) * WIDTH, y: Math.floor(index / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: [{ refId: 'A', datasource: SOURCE, expr, legendFormat }],
  }
}
