import type { PluginLogger } from '../contract/plugin.ts'
import type { RequestInfo } from '../request/request-info.ts'

/** Paths that programs request all the time; logged as DEBUG. */
const FREQUENT = new Set(['/health', '/metrics', '/api/stream'])

/** Logs one answered request. `pattern`: the route's path, or `none`; `ms`: time until the head of the answer. */
export type RequestLog = (
  request: Pick<Request, 'method'>,
  info: Pick<RequestInfo, 'requestId' | 'clientAddress'>,
  answer: { readonly pattern: string; readonly response: Response; readonly ms: number },
) => void

/** Writes one record a request, without query strings, headers and bodies. */
export function createRequestLog(log: Pick<PluginLogger, 'info' | 'debug'>): RequestLog {
  return ({ method }, { requestId, clientAddress: client }, { pattern: path, response, ms }) => {
    const bytes = response.headers.get('content-length')
    log[FREQUENT.has(path) ? 'debug' : 'info']('request', {
      ...{ requestId, method, path, status: String(response.status), duration: Math.round(ms) },
      ...(bytes === null ? {} : { bytes: Number(bytes) }),
      client,
    })
  }
}
