import type { JsonObject } from '../contract/json.ts'
import { declaredApps } from '../domain/client-capabilities.ts'
import { CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY, MODERN_VERSION, VERSION_KEY } from '../domain/era.ts'

/** The `_meta` of a modern request: the hub's own name, and the capabilities and log level of the caller. */
export function envelope(hubVersion: string, capabilities: JsonObject, logLevel?: string): JsonObject {
  return {
    [VERSION_KEY]: MODERN_VERSION,
    [CLIENT_INFO_KEY]: { name: 'patchbay', version: hubVersion },
    [CAPABILITIES_KEY]: capabilities,
    ...(logLevel === undefined ? {} : { [LOG_LEVEL_KEY]: logLevel }),
  }
}

/** A caller's `_meta` without the keys of an envelope. */
export function withoutEnvelope(meta: JsonObject): JsonObject {
  const { [LOG_LEVEL_KEY]: _, [CAPABILITIES_KEY]: __, ...rest } = meta
  return rest
}

/** The client capabilities that the modern era knows and a hub can pass on. */
export function passedCapabilities(capabilities: JsonObject): JsonObject {
  const { sampling, elicitation, roots } = capabilities
  return {
    ...(sampling === undefined ? {} : { sampling }),
    ...(elicitation === undefined ? {} : { elicitation }),
    // Its one setting, listChanged, exists in the legacy era only.
    ...(roots === undefined ? {} : { roots: {} }),
    ...declaredApps(capabilities),
  }
}
