import { html, nothing, type TemplateResult } from 'lit'
import { metricNote } from '../../text/figures.ts'
import { t } from '../../text/t.ts'

/** A condition of one comparison, in the form of the builder. */
export interface Simple {
  readonly metric: string
  /** Field of the selector and its value; absent: all servers. */
  readonly field: 'server' | 'owner' | 'tool' | undefined
  readonly name: string
  readonly op: string
  /** Value as written, without its unit; a state for `server_status`. */
  readonly value: string
  readonly unit: string
  /** Window in brackets, such as `5m`; empty: the usual one. */
  readonly window: string
}

interface Metric {
  readonly id: string
  readonly label: () => string
  readonly unit: string
  readonly windowed: boolean
}

const METRICS: readonly Metric[] = [
  { id: 'server_status', label: () => t('Server state'), unit: '', windowed: false },
  { id: 'error_rate', label: () => t('Error rate'), unit: '%', windowed: true },
  { id: 'p95_response_time', label: () => t('Response time, p95'), unit: 'ms', windowed: true },
  { id: 'avg_response_time', label: () => t('Response time, mean'), unit: 'ms', windowed: true },
  { id: 'request_count', label: () => t('Calls'), unit: '', windowed: true },
  { id: 'error_count', label: () => t('Failed calls'), unit: '', windowed: true },
  { id: 'servers_offline', label: () => t('Servers offline'), unit: '', windowed: false },
  { id: 'restarts', label: () => t('Restarts'), unit: '', windowed: true },
  { id: 'log_count', label: () => t('Log records'), unit: '', windowed: true },
  { id: 'cpu_usage', label: () => t('Processor load'), unit: '%', windowed: true },
  { id: 'memory_usage', label: () => t('Memory in use'), unit: '%', windowed: false },
  { id: 'disk_usage', label: () => t('Disk in use'), unit: '%', windowed: false },
  { id: 'event_loop_lag', label: () => t('Event loop lag'), unit: 'ms', windowed: true },
]

const SHAPE =
  /^\s*([a-z][a-z0-9_.]*)\s*(?:\{\s*(server|owner|tool)\s*=\s*"([^"]*)"\s*\})?\s*(?:\[\s*(\w+)\s*\])?\s*(>=|<=|==|!=|>|<)\s*(?:(\d+(?:\.\d+)?)\s*(%|ms|s|m|\/s|\/m|MB|GB)?|"?(online|connecting|offline)"?)\s*$/

/** Reads a condition that the builder can show; undefined for any other, which stays as an expression. */
export function readSimple(condition: string): Simple | undefined {
  const found = SHAPE.exec(condition)
  if (!found) return undefined
  const [, metric = '', field, name = '', window = '', op = '>', number, unit = '', state] = found
  if (!METRICS.some(({ id }) => id === metric)) return undefined
  return { metric, field: field as Simple['field'], name, op, value: state ?? number ?? '', unit, window }
}

/** The expression built from the fields. */
export function simpleText({ metric, field, name, op, value, unit, window }: Simple): string {
  const selector = field === undefined || name === '' ? '' : `{${field}=${JSON.stringify(name)}}`
  return `${metric}${selector}${window === '' ? '' : `[${window}]`} ${op} ${value}${unit}`
}

/** Another metric, with an operator, a value and a unit that fit it. */
export function withMetric(simple: Simple, id: string): Simple {
  const metric = METRICS.find(one => one.id === id)
  if (!metric) return simple
  const isState = id === 'server_status'
  const value = isState ? 'offline' : /^\d/.test(simple.value) ? simple.value : '1'
  const op = isState ? '==' : simple.op === '==' ? '>' : simple.op
  return { ...simple, metric: id, op, value, unit: metric.unit, window: metric.windowed ? simple.window : '' }
}

/** The condition as a sentence of fields. */
export function builder(
  simple: Simple,
  duration: string,
  servers: readonly string[],
  change: (next: Simple) => void,
  changeDuration: (text: string) => void,
  disabled: boolean,
): TemplateResult {
  const isState = simple.metric === 'server_status'
  const note = metricNote(simple.metric, simple.field === 'server')
  const value = (event: Event): string => (event.target as HTMLInputElement | HTMLSelectElement).value
  const of = simple.field === 'server' || simple.field === undefined ? simple.name : `${simple.field}: ${simple.name}`
  const options = servers.includes(simple.name) || simple.name === '' ? servers : [simple.name, ...servers]
  return html`<div class="cond"><span class="s q">${t('If')}</span><select aria-label=${t('Measure')} class="in" ?disabled=${disabled} @change=${(event: Event) => change(withMetric(simple, value(event)))}>${METRICS.map(
    metric => html`<option value=${metric.id} ?selected=${metric.id === simple.metric}>${metric.label()}</option>`,
  )}</select><span class="s q">${t('of')}</span><select aria-label=${t('Scope')} class="in" ?disabled=${disabled || (simple.field !== undefined && simple.field !== 'server')}
      @change=${(event: Event) => change({ ...simple, field: value(event) === '' ? undefined : 'server', name: value(event) })}><option value="" ?selected=${simple.name === ''}>${t('all servers')}</option>${options.map(
        name =>
          html`<option value=${name} ?selected=${name === simple.name}>${name === simple.name ? of : name}</option>`,
      )}</select><span class="s q">${t('is')}</span>${isState ? stateFields(simple, change, disabled) : numberFields(simple, change, disabled)}<span class="row nw"><span class="s q">${t('for')}</span><input class="in num thrin dur"
      aria-label=${t('Duration')} .value=${duration} ?disabled=${disabled} @change=${(event: Event) => changeDuration(value(event).replaceAll(' ', ''))}></span></div>${note === undefined ? nothing : html`<p class="hint">${note}</p>`}`
}

function stateFields(simple: Simple, change: (next: Simple) => void, disabled: boolean): TemplateResult {
  const states = [
    ['offline', t('offline')],
    ['connecting', t('connecting')],
    ['online', t('online')],
  ] as const
  return html`<select aria-label=${t('State')} class="in" ?disabled=${disabled} @change=${(event: Event) => change({ ...simple, value: (event.target as HTMLSelectElement).value })}>${states.map(
    ([id, word]) => html`<option value=${id} ?selected=${id === simple.value}>${word}</option>`,
  )}</select>`
}

function numberFields(simple: Simple, change: (next: Simple) => void, disabled: boolean): TemplateResult {
  const ops = [
    ['>', t('over')],
    ['>=', t('at least')],
    ['<', t('under')],
    ['<=', t('at most')],
  ] as const
  return html`<select aria-label=${t('Comparison')} class="in" ?disabled=${disabled} @change=${(event: Event) => change({ ...simple, op: (event.target as HTMLSelectElement).value })}>${ops.map(
    ([id, word]) => html`<option value=${id} ?selected=${id === simple.op}>${word}</option>`,
  )}</select><input class="in num thrin" inputmode="decimal" aria-label=${t('Threshold')} .value=${simple.value} ?disabled=${disabled}
    @input=${(event: Event) => change({ ...simple, value: (event.target as HTMLInputElement).value.trim() })}>${simple.unit === '' ? nothing : html`<span class="s q">${simple.unit}</span>`}`
}
