import type { JsonObject } from '../contract/json.ts'
import { CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY, MODERN_VERSION, VERSION_KEY } from '../domain/era.ts'

/** Extensions that need no method of their own, so that a hub between two peers can pass them on. */
const ROUTABLE_EXTENSION = 'io.modelcontextprotocol/ui'

/** The `_meta` of a request of the modern era: the hub's own name, and what the caller behind it can do and wants to hear. */
export function envelope(hubVersion: string, capabilities: JsonObject, logLevel?: string): JsonObject {
  return {
    [VERSION_KEY]: MODERN_VERSION,
    [CLIENT_INFO_KEY]: { name: 'patchbay', version: hubVersion },
    [CAPABILITIES_KEY]: capabilities,
    ...(logLevel === undefined ? {} : { [LOG_LEVEL_KEY]: logLevel }),
  }
}

/** What is left of a caller's `_meta` when the keys that an envelope has are taken out. */
export function withoutEnvelope(meta: JsonObject): JsonObject {
  const { [LOG_LEVEL_KEY]: _, [CAPABILITIES_KEY]: __, ...rest } = meta
  return rest
}

/** Of a client's capabilities those that the modern era knows and a hub can pass on. */
export function passedCapabilities(capabilities: JsonObject): JsonObject {
  const { sampling, elicitation, roots, extensions } = capabilities
  const ui =
    typeof extensions === 'object' && extensions !== null && !Array.isArray(extensions)
      ? extensions[ROUTABLE_EXTENSION]
      : undefined
  return {
    ...(sampling === undefined ? {} : { sampling }),
    ...(elicitation === undefined ? {} : { elicitation }),
    // Its one setting, listChanged, belongs to the earlier era.
    ...(roots === undefined ? {} : { roots: {} }),
    ...(ui === undefined ? {} : { extensions: { [ROUTABLE_EXTENSION]: ui } }),
  }
}
