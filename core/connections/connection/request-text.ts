import type { UpstreamRequest } from '../api.ts'
import { envelope, passedCapabilities, withoutEnvelope } from '../modern-envelope.ts'
import type { PendingCall } from './call.ts'

/** The JSON-RPC text of a request. Where progress is requested, the id is also the progress token. */
export function requestText(id: number, { method, params, progress }: UpstreamRequest): string {
  const head = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}`
  if (progress === undefined) return params === undefined ? `${head}}` : `${head},"params":${JSON.stringify(params)}}`
  const meta = params?._meta
  const known = typeof meta === 'object' && meta !== null && !Array.isArray(meta) ? meta : {}
  return `${head},"params":${JSON.stringify({ ...params, _meta: { ...known, progressToken: id } })}}`
}

/** The same for a modern server, with the envelope of the caller and its answers of the last input round. */
export function modernRequestText(
  id: number,
  { request, input }: Pick<PendingCall, 'request' | 'input'>,
  server: { readonly hubVersion: string; readonly logs: boolean },
): string {
  const { method, params, progress, session, modern, notification } = request
  // A legacy client does not know these members, and must not set them in the hub's name.
  const { _meta, inputResponses: _, requestState: __, ...rest } = params ?? {}
  const known = typeof _meta === 'object' && _meta !== null && !Array.isArray(_meta) ? withoutEnvelope(_meta) : {}
  const asked = server.logs && notification !== undefined && session ? (session.logLevel ?? 'info') : undefined
  const capabilities = modern?.capabilities ?? (request.ask && session ? session.capabilities : {})
  const own = envelope(server.hubVersion, passedCapabilities(capabilities), modern ? modern.logLevel : asked)
  const { inputResponses, requestState } = modern ?? input ?? {}
  const all = {
    ...rest,
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(requestState === undefined ? {} : { requestState }),
    _meta: { ...known, ...own, ...(progress === undefined ? {} : { progressToken: id }) },
  }
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${JSON.stringify(all)}}`
}
