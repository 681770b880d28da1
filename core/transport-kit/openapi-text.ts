import { HubError } from '../contract/errors.ts'
import type { JsonValue } from '../contract/json.ts'
import { OPENAPI_LIMITS } from './openapi-document.ts'

/**
 * Parses the text of an OpenAPI document as JSON, otherwise as YAML 1.2; `validateOpenApiDocument` then determines its kind. 4
 * MiB of YAML hold the thread for seconds: call it in a worker. Throws HubError: `openapi_unsupported`, `openapi_bomb`,
 * `openapi_too_large`.
 */
export async function parseOpenApiText(text: string): Promise<JsonValue> {
  const trimmed = text.replace(/^\uFEFF/, '').trimStart()
  if (trimmed.startsWith('<')) {
    throw new HubError('openapi_unsupported', 'In place of the OpenAPI document there is a page of HTML or XML')
  }
  if (Buffer.byteLength(trimmed) > OPENAPI_LIMITS.bytes) throw openApiTooLarge(OPENAPI_LIMITS.bytes)
  if (trimmed.startsWith('{')) {
    try {
      return JSON.parse(trimmed) as JsonValue
    } catch {
      // A flow mapping of YAML begins with a brace too.
    }
  }
  return parseYaml(trimmed)
}

/** The error for a document of more bytes than `bytes`. */
export function openApiTooLarge(bytes: number): HubError {
  return new HubError('openapi_too_large', `The OpenAPI document has more than ${bytes} bytes`)
}

async function parseYaml(text: string): Promise<JsonValue> {
  if (text.length > OPENAPI_LIMITS.yamlBytes) {
    const message = `The OpenAPI document has more than ${OPENAPI_LIMITS.yamlBytes} bytes of YAML; give it as JSON`
    throw new HubError('openapi_too_large', message)
  }
  // Loaded when needed, since every thread with a transport has this file.
  const { CORE_SCHEMA, load, mergeTag, YAMLException } = await import('js-yaml')
  // Nesting and aliases are checked again for the whole document: an alias costs nothing before it is resolved.
  const limits = { schema: CORE_SCHEMA.withTags(mergeTag), maxDepth: 200, maxTotalMergeKeys: 100_000 }
  try {
    return load(text.replace(/\n(?:---|\.{3})\s*$/, '\n'), limits) as JsonValue
  } catch (cause) {
    if (!(cause instanceof YAMLException)) throw cause
    const { mark, reason } = cause
    const where = mark ? `: line ${mark.line + 1}, column ${mark.column + 1}` : ''
    if (/exceeded max/.test(reason)) {
      throw new HubError('openapi_bomb', `The OpenAPI document grows beyond all limits${where}`, { cause })
    }
    throw new HubError('openapi_unsupported', `The OpenAPI document is neither JSON nor YAML${where}`, { cause })
  }
}
