import { html, nothing, type TemplateResult } from 'lit'
import type { MetricUnit } from '../../api/monitoring.ts'
import { type ChartUnit, valueText } from '../../components/chart/units.ts'
import { formatDateTime, UNKNOWN } from '../../text/format.ts'
import { problemText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'

/** Columns of names that people, servers or clients gave. */
const NAMES: ReadonlySet<string> = new Set(['server', 'tool', 'user', 'group', 'rule', 'subject'])
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

type Cell = string | number | null
interface Column {
  readonly name: string
  readonly unit?: MetricUnit
}

/** Units of the hub as those of charts. */
export function unitOf(unit: MetricUnit | undefined): ChartUnit {
  return unit ?? 'any'
}

/** The title of a widget of a built-in dashboard, in the language of the page. */
export function builtInTitle(title: string): string {
  const titles: Readonly<Record<string, string>> = {
    Servers: t('Servers'),
    Online: t('Online'),
    Connecting: t('Connecting'),
    Offline: t('Offline'),
    Tools: t('Tools'),
    Sessions: t('Sessions'),
    'Firing alerts': t('Firing alerts'),
    Calls: t('Calls'),
    'Error rate': t('Error rate'),
    Processors: t('Processors'),
    Memory: t('Memory'),
    Disk: t('Disk'),
    'Failed calls': t('Failed calls'),
    Starts: t('Starts'),
    'p95 of a start': t('p95 of a start'),
    'Calls by server': t('Calls by server'),
    'p95 by server': t('p95 by server'),
    'Calls a second': t('Calls a second'),
    'Success rate': t('Success rate'),
    'API requests': t('API requests'),
    'ERROR records and failed calls': t('ERROR records and failed calls'),
    'Failed calls by server': t('Failed calls by server'),
    'Failed calls by tool': t('Failed calls by tool'),
    Codes: t('Codes'),
    Alerts: t('Alerts'),
    Users: t('Users'),
    'Last calls': t('Last calls'),
  }
  return titles[title] ?? title
}

/** The head of a column, in the language of the page; a number of the owner's choice has its name. */
export function columnHead(name: string): string | TemplateResult {
  const heads: Readonly<Record<string, string>> = {
    server: t('Server'),
    tool: t('Tool'),
    user: t('User'),
    group: t('Group'),
    rule: t('Rule'),
    state: t('State'),
    since: t('State since'),
    startsAt: t('Began'),
    time: t('Time'),
    calls: t('Calls'),
    errors: t('Failed calls'),
    request_count: t('Calls'),
    error_count: t('Failed calls'),
    error_record_count: t('ERROR records and failed calls'),
    avg: t('Average'),
    duration: t('Duration'),
    status: t('Status'),
    code: t('Code'),
    reason: t('Reason'),
    severity: t('Severity'),
    subject: t('Subject'),
    value: t('Value'),
  }
  return heads[name] ?? html`<code>${name}</code>`
}

/** Indices of the shown columns: the code of a reason is left out, since its text is shown. */
export function shownColumns(columns: readonly Column[]): readonly number[] {
  const hasReason = columns.some(({ name }) => name === 'reason')
  return columns.flatMap(({ name }, at) => (hasReason && name === 'code' ? [] : [at]))
}

/** One cell of a row. */
export function cellOf(columns: readonly Column[], row: readonly Cell[], at: number): string | TemplateResult {
  const { name = '', unit } = columns[at] ?? {}
  const cell = row[at] ?? null
  if (name === 'reason') return reasonOf(columns, row, cell)
  if (cell === null) return UNKNOWN
  if (name === 'server' && cell === '') return t('reached no server')
  if (typeof cell === 'number') return valueText(cell, unitOf(unit))
  if (TIME.test(cell)) return formatDateTime(cell)
  if (NAMES.has(name)) return html`<span translate="no">${cell}</span>`
  if (name === 'code') return html`<code>${cell}</code>`
  return wordOf(cell) ?? (name === 'status' ? html`<code>${cell}</code>` : cell)
}

/** States, severities and outcomes. */
function wordOf(word: string): string | undefined {
  const words: Readonly<Record<string, string>> = {
    online: t('Online'),
    connecting: t('Connecting'),
    offline: t('Offline'),
    firing: t('Firing'),
    resolved: t('Resolved'),
    warning: t('Warning'),
    critical: t('Critical'),
    success: t('Success'),
  }
  return Object.hasOwn(words, word) ? words[word] : undefined
}

function reasonOf(columns: readonly Column[], row: readonly Cell[], message: Cell): string | TemplateResult {
  if (message === null || message === '') return html`${nothing}`
  const code = row[columns.findIndex(({ name }) => name === 'code')]
  return problemText({ code: String(code ?? ''), message: String(message) })
}
