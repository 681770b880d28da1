import type { UpstreamRequest } from './api.ts'

/** The JSON-RPC text of a request. Where progress is wanted the id serves as token, so that it leads back to the call. */
export function requestText(id: number, { method, params, progress }: UpstreamRequest): string {
  const head = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}`
  if (progress === undefined) return params === undefined ? `${head}}` : `${head},"params":${JSON.stringify(params)}}`
  const meta = params?._meta
  const known = typeof meta === 'object' && meta !== null && !Array.isArray(meta) ? meta : {}
  return `${head},"params":${JSON.stringify({ ...params, _meta: { ...known, progressToken: id } })}}`
}
