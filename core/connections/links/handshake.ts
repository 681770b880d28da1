import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { cutShort } from '../../domain/cut-short.ts'
import type { Handshake } from './link-context.ts'

/** The last version of the era with a handshake, which is what the hub asks for. */
export const LEGACY_VERSION = '2025-11-25'
const LEGACY_VERSIONS: readonly string[] = ['2024-11-05', '2025-03-26', '2025-06-18', LEGACY_VERSION]

export function initializeParams(capabilities: JsonObject, hubVersion: string): JsonObject {
  return { protocolVersion: LEGACY_VERSION, capabilities, clientInfo: { name: 'patchbay', version: hubVersion } }
}

/** Reads the result of `initialize`; throws `upstream_protocol` when it cannot be used. */
export function readHandshake(result: JsonValue): Handshake {
  if (!isJsonObject(result)) throw new HubError('upstream_protocol', 'The server answered initialize with no object')
  const { protocolVersion, serverInfo, capabilities, instructions } = result
  if (typeof protocolVersion !== 'string' || !LEGACY_VERSIONS.includes(protocolVersion)) {
    const said = cutShort(JSON.stringify(protocolVersion ?? null), 60)
    throw new HubError(
      'upstream_protocol',
      `The server answered initialize with protocol version ${said}; the hub speaks ${LEGACY_VERSIONS.join(', ')}`,
    )
  }
  return {
    protocolVersion,
    serverInfo: isJsonObject(serverInfo) ? serverInfo : {},
    capabilities: isJsonObject(capabilities) ? capabilities : {},
    ...(typeof instructions === 'string' ? { instructions } : {}),
  }
}
