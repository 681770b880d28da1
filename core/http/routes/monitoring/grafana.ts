import { type Route, route } from '../../route.ts'
import { anyObject } from '../schemas.ts'

/** Variable with which Grafana requests the data source when the dashboard is imported. */
const SOURCE = { type: 'prometheus', uid: `\${DS_PROMETHEUS}` }
/** Width and height of a panel, in Grafana's grid of 24 columns. */
const [WIDTH, HEIGHT] = [12, 8]

interface Panel {
  /** A figure that the console shows too has the same title there. */
  readonly title: string
  /** Describes the value; Grafana shows it beside the title. */
  readonly description: string
  /** All names are those of `/metrics`. */
  readonly expr: string
  readonly unit: string
  /** Legend of each line. */
  readonly legend: string
}

const CALLS = 'rate(patchbay_tool_calls_total[5m])'
const P95 = 'histogram_quantile(0.95, sum by (le'

const PANELS: readonly Panel[] = [
  {
    title: 'Servers by state',
    description: 'Configured servers of all owners',
    ...{ expr: 'patchbay_servers', unit: 'short', legend: '{{state}}' },
  },
  {
    title: 'Tools',
    description: 'Tools that the servers of all owners list',
    ...{ expr: 'patchbay_tools', unit: 'short', legend: 'tools' },
  },
  {
    title: 'Calls a second',
    description: 'Tool calls that ended, including those that reached no server, by outcome',
    ...{ expr: `sum by (outcome) (${CALLS})`, unit: 'reqps', legend: '{{outcome}}' },
  },
  {
    title: 'Error rate',
    description: 'Calls with any outcome but ok, as a share of all calls, including those that reached no server',
    expr: '(sum(rate(patchbay_tool_calls_total{outcome!="ok"}[5m])) or vector(0)) / sum(rate(patchbay_tool_calls_total[5m]))',
    ...{ unit: 'percentunit', legend: 'failed' },
  },
  {
    title: 'p95 by server',
    description: 'Response times of tool calls that reached a server',
    expr: `${P95}, owner, server) (rate(patchbay_tool_call_duration_seconds_bucket[5m])))`,
    ...{ unit: 's', legend: '{{owner}}~{{server}}' },
  },
  {
    title: 'Busiest tools',
    description: 'Tool calls a second that ended and reached a server',
    expr: 'topk(10, sum by (owner, server, tool) (rate(patchbay_tool_calls_total{server!=""}[5m])))',
    ...{ unit: 'reqps', legend: '{{owner}}~{{server}} {{tool}}' },
  },
  {
    title: 'Offline servers',
    description: 'Servers that are not online; those that connect or were stopped are among them',
    ...{ expr: 'patchbay_server_up == 0', unit: 'short', legend: '{{owner}}~{{server}}' },
  },
  {
    title: 'p95 of HTTP requests',
    description: 'Durations of HTTP requests outside /mcp; of streams until the response head',
    expr: `${P95}, route) (rate(patchbay_http_request_duration_seconds_bucket[5m])))`,
    ...{ unit: 's', legend: '{{route}}' },
  },
  {
    title: 'Sessions',
    description: 'Open MCP sessions of all users; clients of 2026-07-28 have none',
    ...{ expr: 'patchbay_sessions', unit: 'short', legend: 'sessions' },
  },
  {
    title: 'Firing alerts',
    description: 'Alerts of all owners, by severity',
    ...{ expr: 'patchbay_alerts_firing', unit: 'short', legend: '{{severity}}' },
  },
  {
    title: 'Event loop lag',
    description: 'Longest time within the last 10 s in which the event loop was blocked',
    ...{ expr: 'patchbay_event_loop_lag_seconds', unit: 's', legend: 'longest' },
  },
  {
    title: 'Log records a second',
    description: 'Records of the log by level; one record may stand for many calls',
    ...{ expr: 'sum by (level) (rate(patchbay_log_records_total[5m]))', unit: 'short', legend: '{{level}}' },
  },
  {
    title: 'Lost log records',
    description: 'Records that a sink did not receive within 5 minutes',
    expr: 'sum by (sink, reason) (increase(patchbay_log_dropped_total[5m]))',
    ...{ unit: 'short', legend: '{{sink}} {{reason}}' },
  },
  {
    title: 'Processor time of the hub',
    description: 'Processors that the hub process uses, without the processes of servers; 100 % is one processor',
    ...{ expr: 'rate(process_cpu_seconds_total[5m])', unit: 'percentunit', legend: 'cores' },
  },
  {
    title: 'Memory of the hub',
    description: 'Resident memory of the hub process, without the processes of servers',
    ...{ expr: 'process_resident_memory_bytes', unit: 'bytes', legend: 'resident' },
  },
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

function panel({ title, description, expr, unit, legend }: Panel, index: number) {
  return {
    id: index + 1,
    type: 'timeseries',
    title,
    description,
    datasource: SOURCE,
    gridPos: { x: (index % 2) * WIDTH, y: Math.floor(index / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: [{ refId: 'A', datasource: SOURCE, expr, legendFormat: legend }],
  }
}
