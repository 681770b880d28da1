import { HubError } from '../contract/errors.ts'

/** The request of a proxy's client. */
export type ProxyRequest =
  | { readonly kind: 'tunnel'; readonly host: string; readonly port: number }
  /** `head`: sent to the target instead of the client's head, including the empty line. */
  | { readonly kind: 'forward'; readonly host: string; readonly port: number; readonly head: string }

/** Headers between the client and the proxy alone. */
const HOP = new Set(['connection', 'proxy-connection', 'proxy-authorization', 'keep-alive'])

/** Parses the head of a request to a proxy, without its empty line. Throws `request_invalid`. */
export function parseProxyHead(head: string): ProxyRequest {
  const [line = '', ...fields] = head.split('\r\n')
  const [method = '', target = '', version = '', ...more] = line.split(' ')
  if (more.length > 0 || !/^HTTP\/1\.[01]$/.test(version) || !/^[A-Z]{1,20}$/.test(method)) throw malformed()
  return method === 'CONNECT' ? tunnel(target) : forward(method, target, version, fields)
}

function tunnel(target: string): ProxyRequest {
  const [, host = '', port = ''] = /^(\[[\da-fA-F:.]+\]|[^\s:/@[\]]{1,253}):(\d{1,5})$/.exec(target) ?? []
  if (host === '' || Number(port) < 1 || Number(port) > 65_535) throw malformed()
  return { kind: 'tunnel', host, port: Number(port) }
}

function forward(method: string, target: string, version: string, fields: readonly string[]): ProxyRequest {
  const url = URL.parse(target)
  if (url?.protocol !== 'http:' || url.username !== '' || url.password !== '') throw malformed()
  const kept = fields.filter(field => {
    const [name = ''] = field.split(':')
    // A folded or nameless line could hide a header from one of the two parsers.
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw malformed()
    return !HOP.has(name.toLowerCase()) && name.toLowerCase() !== 'host'
  })
  // One request per connection: a second one could be for another host, without a check.
  const lines = [`${method} ${url.pathname}${url.search} ${version}`, `Host: ${url.host}`, ...kept, 'Connection: close']
  const port = Number(url.port) || 80
  return { kind: 'forward', host: url.hostname, port, head: `${lines.join('\r\n')}\r\n\r\n` }
}

function malformed(): HubError {
  return new HubError('request_invalid', 'This is no request to a proxy')
}
