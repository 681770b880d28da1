import { LIMITS } from '../../../config/limits.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { cutBytes } from '../../../transport-kit/cut-text.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'
import { COMMON, flag, mend, text } from '../lists/keep.ts'
import type { Handshake } from './link-context.ts'

const MOST = LIMITS.serverTextBytes
/** Most characters of one member of an object that exceeds the limit. */
const MEMBER = 1_024

/**
 * Normalizes the server's handshake result as lists are, and truncates it to limits, since it is stored for each server and shown in each list of
 * servers. Omitted members are named in `warnings`.
 */
export function withinLimits(handshake: Handshake): Handshake {
  const warnings: string[] = []
  const { serverInfo, capabilities, instructions, ...rest } = handshake
  const bounded = {
    ...rest,
    serverInfo: smallMembers('serverInfo', normalizedInfo(serverInfo), warnings),
    capabilities: smallMembers('capabilities', normalizedCapabilities(capabilities), warnings),
    ...(instructions === undefined ? {} : { instructions: cutInstructions(instructions, warnings) }),
  }
  return warnings.length > 0 ? { ...bounded, warnings } : bounded
}

/** The capabilities that a server declared; a list of names stands for an object with these members. */
export function readCapabilities(value: JsonValue | undefined): Pick<Handshake, 'capabilities' | 'isUndeclared'> {
  if (isJsonObject(value)) return { capabilities: value }
  const names = Array.isArray(value) ? value.filter(name => typeof name === 'string') : []
  if (names.length === 0) return { capabilities: {}, isUndeclared: true }
  return { capabilities: Object.fromEntries(names.map(name => [name, {}])) }
}

/** Clients demand a version; a server without a name is presented as the hub. */
function normalizedInfo(serverInfo: JsonObject): JsonObject {
  const { version } = serverInfo
  const { item } = mend(serverInfo, { ...COMMON, name: text, websiteUrl: text })
  if (typeof version === 'string' || typeof item.name !== 'string') return item
  return { ...item, version: typeof version === 'number' ? String(version) : '' }
}

/** A capability is an object; `true` stands for an empty one, null and false for none. */
function normalizedCapabilities(capabilities: JsonObject): JsonObject {
  const kept = Object.entries(capabilities).flatMap(([name, value]): [string, JsonObject][] => {
    if (value === true) return [[name, {}]]
    return isJsonObject(value) ? [[name, mend(value, { listChanged: flag, subscribe: flag }).item]] : []
  })
  return Object.fromEntries(kept)
}

function cutInstructions(given: string, warnings: string[]): string {
  const cut = cutBytes(given, MOST)
  if (cut.length < given.length) warnings.push(`the instructions of the server are cut at ${MOST} bytes`)
  return cut
}

/** The value unchanged if it is small; otherwise its small members, and of each capability at least its presence. */
function smallMembers(name: 'serverInfo' | 'capabilities', value: JsonObject, warnings: string[]): JsonObject {
  if (Buffer.byteLength(JSON.stringify(value)) <= MOST) return value
  warnings.push(`what is large in the ${name} of the server is left out: it has more than ${MOST} bytes`)
  const small: JsonObject = {}
  let left = MOST
  for (const [key, member] of Object.entries(value)) {
    const fits = Buffer.byteLength(key) + Buffer.byteLength(JSON.stringify(member)) <= MEMBER
    if (!fits && (name === 'serverInfo' || !isJsonObject(member) || key.length > MEMBER)) continue
    left -= MEMBER
    if (left < 0) break
    small[key] = fits ? member : flags(member)
  }
  return small
}

/** The boolean members of a capability. */
function flags(member: JsonObject[string]): JsonObject {
  if (!isJsonObject(member)) return {}
  const { listChanged, subscribe } = member
  return {
    ...(typeof listChanged === 'boolean' ? { listChanged } : {}),
    ...(typeof subscribe === 'boolean' ? { subscribe } : {}),
  }
}

/** The JSON of an upstream's error, at most 64 KiB: if longer, its data is omitted and its message truncated. */
export function boundedError(json: string): string {
  if (json.length <= MOST) return json
  const { code, message } = JSON.parse(json) as { readonly code: number; readonly message: string }
  return JSON.stringify({ code, message: cutBytes(message, MOST / 16) })
}

/**
 * Why a start has failed that took too long. `firstMethod`: the first request, once it was sent; `received`: the last message
 * that was no valid one.
 */
export function startTimeout(firstMethod: string | undefined, startTimeoutMs: number, received?: string): WireError {
  const waited = firstMethod
    ? `The server did not answer ${firstMethod} within ${startTimeoutMs} ms`
    : `The server did not begin a session within ${startTimeoutMs} ms; is this the address of its MCP endpoint?`
  return {
    code: 'upstream_init_timeout',
    message: received === undefined ? waited : `${waited}; it sent ${received}`,
  }
}
