import { HubError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import { MODERN_VERSION, VERSION_KEY } from '../../domain/era.ts'
import { isPlainObject } from './rpc.ts'

/** True when the version header names a version of the modern era, known here or not. */
export function namesModernVersion(headers: Headers): boolean {
  const version = headers.get('mcp-protocol-version')
  // Versions are ISO dates, so they compare as strings.
  return version !== null && version >= MODERN_VERSION && /^\d{4}-\d{2}-\d{2}$/.test(version)
}

/**
 * True when a body belongs to the modern era: by its own envelope whatever the method, else by the version header. Throws
 * request_invalid for an array that contains an enveloped message or comes with such a header.
 */
export function isModern(value: JsonValue, headers: Headers): boolean {
  if (!Array.isArray(value)) return isEnveloped(value) || namesModernVersion(headers)
  if (value.some(isEnveloped) || namesModernVersion(headers))
    throw new HubError('request_invalid', `Arrays are not part of the protocol version ${MODERN_VERSION}`)
  return false
}

function isEnveloped(value: JsonValue): boolean {
  if (!isPlainObject(value)) return false
  const { params } = value
  if (!isPlainObject(params)) return false
  const { _meta } = params
  return isPlainObject(_meta) && _meta[VERSION_KEY] !== undefined
}
