import type { FieldError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { durationText, parseDuration } from '../duration.ts'
import { ANSWERED_FIELDS, Fields, STRING_BYTES } from '../json/fields.ts'
import { checkName, isNameProblem, NAME_CHARACTERS } from '../names.ts'
import { validationError } from '../validation-error.ts'
import { CONDITION_CHARACTERS, type Condition, type MetricQuery, parseCondition, testsOf } from './condition.ts'
import { type AlertTiming, usualKeepFiringFor } from './machine.ts'
import { inRange, metricInfo } from './metrics.ts'

/** Kinds of subjects that a rule evaluates separately. */
export const SUBJECTS = ['server', 'tool', 'owner', 'total'] as const
export const SEVERITIES = ['warning', 'critical'] as const
const NO_DATA = ['keep', 'ok', 'alert'] as const

const DAY_MS = 24 * 60 * 60_000
/** Most channels that one rule names. */
const CHANNELS = 20
const TEXT: JsonObject = { type: 'string', maxLength: STRING_BYTES }
const NAME: JsonObject = { type: 'string', minLength: 1, maxLength: NAME_CHARACTERS }
const duration = (mostMs: number, description: string): JsonObject => ({
  anyOf: [
    { type: 'string', maxLength: STRING_BYTES },
    { type: 'integer', minimum: 0, maximum: mostMs },
  ],
  description,
})

/** The JSON Schema of each field of a rule's body, which are all that it may have. */
export const RULE_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  name: { ...NAME, description: 'Unique among its owner’s rules; 1 to 64 characters, no `/ ~ :` or controls.' },
  enabled: { type: 'boolean', default: true, description: 'Whether the rule is evaluated.' },
  condition: {
    ...{ type: 'string', minLength: 1, maxLength: CONDITION_CHARACTERS },
    description: 'When the alert fires, such as `error_rate[5m] > 5%`.',
  },
  threshold: {
    type: 'number',
    description:
      'The number for the word `threshold`, or for a metric without a comparison, in the metric’s base unit.',
  },
  duration: {
    ...duration(DAY_MS, 'How long the condition must hold: a text such as `5m`, or milliseconds; at most a day.'),
    default: '1m',
  },
  severity: {
    type: 'string',
    enum: [...SEVERITIES],
    description: 'How bad it is, which silences and receivers look at.',
  },
  per: {
    ...{ type: 'string', enum: [...SUBJECTS], default: 'server' },
    description: 'What is evaluated by itself, and alerted about by itself.',
  },
  channels: {
    ...{ type: 'array', items: TEXT, maxItems: CHANNELS },
    description: 'Names of the owner’s channels that get the messages; by default all that are enabled.',
  },
  keepFiringFor: duration(
    DAY_MS,
    'How long the condition must be false before the alert is resolved; by default `duration` within 30s and 5m.',
  ),
  repeatInterval: {
    ...duration(30 * DAY_MS, 'Time between two messages about an alert that goes on, 0 for never; at most 30 days.'),
    default: '4h',
  },
  noData: {
    ...{ type: 'string', enum: [...NO_DATA], default: 'keep' },
    description: 'What counts where there is no data: the state so far (for a time), false, or true.',
  },
}
const ANSWER_FIELDS = [...ANSWERED_FIELDS, 'health', 'pending']

const DURATIONS = ['duration', 'keepFiringFor', 'repeatInterval'] as const

/** An alert rule with its defaults filled in. */
export interface AlertRule extends AlertTiming {
  readonly name: string
  readonly enabled: boolean
  /** The condition's text as written. */
  readonly condition: string
  /** In the base unit of the metrics that are compared with it. */
  readonly threshold?: number
  readonly severity: (typeof SEVERITIES)[number]
  readonly per: (typeof SUBJECTS)[number]
  /** Names of its owner's channels; absent: all that are enabled. */
  readonly channels?: readonly string[]
  /** Texts of durations that the hub would write in another way, such as `90s` for `1m30s`. */
  readonly written?: Readonly<Partial<Record<(typeof DURATIONS)[number], string>>>
}

/**
 * Reads a rule's body. Throws `validation_failed` with all wrong fields. `unavailable` returns the reason why a metric is not
 * available. A duration is a text with a unit or milliseconds.
 */
export function parseRuleBody(
  body: JsonObject,
  unavailable: (query: MetricQuery) => string | undefined,
): { readonly rule: AlertRule; readonly condition: Condition } {
  const fields = new Fields(body)
  fields.refuseUnknown([...Object.keys(RULE_SCHEMAS), ...ANSWER_FIELDS])
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
    noData: fields.oneOf('noData', NO_DATA) ?? 'keep',
  } as const
  if (fields.errors.length > 0 || name === undefined || text === undefined || !condition || !severity) {
    throw validationError(fields.errors, 'The alert rule cannot be saved')
  }
  const optional = {
    ...{ ...(threshold === undefined ? {} : { threshold }), ...(channels ? { channels } : {}) },
    ...writtenDurations(fields),
  }
  return { rule: { name, condition: text, severity, ...rest, ...optional }, condition }
}

function readChannels(fields: Fields): readonly string[] | undefined {
  const channels = fields.strings('channels')
  if ((channels?.length ?? 0) > CHANNELS) fields.problem('channels', 'length', `A rule names at most ${CHANNELS}`)
  return channels
}

/** A rule as the API shows it, which `parseRuleBody` reads back. */
export function ruleBody({ durationMs, keepFiringForMs, repeatIntervalMs, written, ...rule }: AlertRule): JsonObject {
  return {
    ...(rule as unknown as JsonObject),
    duration: durationText(durationMs),
    keepFiringFor: durationText(keepFiringForMs),
    repeatInterval: durationText(repeatIntervalMs),
    ...written,
  }
}

function writtenDurations(fields: Fields): Pick<AlertRule, 'written'> {
  const texts = DURATIONS.flatMap(name => {
    const text = fields.raw(name)
    const ms = parseDuration(text)
    return typeof text === 'string' && ms !== undefined && durationText(ms) !== text ? [[name, text] as const] : []
  })
  return texts.length === 0 ? {} : { written: Object.fromEntries(texts) }
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
  if (compared.length === 0) return readEqualThreshold(fields, condition, value)
  const fits = compared.every(({ query }) => inRange(metricInfo(query.metric)?.dimension ?? 'any', value))
  if (fits) return value
  return fields.problem('threshold', 'range', `${value} is no value of the metric; ratios have 0 to 1`)
}

/** Reads a threshold given beside a comparison: it must be the same number, in the metric's base unit. */
function readEqualThreshold(fields: Fields, condition: Condition, threshold: number): number | undefined {
  const written = testsOf(condition).map(({ value }) => (typeof value === 'object' ? value.state : value))
  if (written.some(value => typeof value === 'number' && isClose(value, threshold))) return threshold
  const other = `"threshold" is ${threshold}, and the condition compares with ${written.join(', ')}`
  return fields.problem('threshold', 'ambiguous', `${other}; leave "threshold" out, or give the same number`)
}

/** Percentages have rounding errors: 7 times 0.01 is not 0.07. */
function isClose(a: number, b: number): boolean {
  return Math.abs(a - b) <= Math.max(Math.abs(a), Math.abs(b)) * 1e-9
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
