import type { HealthCheck, ServerSettings } from '../../contract/records.ts'
import type { Fields } from '../json/fields.ts'
import { RESULT_BYTES } from '../result-bytes.ts'
import { checkPassthroughHeader, HEADER_COUNT } from './address.ts'
import { readNames, readToolOverrides } from './tool-override.ts'

/** The default request timeout of the MCP SDK. */
const DEFAULT_TIMEOUT_MS = 60_000
const LONGEST_TIMEOUT_MS = 3_600_000
const DEFAULT_MAX_TIMEOUT_MS = 600_000
const LONGEST_MAX_TIMEOUT_MS = 86_400_000
const DEFAULT_LAZY_IDLE_MS = 300_000
/** The longest delay of a timer in the runtime. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Shortest interval between two health checks, so that they do not overload a server. */
const SHORTEST_INTERVAL_MS = 100
const PATH_BYTES = 2_048
/** Regular checks of a server that says nothing of them; times in milliseconds. */
export const HEALTH_CHECK: HealthCheck = { enabled: true, interval: 30_000, timeout: 5_000, retries: 2 }

type Common = Omit<ServerSettings, 'name' | 'transport' | 'transportInferred' | 'config' | 'variables' | 'secrets'>

/** Parses the fields common to all transports, with their defaults. Problems are added to `fields.errors`. */
export function readCommon(fields: Fields): Common {
  const description = fields.text('description')
  const maxResultBytes = fields.integer('maxResultBytes', RESULT_BYTES.least, RESULT_BYTES.most, 'bytes')
  const session = fields.oneOf('session', ['auto', 'shared', 'per-session', 'per-user'])
  const era = fields.oneOf('era', ['auto', 'legacy', 'modern'])
  const start = fields.oneOf('start', ['eager', 'lazy']) ?? 'eager'
  const idleTimeoutMs =
    fields.integer('idleTimeout', 1, LONGEST_TIMER_MS, 'milliseconds') ??
    (start === 'lazy' ? DEFAULT_LAZY_IDLE_MS : undefined)
  return {
    ...(description === undefined ? {} : { description }),
    ...readTimeouts(fields),
    ...(maxResultBytes === undefined || maxResultBytes === RESULT_BYTES.usual ? {} : { maxResultBytes }),
    visibility: fields.oneOf('visibility', ['private', 'public']) ?? 'private',
    enabled: readEnabled(fields),
    ...(session === undefined ? {} : { session }),
    ...(era === undefined || era === 'auto' ? {} : { era }),
    start,
    ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
    isolate: fields.boolean('isolate') ?? false,
    healthCheck: readHealthCheck(fields),
    passthroughHeaders: readPassthroughHeaders(fields),
    tools: readToolOverrides(fields),
    ...readOffered(fields),
  }
}

function readTimeouts(fields: Fields): Pick<Common, 'timeoutMs' | 'maxTimeoutMs'> {
  const timeoutMs = fields.integer('timeout', 1, LONGEST_TIMEOUT_MS, 'milliseconds') ?? DEFAULT_TIMEOUT_MS
  const maxTimeoutMs = fields.integer('maxTimeout', 1, LONGEST_MAX_TIMEOUT_MS, 'milliseconds')
  if (maxTimeoutMs !== undefined && maxTimeoutMs < timeoutMs) {
    const detail = `"maxTimeout" is ${maxTimeoutMs}; it must be at least "timeout" (${timeoutMs})`
    fields.problem('maxTimeout', 'range', detail)
  }
  return { timeoutMs, maxTimeoutMs: maxTimeoutMs ?? Math.max(timeoutMs, DEFAULT_MAX_TIMEOUT_MS) }
}

/** `disabled` is used by settings files of other programs. */
function readEnabled(fields: Fields): boolean {
  const enabled = fields.boolean('enabled')
  const disabled = fields.boolean('disabled')
  if (enabled !== undefined && disabled !== undefined && enabled === disabled) {
    fields.problem('disabled', 'ambiguous', `"enabled" and "disabled" are both ${enabled}`)
  }
  return enabled ?? !(disabled ?? false)
}

function readHealthCheck(fields: Fields): HealthCheck {
  const block = fields.nested('healthCheck')
  if (!block) return HEALTH_CHECK
  block.refuseUnknown(['enabled', 'interval', 'timeout', 'retries', 'endpoints'])
  const endpoints = block.nested('endpoints')
  endpoints?.refuseUnknown(['ping', 'tools'])
  const ping = endpoints && readPath(endpoints, 'ping')
  const tools = endpoints && readPath(endpoints, 'tools')
  return {
    enabled: block.boolean('enabled') ?? HEALTH_CHECK.enabled,
    interval:
      block.integer('interval', SHORTEST_INTERVAL_MS, LONGEST_TIMER_MS, 'milliseconds') ?? HEALTH_CHECK.interval,
    timeout: block.integer('timeout', 1, LONGEST_TIMEOUT_MS, 'milliseconds') ?? HEALTH_CHECK.timeout,
    retries: block.integer('retries', 0, 100) ?? HEALTH_CHECK.retries,
    ...(endpoints
      ? { endpoints: { ...(ping === undefined ? {} : { ping }), ...(tools === undefined ? {} : { tools }) } }
      : {}),
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

function readPassthroughHeaders(fields: Fields): readonly string[] {
  const names = fields.strings('passthroughHeaders') ?? []
  if (names.length > HEADER_COUNT) {
    const detail = `At most ${HEADER_COUNT} headers are passed on, not ${names.length}`
    fields.problem('passthroughHeaders', 'headers_too_large', detail)
    return []
  }
  for (const [index, name] of names.entries()) {
    checkPassthroughHeader(name, `${fields.pointer('passthroughHeaders')}/${index}`, error => fields.errors.push(error))
  }
  return [...new Set(names.map(name => name.toLowerCase()))]
}

/** Left out when they equal the default. */
function readOffered(fields: Fields): Pick<ServerSettings, 'definitionPolicy' | 'prompts' | 'resources'> {
  const definitionPolicy = fields.oneOf('definitionPolicy', ['report', 'pin'])
  const prompts = readNames(fields, 'prompts')
  const resources = readNames(fields, 'resources')
  return {
    ...(definitionPolicy === 'pin' ? { definitionPolicy } : {}),
    ...(prompts === 'all' ? {} : { prompts }),
    ...(resources === 'all' ? {} : { resources }),
  }
}
