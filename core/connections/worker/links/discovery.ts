import { HubError } from '../../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { cacheHint } from '../../../domain/cache-hint.ts'
import { cutShort } from '../../../domain/cut-short.ts'
import { MODERN_VERSION, SERVER_INFO_KEY } from '../../../domain/era.ts'
import { withExtension } from '../../../domain/tools/extensions.ts'
import { envelope, passedCapabilities } from '../../modern-envelope.ts'
import { readCapabilities } from './handshake-limits.ts'
import type { Handshake } from './link-context.ts'

/** The params of a request by the hub itself; `capabilities` are those of the clients for which it asks, `extensions` its own. */
export function ownParams(
  params: JsonObject | undefined,
  hubVersion: string,
  capabilities: JsonObject,
  extensions: readonly string[] = [],
): JsonObject {
  const declared = extensions.reduce(withExtension, passedCapabilities(capabilities))
  return { ...params, _meta: envelope(hubVersion, declared) }
}

/** Reads the result of `server/discover`; throws `upstream_protocol` (`data.supported`) when it cannot be used. */
export function readDiscovery(result: JsonValue): Handshake {
  const { supportedVersions, capabilities, instructions, _meta } = isJsonObject(result) ? result : {}
  if (!Array.isArray(supportedVersions)) {
    throw new HubError('upstream_protocol', 'The server answered server/discover with no list of its versions')
  }
  if (!supportedVersions.includes(MODERN_VERSION)) {
    const versions = cutShort(JSON.stringify(supportedVersions), 200)
    throw new HubError('upstream_protocol', `The server speaks ${versions} and not ${MODERN_VERSION}`, {
      data: { supported: supportedVersions },
    })
  }
  const serverInfo = isJsonObject(_meta) ? _meta[SERVER_INFO_KEY] : undefined
  return {
    protocolVersion: MODERN_VERSION,
    serverInfo: isJsonObject(serverInfo) ? serverInfo : {},
    ...readCapabilities(capabilities),
    ...(typeof instructions === 'string' ? { instructions } : {}),
    caching: cacheHint(result),
  }
}
