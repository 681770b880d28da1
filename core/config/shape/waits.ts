import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { parseDuration } from '../../domain/duration.ts'

/** Fields of other programs for a time, by their letters alone: our field, and the milliseconds of one unit. 0: see `unitOf`. */
const FIELDS: Readonly<Record<string, readonly [field: 'timeout' | 'startTimeout', unitMs: number]>> = {
  ...{
    timeout: ['timeout', 0],
    tooltimeout: ['timeout', 0],
    requesttimeout: ['timeout', 0],
    calltimeout: ['timeout', 0],
  },
  ...{ timeoutms: ['timeout', 1], timeoutmillis: ['timeout', 1], timeoutmilliseconds: ['timeout', 1] },
  ...{ tooltimeoutms: ['timeout', 1], requesttimeoutms: ['timeout', 1], executiontimeout: ['timeout', 0] },
  ...{ timeoutsec: ['timeout', 1_000], timeoutsecs: ['timeout', 1_000], timeoutseconds: ['timeout', 1_000] },
  ...{ tooltimeoutsec: ['timeout', 1_000], tooltimeoutseconds: ['timeout', 1_000] },
  ...{ readtimeoutseconds: ['timeout', 1_000], clientsessiontimeoutseconds: ['timeout', 1_000] },
  ...{ starttimeout: ['startTimeout', 0], startuptimeout: ['startTimeout', 0], startuptimeoutms: ['startTimeout', 1] },
  ...{ startuptimeoutsec: ['startTimeout', 1_000], startuptimeoutseconds: ['startTimeout', 1_000] },
  ...{ inittimeout: ['startTimeout', 1], connectiontimeout: ['startTimeout', 0], connecttimeout: ['startTimeout', 0] },
}

/** Members of clients whose `timeout` is in seconds: LangChain and Dify, LiteLLM. */
const OF_SECONDS = ['sse_read_timeout', 'read_timeout_seconds', 'static_headers', 'auth_type', 'mcp_info']
/** No client waits less than this many milliseconds: a smaller number counts seconds. */
const SHORT_MS = 1_000

/** An entry with its times in milliseconds, and sentences about numbers whose unit is a guess. */
export interface Waits {
  readonly entry: JsonObject
  /** The document's names of our fields, where they differ. */
  readonly written: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
}

/**
 * Reads times as texts (`"60s"`, `"60000"`) and under the names of other programs. A number under a name without a unit is in the
 * unit of its client where the entry shows which that is, else in milliseconds, and below 1,000 in seconds.
 */
export function withWaits(entry: JsonObject): Waits {
  const result: Record<string, JsonValue> = { ...entry }
  const written: Record<string, string> = {}
  const warnings: string[] = []
  for (const [key, value] of Object.entries(entry)) {
    const [field, unitMs] = fieldOf(key)
    if (field === undefined || value === null) continue
    if (key !== field) {
      if (result[field] !== undefined && result[field] !== null) continue
      delete result[key]
      written[field] = key
    }
    result[field] = waitOf(value, unitMs || unitOf(entry, value))
    if (unitMs === 0 && !isText(value) && isShort(value))
      warnings.push(`its ${key} ${shown(value)} counts as seconds; set it again if it is milliseconds`)
  }
  return { entry: result, written, warnings }
}

function fieldOf(key: string): readonly [field: 'timeout' | 'startTimeout' | undefined, unitMs: number] {
  const plain = key.toLowerCase().replaceAll(/[^a-z]/g, '')
  return (Object.hasOwn(FIELDS, plain) ? FIELDS[plain] : undefined) ?? [undefined, 0]
}

/** A text with a unit of its own. */
function isText(value: JsonValue): boolean {
  return typeof value === 'string' && !/^\s*\d+(?:\.\d+)?\s*$/.test(value)
}

function isShort(value: JsonValue): boolean {
  return Number(value) > 0 && Number(value) < SHORT_MS
}

function shown(value: JsonValue): string {
  return String(value).slice(0, 16)
}

function unitOf(entry: JsonObject, value: JsonValue): number {
  return isShort(value) || OF_SECONDS.some(member => Object.hasOwn(entry, member)) ? 1_000 : 1
}

/** Milliseconds; what is no time stays, so that it is reported. */
function waitOf(value: JsonValue, unitMs: number): JsonValue {
  if (typeof value === 'string' && value.length > 64) return value
  if (isText(value)) return parseDuration(worded(String(value))) ?? value
  const number = typeof value === 'string' ? Number(value) : value
  return typeof number === 'number' ? Math.round(number * unitMs) : value
}

/** `1 min 30 sec` as `1m30s`. */
function worded(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/\s+/g, '')
    .replaceAll(/milliseconds?|millis?/g, 'ms')
    .replaceAll(/seconds?|secs?/g, 's')
    .replaceAll(/minutes?|mins?/g, 'm')
    .replaceAll(/hours?|hrs?/g, 'h')
}
