import { createHash, randomBytes } from 'node:crypto'
import type { JsonObject } from '../../contract/json.ts'
import { LEGACY_VERSIONS } from '../../domain/era.ts'
import type { Sealer } from '../../secrets/seal.ts'
import { isPlainObject } from '../rpc/rpc.ts'
import type { Introduction, SessionWire } from './session.ts'

/** Seals and opens session ids. */
export type TokenSealer = Pick<Sealer, 'sealTokenBytes' | 'openTokenBytes'>

const PURPOSE = 'mcp-session'
/** An id stores the index of its version in this list: new versions must be appended. */
const VERSIONS: readonly string[] = LEGACY_VERSIONS
const BOUND_BYTES = 16
const RECORD_BYTES = 16
/** Version, transport, flags of the capabilities. */
const FACT_BYTES = 4
const HEAD_BYTES = BOUND_BYTES + RECORD_BYTES + FACT_BYTES
/** Most bytes of the client's name and version as JSON, else they are left out: an id has at most 256 characters. */
const MAX_CLIENT_BYTES = 120

/** The client capabilities that the hub or a server uses; each is one flag. Others are unknown after a restart. */
const CAPABILITIES: readonly (readonly [name: string, part?: string])[] = [
  ['sampling'],
  ['sampling', 'tools'],
  ['sampling', 'context'],
  ['elicitation'],
  ['elicitation', 'form'],
  ['elicitation', 'url'],
  ['roots'],
  ['roots', 'listChanged'],
]

/** The contents of a sealed session id. */
export interface SealedSession extends Introduction {
  /** Hash of principal and path: the id is valid for no others. */
  readonly bound: Buffer
  readonly wire: SessionWire
}

/** The hash of principal and path in a session id. */
export function boundTo(principal: string, scopePath: string): Buffer {
  return createHash('sha256').update(`${principal}|${scopePath}`).digest().subarray(0, BOUND_BYTES)
}

/** A new id: unguessable, at most 256 visible ASCII characters. */
export function sealSessionId(sealer: TokenSealer, session: SealedSession): string {
  const { bound, wire, protocolVersion, capabilities, clientInfo } = session
  const facts = Buffer.alloc(FACT_BYTES)
  facts[0] = VERSIONS.indexOf(protocolVersion)
  facts[1] = wire === 'sse' ? 1 : 0
  facts.writeUInt16BE(flagsOf(capabilities), 2)
  const client = Buffer.from(JSON.stringify([clientInfo.name ?? null, clientInfo.version ?? null]))
  const parts = [bound, randomBytes(RECORD_BYTES), facts]
  if (client.length <= MAX_CLIENT_BYTES) parts.push(client)
  return sealer.sealTokenBytes(PURPOSE, Buffer.concat(parts))
}

/** The contents; undefined for a text that this hub did not seal as a session id. */
export function openSessionId(sealer: TokenSealer, id: string): SealedSession | undefined {
  const opened = sealer.openTokenBytes(PURPOSE, id)
  if (!opened || opened.length < HEAD_BYTES) return undefined
  const bytes = Buffer.from(opened)
  const facts = bytes.subarray(BOUND_BYTES + RECORD_BYTES, HEAD_BYTES)
  const protocolVersion = VERSIONS[facts[0] ?? -1]
  if (protocolVersion === undefined) return undefined
  return {
    bound: bytes.subarray(0, BOUND_BYTES),
    wire: facts[1] === 1 ? 'sse' : 'streamable-http',
    protocolVersion,
    capabilities: capabilitiesOf(facts.readUInt16BE(2)),
    clientInfo: clientOf(bytes.subarray(HEAD_BYTES).toString()),
  }
}

function flagsOf(capabilities: JsonObject): number {
  let flags = 0
  CAPABILITIES.forEach(([name, part], index) => {
    const capability = capabilities[name]
    if (!isPlainObject(capability)) return
    if (part === undefined || isPlainObject(capability[part]) || capability[part] === true) flags |= 1 << index
  })
  return flags
}

function capabilitiesOf(flags: number): JsonObject {
  const capabilities: Record<string, JsonObject> = {}
  CAPABILITIES.forEach(([name, part], index) => {
    if ((flags & (1 << index)) === 0) return
    const value = part === undefined ? {} : { [part]: part === 'listChanged' ? true : {} }
    capabilities[name] = { ...capabilities[name], ...value }
  })
  return capabilities
}

function clientOf(text: string): JsonObject {
  if (text === '') return {}
  const [name, version] = JSON.parse(text)
  return { ...(name === null ? {} : { name }), ...(version === null ? {} : { version }) }
}
