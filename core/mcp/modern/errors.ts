import type { RpcError } from '../../connections/api.ts'
import type { ErrorCode, HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { URL_ELICITATION_REQUIRED } from '../call/seen-failure.ts'
import { isPlainObject, rpcError } from '../rpc/rpc.ts'

const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602
const INTERNAL = -32603
export const CAPABILITY_MISSING = -32021
/** An error code of the legacy era only. */
const RESOURCE_NOT_FOUND = -32002

/** An error in the modern era's form: codes that only the legacy era has are translated, others are unchanged. */
export function modernError(error: RpcError, uri: JsonValue | undefined): RpcError {
  if (error.code === RESOURCE_NOT_FOUND) {
    const data = isPlainObject(error.data) ? error.data : {}
    return { ...error, code: INVALID_PARAMS, data: uri === undefined ? data : { ...data, uri } }
  }
  if (error.code === URL_ELICITATION_REQUIRED)
    return { code: INTERNAL, message: 'The server asked for a visit to a URL and named none', data: code(error) }
  return error
}

/** A HubError in the modern era's form. */
export function modernRefusal(error: HubError, requestId: string, uri: JsonValue | undefined): RpcError {
  const written = rpcError(error, requestId)
  if (error.code === 'client_capability_missing') return { ...written, code: CAPABILITY_MISSING }
  return modernError(written, uri)
}

/** The HTTP status of a response with this error, if its head is not written yet. */
export function statusOf({ code }: RpcError): number {
  if (code === METHOD_NOT_FOUND) return 404
  return code <= -32020 && code >= -32022 ? 400 : 200
}

function code(error: RpcError): JsonObject {
  const found: ErrorCode = 'upstream_protocol'
  return { ...(isPlainObject(error.data) ? error.data : {}), code: found }
}
