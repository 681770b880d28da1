import { HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import {
  CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  LOG_LEVEL_KEY,
  META_PREFIX,
  MODERN_VERSION,
  VERSION_KEY,
} from '../../domain/era.ts'
import { clientNameOf, clientVersionOf } from './client-name.ts'
import { type ProgressToken, progressToken } from './progress-token.ts'
import { isPlainObject, type Message } from './rpc.ts'

/** Methods whose name, URI or task is repeated in a header, with the parameter that the header repeats. */
const NAMED: Readonly<Record<string, 'name' | 'uri' | 'taskId'>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

/** The declarations of a modern request about itself and its client, taken out of its parameters. */
export interface Envelope {
  readonly capabilities: JsonObject
  readonly clientName: string
  readonly clientVersion: string | undefined
  /** As the client sent it; undefined when it wants no log messages. */
  readonly logLevel: JsonValue | undefined
  readonly progressToken: ProgressToken | undefined
  /** The state that the client sends back from an earlier round. */
  readonly requestState: JsonValue | undefined
  readonly inputResponses: JsonValue | undefined
  /** The parameters without the members above; `_meta` keeps foreign keys, such as trace context. */
  readonly params: JsonObject | undefined
}

/**
 * Reads the envelope of a request. Throws header_mismatch where the version header is missing or differs from the body,
 * version_unsupported, and envelope_invalid with the keys that are missing.
 */
export function openEnvelope({ method, params }: Extract<Message, { kind: 'request' }>, headers: Headers): Envelope {
  const { _meta, requestState, inputResponses, ...rest } = params ?? {}
  const meta = isPlainObject(_meta) ? _meta : undefined
  const version = meta?.[VERSION_KEY]
  if (version === undefined && method === 'initialize')
    throw mismatch(
      `initialize is no method of ${shown(headers.get('mcp-protocol-version') ?? MODERN_VERSION)}, which the header MCP-Protocol-Version names`,
    )
  if (typeof version === 'string') checkVersion(version, headers)
  const capabilities = meta?.[CAPABILITIES_KEY]
  if (!meta || typeof version !== 'string' || !isPlainObject(capabilities))
    throw incomplete(typeof version === 'string' ? [] : [VERSION_KEY], isPlainObject(capabilities))
  const foreign = foreignMeta(meta)
  return {
    capabilities,
    clientName: clientNameOf(meta[CLIENT_INFO_KEY]),
    clientVersion: clientVersionOf(meta[CLIENT_INFO_KEY]),
    logLevel: meta[LOG_LEVEL_KEY] ?? undefined,
    progressToken: progressToken(meta),
    requestState,
    inputResponses,
    params: foreign ? { ...rest, _meta: foreign } : rest,
  }
}

/** Throws header_mismatch where `Mcp-Method` or `Mcp-Name` is missing or differs from the body. */
export function checkStandardHeaders(method: string, params: JsonObject | undefined, headers: Headers): void {
  const methodHeader = headers.get('mcp-method')
  if (methodHeader === null) throw mismatch('The header Mcp-Method is missing')
  if (methodHeader !== method)
    throw mismatch(`The header Mcp-Method says "${shown(methodHeader)}", the body "${shown(method)}"`)
  const member = NAMED[method]
  const name = member && params?.[member]
  // A value that is not a string is rejected by the method's own validation.
  if (typeof name !== 'string') return
  const header = headers.get('mcp-name')
  if (header === null) throw mismatch('The header Mcp-Name is missing')
  if (decodeHeader(header, 'Mcp-Name') !== name)
    throw mismatch(`The header Mcp-Name says "${shown(header)}", the body "${shown(name)}"`)
}

/** A header's value, base64 form decoded. Throws header_mismatch for what is not ASCII or not base64 of UTF-8. */
export function decodeHeader(value: string, name: string): string {
  if (!/^[\x20-\x7e\t]*$/.test(value)) throw mismatch(`The header ${name} holds characters that a header cannot have`)
  if (!value.startsWith('=?base64?') || !value.endsWith('?=') || value.length < 11) return value
  const base64 = value.slice(9, -2)
  const bytes = Buffer.from(base64, 'base64')
  // Buffer skips characters that are not base64; text that does not round-trip was not valid base64.
  if (bytes.toString('base64') !== base64) throw mismatch(`The header ${name} holds no base64`)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new HubError('header_mismatch', `The header ${name} holds base64 of what is not UTF-8`, { cause })
  }
}

/** The error `header_mismatch` with this message; HTTP status 400. */
export function mismatch(message: string): HubError {
  return new HubError('header_mismatch', message)
}

function checkVersion(version: string, headers: Headers): void {
  const header = headers.get('mcp-protocol-version')
  if (header === null) throw mismatch('The header MCP-Protocol-Version is missing')
  if (header !== version)
    throw mismatch(`The header MCP-Protocol-Version says "${shown(header)}", the body "${shown(version)}"`)
  if (version !== MODERN_VERSION)
    throw new HubError('version_unsupported', `The hub does not speak the protocol version "${shown(version)}"`, {
      data: { supported: [MODERN_VERSION], requested: shown(version) },
    })
}

function incomplete(missing: readonly string[], hasCapabilities: boolean): HubError {
  const all = hasCapabilities ? missing : [...missing, CAPABILITIES_KEY]
  return new HubError('envelope_invalid', `The request's _meta lacks ${all.join(' and ')}`, { data: { missing: all } })
}

/** The members of `_meta` that the protocol does not define; undefined when there are none. */
function foreignMeta(meta: JsonObject): JsonObject | undefined {
  let foreign: Record<string, JsonValue> | undefined
  for (const key in meta) {
    if (key === 'progressToken' || key.startsWith(META_PREFIX)) continue
    foreign ??= {}
    foreign[key] = meta[key] as JsonValue
  }
  return foreign
}

function shown(text: string): string {
  return text.slice(0, 64)
}
