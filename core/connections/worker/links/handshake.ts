import { HubError } from '../../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { cutShort } from '../../../domain/cut-short.ts'
import { LATEST_LEGACY, LEGACY_VERSIONS } from '../../../domain/era.ts'
import type { Handshake } from './link-context.ts'

/** The params of `initialize`, with the newest legacy version. */
export function initializeParams(capabilities: JsonObject, hubVersion: string): JsonObject {
  return { protocolVersion: LATEST_LEGACY, capabilities, clientInfo: { name: 'patchbay', version: hubVersion } }
}

/** Reads the result of `initialize`; throws `upstream_protocol` when it cannot be used. */
export function readHandshake(result: JsonValue): Handshake {
  if (!isJsonObject(result)) throw new HubError('upstream_protocol', 'The server answered initialize with no object')
  const { protocolVersion, serverInfo, capabilities, instructions } = result
  if (typeof protocolVersion !== 'string' || !LEGACY_VERSIONS.some(known => known === protocolVersion)) {
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
