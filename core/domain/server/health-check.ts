import type { JsonObject } from '../../contract/json.ts'
import type { HealthCheck } from '../../contract/records.ts'
import type { Fields } from '../json/fields.ts'

/** Longest wait for an answer that a server can have, in milliseconds. */
export const LONGEST_TIMEOUT_MS = 3_600_000
/** The longest delay of a timer in the runtime, in milliseconds. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Shortest interval between two health checks, so that they do not overload a server. */
const SHORTEST_INTERVAL_MS = 100
const MOST_RETRIES = 100
const PATH_BYTES = 2_048
/** Default health checks of a server; times in milliseconds. */
export const HEALTH_CHECK: HealthCheck = { enabled: true, interval: 30_000, timeout: 5_000, retries: 2 }

/** The schema of a whole number of milliseconds. */
export function milliseconds(minimum: number, maximum: number): JsonObject {
  return { type: 'integer', minimum, maximum }
}

const path = (description: string): JsonObject => ({ type: 'string', maxLength: PATH_BYTES, description })

/** JSON Schema of a server's `healthCheck`. */
export const HEALTH_CHECK_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    enabled: {
      type: 'boolean',
      default: HEALTH_CHECK.enabled,
      description: 'Whether the server is checked regularly.',
    },
    interval: {
      ...milliseconds(SHORTEST_INTERVAL_MS, LONGEST_TIMER_MS),
      ...{ default: HEALTH_CHECK.interval, description: 'Milliseconds between two checks; at least `timeout`.' },
    },
    timeout: {
      ...milliseconds(1, LONGEST_TIMEOUT_MS),
      ...{
        default: HEALTH_CHECK.timeout,
        description: 'Milliseconds that a check may take; by default no more than `interval`.',
      },
    },
    retries: {
      ...{ type: 'integer', minimum: 0, maximum: MOST_RETRIES, default: HEALTH_CHECK.retries },
      description: 'Failures in a row that count as a loss.',
    },
    endpoints: {
      type: 'object',
      properties: {
        ping: path('A path below the root of the server’s address that answers 2xx while the server lives.'),
        tools: path('A path below the root of the server’s address that answers 2xx while its tools work.'),
      },
      description:
        'Paths that each check requests by GET, besides a question by MCP where the server speaks it; not for stdio.',
    },
  },
  description: 'The regular checks of the connection.',
}

/** Parses a server's `healthCheck`, with its defaults. */
export function readHealthCheck(fields: Fields): HealthCheck {
  const block = fields.nested('healthCheck')
  if (!block) return HEALTH_CHECK
  block.refuseUnknown(['enabled', 'interval', 'timeout', 'retries', 'endpoints'])
  const endpoints = block.nested('endpoints')
  endpoints?.refuseUnknown(['ping', 'tools'])
  const ping = endpoints && readPath(endpoints, 'ping')
  const tools = endpoints && readPath(endpoints, 'tools')
  return {
    enabled: block.boolean('enabled') ?? HEALTH_CHECK.enabled,
    ...readTimes(block),
    retries: block.integer('retries', 0, MOST_RETRIES) ?? HEALTH_CHECK.retries,
    ...(endpoints
      ? { endpoints: { ...(ping === undefined ? {} : { ping }), ...(tools === undefined ? {} : { tools }) } }
      : {}),
  }
}

/**
 * Reads both times. A check must end before the next one is due: if both are given, the interval must not be shorter; otherwise
 * the default of one is adjusted to the other.
 */
function readTimes(block: Fields): Pick<HealthCheck, 'interval' | 'timeout'> {
  const interval = block.integer('interval', SHORTEST_INTERVAL_MS, LONGEST_TIMER_MS, 'milliseconds')
  const timeout = block.integer('timeout', 1, LONGEST_TIMEOUT_MS, 'milliseconds')
  if (interval !== undefined && timeout !== undefined && interval < timeout) {
    const range = `from ${Math.max(timeout, SHORTEST_INTERVAL_MS)} to ${LONGEST_TIMER_MS}`
    const detail = `"interval" is ${interval} and "timeout" ${timeout}; beside it "interval" must be a whole number of milliseconds ${range}`
    block.problem('interval', 'range', detail)
  }
  return {
    interval: interval ?? Math.max(HEALTH_CHECK.interval, timeout ?? 0),
    timeout: timeout ?? Math.min(HEALTH_CHECK.timeout, interval ?? HEALTH_CHECK.timeout),
  }
}

/** A path on the server's own origin, optionally with a query. */
function readPath(fields: Fields, name: string): string | undefined {
  const path = fields.string(name, PATH_BYTES)
  if (path === undefined) return undefined
  const usable = /^[\x21-\x7e]+$/.test(path) && !/[\\#]|:\/\/|^\/\//.test(path)
  if (usable) return path
  return fields.problem(name, 'format', `"${name}" must be a path on the server's own address, such as "/health"`)
}
