import type { JsonObject } from '../../contract/json.ts'
import { isJsonObject } from '../../contract/json.ts'
import { readName } from '../alerts/rule-body.ts'
import { ANSWERED_FIELDS, Fields } from '../json/fields.ts'
import { hasHidden } from '../text/visible-text.ts'
import { validationError } from '../validation-error.ts'
import { parseWidgetQuery, type WidgetQuery } from './widget-query.ts'

/** Most widgets of a dashboard, and characters of a title. */
export const WIDGETS = 40
const TITLE_CHARACTERS = 128

/** Visualizations of each type of widget; the first is its default. */
export const VISUALIZATIONS = {
  metric: ['single-stat'],
  chart: ['line-chart'],
  table: ['table'],
} as const

export type WidgetType = keyof typeof VISUALIZATIONS

/** One part of a dashboard. */
export interface Widget {
  readonly type: WidgetType
  readonly title: string
  readonly query: string
  readonly visualization: (typeof VISUALIZATIONS)[WidgetType][number]
}

/** A named set of widgets. */
export interface Dashboard {
  readonly name: string
  readonly widgets: readonly Widget[]
}

const FIELDS = ['name', 'widgets']
const ANSWER_FIELDS = [...ANSWERED_FIELDS, 'builtIn']

/** Reads a dashboard. Throws `validation_failed` with all wrong fields. */
export function parseDashboard(body: JsonObject): Dashboard {
  const fields = new Fields(body)
  fields.refuseUnknown([...FIELDS, ...ANSWER_FIELDS])
  const name = readName(fields)
  if (name !== undefined && BUILT_IN_NAMES.includes(name)) {
    fields.problem('name', 'name_reserved', `"${name}" is a dashboard of the hub itself`)
  }
  const entries = fields.required('widgets') && fields.atMost('widgets', WIDGETS) ? fields.array('widgets') : undefined
  const widgets = (entries ?? []).flatMap((entry, index) => {
    const at = `${fields.pointer('widgets')}/${index}`
    if (isJsonObject(entry)) return readWidget(new Fields(entry, at, fields.errors)) ?? []
    fields.errors.push({ pointer: at, code: 'type', detail: 'A widget is an object' })
    return []
  })
  if (fields.errors.length > 0 || name === undefined) {
    throw validationError(fields.errors, 'The dashboard cannot be saved')
  }
  return { name, widgets }
}

function readWidget(fields: Fields): Widget | undefined {
  fields.refuseUnknown(['type', 'title', 'query', 'visualization'])
  const type = fields.required('type') ? fields.oneOf('type', Object.keys(VISUALIZATIONS) as WidgetType[]) : undefined
  const title = fields.text('title') ?? ''
  if (title.length > TITLE_CHARACTERS) {
    fields.problem('title', 'length', `"title" has more than ${TITLE_CHARACTERS} characters`)
  }
  if (hasHidden(title)) fields.problem('title', 'format', '"title" holds characters that cannot be seen')
  const query = fields.required('query') ? fields.string('query') : undefined
  const kinds: readonly Widget['visualization'][] = type ? VISUALIZATIONS[type] : Object.values(VISUALIZATIONS).flat()
  const visualization = fields.oneOf('visualization', kinds) ?? kinds[0]
  if (type === undefined || query === undefined || visualization === undefined) return undefined
  const problem = queryProblem(type, query)
  if (problem !== undefined) return fields.problem('query', 'condition_invalid', problem)
  return { type, title, query, visualization }
}

/** Why this query cannot be shown by such a widget. */
export function queryProblem(type: WidgetType, text: string): string | undefined {
  const read = parseWidgetQuery(text)
  return 'error' in read ? read.error : misfit(type, read.query)
}

function misfit(type: WidgetType, { name, source, by, stepMs }: WidgetQuery): string | undefined {
  const isTable = source.from === 'table'
  if (type === 'metric') {
    if (isTable || by !== undefined) return 'A metric shows one number: leave "by" out, or make it a table'
    return stepMs === undefined ? undefined : '"step" is for charts'
  }
  if (type === 'chart') {
    if (source.from === 'durations' || source.from === 'log') return undefined
    return `"${name}" has no past to draw; make it a ${isTable ? 'table' : 'metric'}`
  }
  if (!isTable && by === undefined) return 'A table of a number wants "by server" or "by tool"'
  return stepMs === undefined ? undefined : '"step" is for charts'
}

const metric = (title: string, query: string): Widget => ({
  ...{ type: 'metric', title, query, visualization: 'single-stat' },
})
const chart = (title: string, query: string): Widget => ({
  ...{ type: 'chart', title, query, visualization: 'line-chart' },
})
const table = (title: string, query: string): Widget => ({ type: 'table', title, query, visualization: 'table' })

/** The dashboards that everybody has. */
export const BUILT_IN: readonly Dashboard[] = [
  {
    name: 'system-overview',
    widgets: [
      ...[metric('Servers', 'servers_total'), metric('Online', 'servers_online')],
      ...[metric('Connecting', 'servers_connecting'), metric('Offline', 'servers_offline')],
      ...[metric('Tools', 'tools_total'), metric('Sessions', 'sessions'), metric('Firing alerts', 'alerts_firing')],
      ...[metric('Calls', 'request_count'), metric('Error rate', 'error_rate'), metric('p95', 'p95_response_time')],
      ...[metric('Processors', 'cpu_usage'), metric('Memory', 'memory_usage'), metric('Disk', 'disk_usage')],
      ...[chart('Calls', 'request_count'), chart('Failed calls', 'error_count')],
    ],
  },
  {
    name: 'server-status',
    widgets: [
      ...[metric('Online', 'servers_online'), metric('Connecting', 'servers_connecting')],
      ...[metric('Offline', 'servers_offline'), metric('Starts', 'start_count')],
      metric('p95 of a start', 'p95_start_time'),
      table('Servers', 'servers limit 100'),
      ...[chart('Calls by server', 'request_count by server'), chart('p95 by server', 'p95_response_time by server')],
    ],
  },
  {
    name: 'request-analysis',
    widgets: [
      ...[metric('Calls', 'request_count'), metric('Calls a second', 'request_rate')],
      ...[metric('Success rate', 'success_rate'), metric('p50', 'p50_response_time')],
      ...[metric('p95', 'p95_response_time'), metric('p99', 'p99_response_time')],
      ...[chart('Calls', 'request_count'), chart('p95', 'p95_response_time')],
      ...[table('Tools', 'tools limit 20'), chart('API requests', 'api_request_count')],
    ],
  },
  {
    name: 'error-tracking',
    widgets: [
      ...[metric('Failed calls', 'error_count'), metric('Error rate', 'error_rate')],
      metric('ERROR records and failed calls', 'error_record_count'),
      ...[
        chart('Failed calls by server', 'error_count by server'),
        chart('ERROR records and failed calls', 'error_record_count'),
      ],
      ...[table('Codes', 'errors limit 20'), table('Failed calls by tool', 'error_count by tool limit 20')],
      table('Alerts', 'alerts limit 20'),
    ],
  },
  {
    name: 'user-activity',
    widgets: [
      ...[metric('Sessions', 'sessions'), metric('Calls', 'request_count')],
      ...[table('Users', 'users limit 20'), table('Last calls', 'calls limit 50')],
      chart('Calls', 'request_count'),
    ],
  },
]

const BUILT_IN_NAMES = BUILT_IN.map(({ name }) => name)
