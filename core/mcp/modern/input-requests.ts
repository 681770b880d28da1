import type { RpcError } from '../../connections/api.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { invalid, isPlainObject } from '../rpc/rpc.ts'
import { URL_ELICITATION_REQUIRED } from './errors.ts'

/** What an upstream may ask a client, with the capability that the client must have declared for it. */
const CAPABILITY: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
}
const ACTIONS: readonly unknown[] = ['accept', 'decline', 'cancel']

/** One request of an upstream as a modern client is shown it. */
export interface InputRequest {
  readonly method: string
  readonly params: JsonObject | undefined
}

/** What of the capabilities this request needs is missing; undefined when nothing is. */
export function missingCapability(
  method: string,
  params: JsonObject | undefined,
  capabilities: JsonObject,
): JsonObject | undefined {
  const name = CAPABILITY[method]
  if (name === undefined) return {}
  const declared = capabilities[name]
  if (method !== 'elicitation/create' || params?.mode !== 'url')
    return isPlainObject(declared) && !onlyUrl(method, declared) ? undefined : { [name]: {} }
  return isPlainObject(declared) && isPlainObject(declared.url) ? undefined : { elicitation: { url: {} } }
}

/** The form in which the modern era knows it: ids of elicitations and tasks belong to the older one. */
export function inputRequest(method: string, params: JsonObject | undefined): InputRequest {
  if (!params) return { method, params }
  const { elicitationId, task, _meta, ...rest } = params
  return { method, params: rest }
}

/** The URL elicitations that an upstream's error asks for; none when it is another error. */
export function urlElicitations(error: RpcError): readonly InputRequest[] {
  if (error.code !== URL_ELICITATION_REQUIRED || !isPlainObject(error.data)) return []
  const list = error.data.elicitations
  if (!Array.isArray(list)) return []
  return list
    .filter(item => isPlainObject(item) && typeof item.url === 'string')
    .map(item => inputRequest('elicitation/create', { mode: 'url', ...(item as JsonObject) }))
}

/** The answers of a client by their keys. Throws params_invalid when they have not the shape of any. */
export function inputResponses(value: JsonValue | undefined): JsonObject | undefined {
  if (value === undefined || isPlainObject(value)) return value
  throw invalid('"inputResponses" must be an object')
}

/** Throws params_invalid for an answer that has not the shape which its request wants. */
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

/** A client that declares URL elicitation alone cannot fill in forms. */
function onlyUrl(method: string, declared: JsonObject): boolean {
  return method === 'elicitation/create' && declared.url !== undefined && declared.form === undefined
}
