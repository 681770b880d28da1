import { HubError } from '../../contract/errors.ts'
import { LEGACY_VERSIONS } from '../../domain/era.ts'

/** The SDKs send exactly this, so most requests need no parsing. */
const USUAL_ACCEPT = 'application/json, text/event-stream'

function accepts(header: string, type: string): boolean {
  const group = `${type.slice(0, type.indexOf('/'))}/*`
  return header.split(',').some(part => {
    const [name, ...parameters] = part.toLowerCase().split(';')
    const wanted = name?.trim()
    const refused = parameters.some(parameter => /^\s*q\s*=\s*0(\.0*)?\s*$/.test(parameter))
    return !refused && (wanted === type || wanted === group || wanted === '*/*' || wanted === '*')
  })
}

/** The header Accept; null when it is missing or empty, which accepts everything. */
function acceptOf(headers: Headers): string | null {
  const accept = headers.get('accept')
  return accept?.trim() === '' ? null : accept
}

/** Throws not_acceptable unless JSON is accepted; a missing header accepts everything. */
export function checkPostAccept(headers: Headers): void {
  const accept = acceptOf(headers)
  if (accept === null || accept === USUAL_ACCEPT || accepts(accept, 'application/json')) return
  throw new HubError(
    'not_acceptable',
    `Cannot answer: the header Accept must name application/json, and is "${accept.slice(0, 64)}"`,
  )
}

/** True when a POST must be answered in JSON, since its client accepts no event stream. */
export function acceptsJsonAlone(headers: Headers): boolean {
  const accept = acceptOf(headers)
  return accept !== null && accept !== USUAL_ACCEPT && !accepts(accept, 'text/event-stream')
}

/** Throws not_acceptable unless event streams are accepted; a missing header accepts everything. */
export function checkGetAccept(headers: Headers): void {
  const accept = acceptOf(headers)
  if (accept === null || accepts(accept, 'text/event-stream')) return
  throw new HubError(
    'not_acceptable',
    `Cannot open a stream: the header Accept must name text/event-stream, and is "${accept.slice(0, 64)}"`,
  )
}

/** Throws content_type, encoding_not_supported. */
export function checkBodyType(headers: Headers): void {
  const type = headers.get('content-type')
  if (type !== 'application/json' && !isUtf8Json(type))
    throw new HubError(
      'content_type',
      `Cannot read the request: its Content-Type must be application/json in UTF-8, and is "${(type ?? '').slice(0, 64)}"`,
    )
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw new HubError(
      'encoding_not_supported',
      `Cannot read the request: its body is encoded as "${encoding.slice(0, 64)}", and must be plain`,
    )
}

function isUtf8Json(type: string | null): boolean {
  const [media, ...parameters] = (type ?? '').split(';').map(part => part.trim().toLowerCase())
  const charset = parameters.find(parameter => parameter.startsWith('charset='))?.slice('charset='.length)
  return media === 'application/json' && (charset === undefined || /^"?utf-?8"?$/.test(charset))
}

/** Throws request_invalid for a version that the hub does not support, or that differs from the session's; an empty header is absent. */
export function checkVersion(headers: Headers, sessionVersion: string | undefined): void {
  const version = headers.get('mcp-protocol-version')
  if (version === null || version === '' || version === sessionVersion) return
  const shown = version.slice(0, 64)
  if (!LEGACY_VERSIONS.some(known => known === version))
    throw new HubError('request_invalid', `The hub does not speak the protocol version "${shown}"`, {
      data: { supported: [...LEGACY_VERSIONS], requested: shown },
    })
  if (sessionVersion !== undefined)
    throw new HubError(
      'request_invalid',
      `The header MCP-Protocol-Version says "${shown}", but this session was opened with ${sessionVersion}`,
    )
}
