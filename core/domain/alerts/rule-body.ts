import type { FieldError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { durationText, parseDuration } from '../duration.ts'
import { Fields } from '../json/fields.ts'
import { checkName, isNameProblem } from '../names.ts'
import { validationError } from '../validation-error.ts'
import { type Condition, type MetricQuery, parseCondition, testsOf } from './condition.ts'
import { type AlertTiming, usualKeepFiringFor } from './machine.ts'
import { inRange, metricInfo } from './metrics.ts'

/** Of what a rule evaluates each one by itself. */
export const SUBJECTS = ['server', 'tool', 'owner', 'total'] as const
export const SEVERITIES = ['warning', 'critical'] as const

const DAY_MS = 24 * 60 * 60_000
/** Most channels that one rule names. */
const CHANNELS = 20
const RULE_FIELDS = [
  ...['name', 'enabled', 'condition', 'threshold', 'duration', 'severity', 'per', 'channels'],
  ...['keepFiringFor', 'repeatInterval', 'noData'],
]
const ANSWER_FIELDS = ['id', 'ref', 'owner', 'origin', 'revision', 'createdAt', 'updatedAt', 'health']

/** An alert rule with its defaults filled in. */
export interface AlertRule extends AlertTiming {
  readonly name: string
  readonly enabled: boolean
  /** As written. */
  readonly condition: string
  /** In the base unit of the metrics that are compared with it. */
  readonly threshold?: number
  readonly severity: (typeof SEVERITIES)[number]
  readonly per: (typeof SUBJECTS)[number]
  /** Names of its owner's channels; absent: all that are enabled. */
  readonly channels?: readonly string[]
}

/**
 * Reads a rule's body. Throws `validation_failed` with all wrong fields. `unavailable` says why a metric cannot be had.
 * A duration is a text with a unit or milliseconds.
 */
export function parseRuleBody(
  body: JsonObject,
  unavailable: (query: MetricQuery) => string | undefined,
): { readonly rule: AlertRule; readonly condition: Condition } {
  const fields = new Fields(body)
  fields.refuseUnknown([...RULE_FIELDS, ...ANSWER_FIELDS])
  const name = readName(fields)
  const text = fields.required('condition') ? fields.string('condition') : undefined
  const condition = text === undefined ? undefined : readCondition(fields, text, unavailable)
  const threshold = condition && readThreshold(fields, condition)
  const severity = fields.required('severity') ? fields.oneOf('severity', SEVERITIES) : undefined
  const durationMs = readDuration(fields, 'duration', DAY_MS) ?? 60_000
  const channels = readChannels(fields)
  const rest = {
    enabled: fields.boolean('enabled') ?? true,
    per: fields.oneOf('per', SUBJECTS) ?? 'server',
    durationMs,
    keepFiringForMs: readDuration(fields, 'keepFiringFor', DAY_MS) ?? usualKeepFiringFor(durationMs),
    repeatIntervalMs: readDuration(fields, 'repeatInterval', 30 * DAY_MS) ?? 4 * 60 * 60_000,
    noData: fields.oneOf('noData', ['keep', 'ok', 'alert']) ?? 'keep',
  } as const
  if (fields.errors.length > 0 || name === undefined || text === undefined || !condition || !severity) {
    throw validationError(fields.errors, 'The alert rule cannot be saved')
  }
  const optional = { ...(threshold === undefined ? {} : { threshold }), ...(channels ? { channels } : {}) }
  return { rule: { name, condition: text, severity, ...rest, ...optional }, condition }
}

function readChannels(fields: Fields): readonly string[] | undefined {
  const channels = fields.strings('channels')
  if ((channels?.length ?? 0) > CHANNELS) fields.problem('channels', 'length', `A rule names at most ${CHANNELS}`)
  return channels
}

/** A rule as the API shows it, which `parseRuleBody` reads back. */
export function ruleBody({ durationMs, keepFiringForMs, repeatIntervalMs, ...rule }: AlertRule): JsonObject {
  return {
    ...(rule as unknown as JsonObject),
    duration: durationText(durationMs),
    keepFiringFor: durationText(keepFiringForMs),
    repeatInterval: durationText(repeatIntervalMs),
  }
}

/** The name of a rule or channel; undefined after a report. */
export function readName(fields: Fields): string | undefined {
  if (!fields.required('name')) return undefined
  const checked = checkName('alias', fields.raw('name'))
  if (!isNameProblem(checked)) return checked.name
  return fields.problem('name', checked.code, checked.detail.replace('alias name', 'name'))
}

function readCondition(
  fields: Fields,
  text: string,
  unavailable: (query: MetricQuery) => string | undefined,
): Condition | undefined {
  const read = parseCondition(text)
  if ('error' in read) {
    const { column, message } = read.error
    return fields.problem('condition', 'condition_invalid', `Column ${column}: ${message}`)
  }
  for (const { query } of testsOf(read.condition)) {
    const why = unavailable(query)
    if (why !== undefined) return fields.problem('condition', 'metric_unavailable', why)
  }
  return read.condition
}

function readThreshold(fields: Fields, condition: Condition): number | undefined {
  const compared = testsOf(condition).filter(({ value }) => value === 'threshold')
  const value = fields.raw('threshold')
  if (value === undefined) {
    if (compared.length === 0) return undefined
    return fields.problem('threshold', 'required', '"threshold" is missing, with which the condition compares')
  }
  if (typeof value !== 'number') return fields.problem('threshold', 'type', '"threshold" must be a number')
  if (compared.length === 0) {
    const detail = 'The condition has comparisons of its own; leave "threshold" out, or write it in the condition'
    return fields.problem('threshold', 'ambiguous', detail)
  }
  const fits = compared.every(({ query }) => inRange(metricInfo(query.metric)?.dimension ?? 'any', value))
  if (fits) return value
  return fields.problem('threshold', 'range', `${value} is no value of the metric; ratios have 0 to 1`)
}

function readDuration(fields: Fields, name: string, mostMs: number): number | undefined {
  const value = fields.raw(name)
  if (value === undefined) return undefined
  const ms = parseDuration(value)
  if (ms !== undefined && ms <= mostMs) return ms
  return fields.problem(name, 'duration', `"${name}" must be a duration such as 5m, at most ${durationText(mostMs)}`)
}

/** Field errors of a part of a body, with the pointers of the whole. */
export function within(part: string, errors: readonly FieldError[]): readonly FieldError[] {
  return errors.map(error => ({ ...error, pointer: error.pointer.replace(/^#/, `#/${part}`) }))
}
