import type { JsonObject } from '../../contract/json.ts'
import { Fields } from '../json/fields.ts'
import { nameKey } from '../names.ts'
import { parseTime } from '../timestamp.ts'
import { validationError } from '../validation-error.ts'
import { SEVERITIES } from './rule-body.ts'

const LONGEST_MS = 30 * 24 * 60 * 60_000

/** Filter and period of a silence. Absent fields match any alert. Times are ISO 8601 UTC. */
export interface Silence {
  readonly rule?: string
  readonly server?: string
  readonly severity?: (typeof SEVERITIES)[number]
  readonly comment: string
  readonly startsAt: string
  readonly endsAt: string
}

/** Fields of an alert that a silence is matched with. */
export interface Silenced {
  readonly rule: string
  /** The server as `owner~name`. */
  readonly server?: string
  readonly severity: string
}

/** Reads a silence's body; `startsAt` is now when absent. Throws `validation_failed` with all wrong fields. */
export function parseSilence(body: JsonObject, nowMs: number): Silence {
  const fields = new Fields(body)
  fields.refuseUnknown(['rule', 'server', 'severity', 'comment', 'startsAt', 'endsAt'])
  const rule = readMatcher(fields, 'rule')
  const server = readMatcher(fields, 'server')
  const severity = fields.oneOf('severity', SEVERITIES)
  const comment = fields.text('comment') ?? ''
  const startsAtMs = readTime(fields, 'startsAt', nowMs) ?? nowMs
  const endsAtMs = fields.required('endsAt') ? readTime(fields, 'endsAt', nowMs) : undefined
  if (endsAtMs !== undefined && (endsAtMs <= startsAtMs || endsAtMs <= nowMs)) {
    fields.problem('endsAt', 'range_order', '"endsAt" must lie in the future and behind "startsAt"')
  } else if (endsAtMs !== undefined && endsAtMs - startsAtMs > LONGEST_MS) {
    fields.problem('endsAt', 'range', 'A silence lasts 30 days at most')
  }
  if (fields.errors.length > 0 || endsAtMs === undefined) {
    throw validationError(fields.errors, 'The silence cannot be saved')
  }
  const matchers = { ...(rule ? { rule } : {}), ...(server ? { server } : {}), ...(severity ? { severity } : {}) }
  return {
    ...matchers,
    comment,
    startsAt: new Date(startsAtMs).toISOString(),
    endsAt: new Date(endsAtMs).toISOString(),
  }
}

/** True when the silence suppresses messages about this alert at this time (ISO 8601 UTC). */
export function isSilenced(silence: Omit<Silence, 'comment'>, alert: Silenced, at: string): boolean {
  if (at < silence.startsAt || at >= silence.endsAt) return false
  if (silence.rule !== undefined && nameKey(silence.rule) !== nameKey(alert.rule)) return false
  if (silence.server !== undefined && !isServer(silence.server, alert.server)) return false
  return silence.severity === undefined || silence.severity === alert.severity
}

/** By its name, or as `owner~name`. */
function isServer(wanted: string, server: string | undefined): boolean {
  if (server === undefined) return false
  const [key, of] = [nameKey(wanted), nameKey(server)]
  return of === key || of.slice(of.indexOf('~') + 1) === key
}

/** An empty text is refused: it would be taken for any. */
function readMatcher(fields: Fields, name: 'rule' | 'server'): string | undefined {
  const text = fields.text(name)
  return text === '' ? fields.problem(name, 'length', `"${name}" is empty; leave it out for any ${name}`) : text
}

function readTime(fields: Fields, name: string, nowMs: number): number | undefined {
  const text = fields.string(name)
  if (text === undefined) return undefined
  const ms = parseTime(text, nowMs)
  if (ms !== undefined) return ms
  return fields.problem(
    name,
    'timestamp',
    `"${name}" must be an ISO 8601 time with its zone, or by now, such as now+2h`,
  )
}
