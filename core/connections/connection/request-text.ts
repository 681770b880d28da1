import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { declaredApps } from '../../domain/client-capabilities.ts'
import type { Era } from '../../domain/era.ts'
import { fillArguments, type Variables } from '../../domain/server/variables.ts'
import { TASKS_EXTENSION, withExtension } from '../../domain/tools/extensions.ts'
import type { UpstreamRequest } from '../api.ts'
import { envelope, passedCapabilities, withoutEnvelope } from '../modern-envelope.ts'
import type { CallerFrame } from '../protocol/frames.ts'
import type { PendingCall } from './call.ts'

/** The part of a modern request beside the call itself: who sends it, and whether its log messages are wanted. */
interface SentBy {
  readonly hubVersion: string
  /** True when the server has declared that it logs. */
  readonly logs: boolean
}

/** The request with the variables of its arguments filled in. Throws a HubError when a value is missing. */
export function withVariables(request: UpstreamRequest, variables: Variables): UpstreamRequest {
  const given = request.params?.arguments
  if (!request.variablesIn || !isJsonObject(given)) return request
  return { ...request, params: { ...request.params, arguments: fillArguments(given, request.variablesIn, variables) } }
}

/** A call as it is sent to a server of this era. */
export function callFrame(
  id: number,
  era: Era,
  call: Pick<PendingCall, 'request' | 'input'>,
  sentBy: SentBy,
): CallerFrame {
  const { passthroughHeaders, modern, asWritten } = call.request
  const text = era === 'modern' ? modernRequestText(id, call, sentBy) : requestText(id, call.request)
  const style = asWritten ? 'written' : era === 'modern' && modern !== undefined ? 'as-is' : 'converted'
  const headers = passthroughHeaders ?? (style === 'converted' ? undefined : {})
  return headers ? { kind: 'call-with-headers', id, headers, style, text } : { kind: 'call', id, text }
}

/** The JSON-RPC text of a request. Where progress is requested, the id is also the progress token. */
function requestText(id: number, { method, params, progress }: UpstreamRequest): string {
  const head = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}`
  if (progress === undefined) return params === undefined ? `${head}}` : `${head},"params":${JSON.stringify(params)}}`
  const meta = params?._meta
  const known = typeof meta === 'object' && meta !== null && !Array.isArray(meta) ? meta : {}
  return `${head},"params":${JSON.stringify({ ...params, _meta: { ...known, progressToken: id } })}}`
}

/** The client capabilities that a modern request declares. */
function declaredCapabilities({ session, modern, ask, tasks }: UpstreamRequest): JsonObject {
  const offered = session?.capabilities ?? {}
  const passed = passedCapabilities(modern?.capabilities ?? (ask ? offered : declaredApps(offered)))
  return tasks ? withExtension(passed, TASKS_EXTENSION) : passed
}

/** The same for a modern server, with the envelope of the caller and its answers of the last input round. */
function modernRequestText(
  id: number,
  { request, input }: Pick<PendingCall, 'request' | 'input'>,
  server: SentBy,
): string {
  const { method, params, progress, session, modern, notification, tasks } = request
  // A legacy client does not know these members, and must not set them in the hub's name.
  const { _meta, inputResponses: _, requestState: __, ...rest } = params ?? {}
  const known = typeof _meta === 'object' && _meta !== null && !Array.isArray(_meta) ? withoutEnvelope(_meta) : {}
  const requestedLevel = server.logs && notification !== undefined && session ? (session.logLevel ?? 'info') : undefined
  const own = envelope(server.hubVersion, declaredCapabilities(request), modern ? modern.logLevel : requestedLevel)
  // Only the hub itself writes them into the parameters: a task that it runs has questions of its own.
  const ofTask = tasks && method === 'tasks/update' && params?.inputResponses !== undefined ? params : undefined
  const { inputResponses, requestState } = ofTask ?? modern ?? input ?? {}
  const all = {
    ...rest,
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(requestState === undefined ? {} : { requestState }),
    _meta: { ...known, ...own, ...(progress === undefined ? {} : { progressToken: id }) },
  }
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${JSON.stringify(all)}}`
}
