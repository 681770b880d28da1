import { LIMITS } from '../../../config/limits.ts'
import { isJsonObject, type JsonObject } from '../../../contract/json.ts'
import { cutBytes } from '../../../domain/cut-text.ts'
import type { Handshake } from './link-context.ts'

const MOST = LIMITS.serverTextBytes
/** Of one member of what is too large. */
const MEMBER = 1_024

/**
 * What a server says of itself, within limits, since it is kept for each server and shown in each list of servers. What is
 * left out is named in `warnings`.
 */
export function withinLimits(handshake: Handshake): Handshake {
  const warnings: string[] = []
  const { serverInfo, capabilities, instructions, ...rest } = handshake
  const bounded = {
    ...rest,
    serverInfo: smallMembers('serverInfo', serverInfo, warnings),
    capabilities: smallMembers('capabilities', capabilities, warnings),
    ...(instructions === undefined ? {} : { instructions: cutInstructions(instructions, warnings) }),
  }
  return warnings.length > 0 ? { ...bounded, warnings } : bounded
}

function cutInstructions(text: string, warnings: string[]): string {
  const cut = cutBytes(text, MOST)
  if (cut.length < text.length) warnings.push(`the instructions of the server are cut at ${MOST} bytes`)
  return cut
}

/** A value as it is where it is small; else its small members, and of a capability that it is there. */
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

/** The parts of a capability that are on or off. */
function flags(member: JsonObject[string]): JsonObject {
  if (!isJsonObject(member)) return {}
  const { listChanged, subscribe } = member
  return {
    ...(typeof listChanged === 'boolean' ? { listChanged } : {}),
    ...(typeof subscribe === 'boolean' ? { subscribe } : {}),
  }
}

/** The JSON of an upstream's error, at most 64 KiB: its data is left out and its message cut where it is longer. */
export function boundedError(text: string): string {
  if (text.length <= MOST) return text
  const { code, message } = JSON.parse(text) as { readonly code: number; readonly message: string }
  return JSON.stringify({ code, message: cutBytes(message, MOST / 16) })
}
