import type { RpcError } from '../../connections/api.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { serverRequestKind } from '../../domain/mcp-methods.ts'
import { URL_ELICITATION_REQUIRED } from '../call/seen-failure.ts'
import { invalid, isPlainObject } from '../rpc/rpc.ts'

const ACTIONS: readonly unknown[] = ['accept', 'decline', 'cancel']

/** One server request as a modern client sees it. */
export interface InputRequest {
  readonly method: string
  readonly params: JsonObject | undefined
}

/** The capabilities that this request needs and the client lacks; undefined when it lacks none. */
export function missingCapability(
  method: string,
  params: JsonObject | undefined,
  capabilities: JsonObject,
): JsonObject | undefined {
  const name = serverRequestKind(method)
  if (name === undefined) return {}
  const declared = capabilities[name]
  if (method !== 'elicitation/create' || params?.mode !== 'url')
    return isPlainObject(declared) && !onlyUrl(method, declared) ? undefined : { [name]: {} }
  return isPlainObject(declared) && isPlainObject(declared.url) ? undefined : { elicitation: { url: {} } }
}

/** A server request in the modern era's form: only the legacy era has ids of elicitations and tasks. */
export function inputRequest(method: string, params: JsonObject | undefined): InputRequest {
  if (!params) return { method, params }
  const { elicitationId, task, _meta, ...rest } = params
  return { method, params: rest }
}

/** The URL elicitations in an upstream's error; none when it is another error. */
export function urlElicitations(error: RpcError): readonly InputRequest[] {
  if (error.code !== URL_ELICITATION_REQUIRED || !isPlainObject(error.data)) return []
  const list = error.data.elicitations
  if (!Array.isArray(list)) return []
  return list
    .filter(item => isPlainObject(item) && typeof item.url === 'string')
    .map(item => inputRequest('elicitation/create', { mode: 'url', ...(item as JsonObject) }))
}

/** The input responses of a client by their keys. Throws params_invalid when the value has a wrong shape. */
export function inputResponses(value: JsonValue | undefined): JsonObject | undefined {
  if (value === undefined || isPlainObject(value)) return value
  throw invalid('"inputResponses" must be an object')
}

/** Throws params_invalid for a response that does not have the shape that its request needs. */
export function checkResponse(key: string, { method }: InputRequest, response: JsonValue): void {
  const wanted = wantedShape(method)
  if (isPlainObject(response) && wanted.holds(response)) return
  throw invalid(`"inputResponses" has an answer "${key.slice(0, 64)}" that is no ${wanted.name}`)
}

function wantedShape(method: string): { readonly name: string; holds(response: JsonObject): boolean } {
  switch (method) {
    case 'elicitation/create':
      return { name: 'result of an elicitation', holds: ({ action }) => ACTIONS.includes(action) }
    case 'roots/list':
      return { name: 'list of roots', holds: ({ roots }) => Array.isArray(roots) }
    default:
      return {
        name: 'result of sampling',
        holds: ({ role, content }) => typeof role === 'string' && typeof content === 'object' && content !== null,
      }
  }
}

/** A client that declares URL elicitation only cannot show forms. */
function onlyUrl(method: string, declared: JsonObject): boolean {
  return method === 'elicitation/create' && declared.url !== undefined && declared.form === undefined
}
