import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { ServerRecord } from '../../contract/records.ts'
import type { ServerSession, ServerStatus, ServerWarning } from '../../domain/server/status.ts'
import { asksCallers, scopeOf } from '../../domain/session-scope.ts'
import type { UpstreamFace } from '../api.ts'
import type { ServerContext } from './server-context.ts'

/** Tool names in a warning; the tool list of a client with the capabilities has all. */
const NAMED = 50

/** Describes who shares a connection to a server and why, and which features clients may miss because of it. */
export function sessionStatus(
  record: Pick<ServerRecord, 'session' | 'config'>,
  { stray, deviations }: Pick<ServerContext, 'stray' | 'deviations'>,
  face: UpstreamFace,
  /** Why some sessions use the shared connection instead of their own, if any do. */
  refused: string | undefined,
  online: boolean,
): { readonly session: ServerSession; readonly warnings: NonNullable<ServerStatus['warnings']> } {
  const { serverRequests, tools } = face
  const warnings: ServerWarning[] = []
  if (tools.length > 0) {
    const named = tools.slice(0, NAMED)
    const message = `Only clients that can be asked (sampling, elicitation, roots) see ${tools.length} tools: ${named.join(', ')}`
    warnings.push({ code: 'tools_need_asking', message, tools: named })
  }
  if (refused !== undefined) {
    const message = `Sessions of clients that can be asked share its connection, and cannot be asked: ${refused}`
    warnings.push({ code: 'own_connection_refused', message })
  }
  if (takesAnyCertificate(record.config)) {
    const message = 'Its certificate is not checked (tls.insecure): somebody on the way can read and change everything'
    warnings.push({ code: 'tls_unchecked', message })
  }
  if (deviations.size > 0) {
    const message = `It deviates from MCP, and the hub takes it all the same. Tell its author: ${[...deviations].join('; ')}`
    warnings.push({ code: 'transport_deviates', message })
  }
  if (stray.first !== undefined) {
    const message = `It sends text that is no MCP message, which the hub skips. Tell its author: a program writes logs to standard error, not to standard output. The first was: ${stray.first}`
    warnings.push({ code: 'stray_output', message })
  }
  if (face.single) {
    const message = 'It serves one connection at a time: all clients share it, and it cannot ask any of them'
    warnings.push({ code: 'one_connection_only', message })
  }
  // True as soon as a program is online: the lists are read before the probe. A remote server is probed for a client.
  const isDue = !face.known && face.failure === undefined
  const probing = online && (face.kind === 'remote' ? face.probing !== undefined : isDue)
  const session = {
    ...sessionOf(record, face, probing),
    ...(serverRequests.length === 0 ? {} : { serverRequests }),
    ...(probing ? { probing: true as const } : {}),
  }
  return { session, warnings }
}

function takesAnyCertificate({ tls }: JsonObject): boolean {
  return isJsonObject(tls) && tls.insecure === true
}

function sessionOf(
  record: Pick<ServerRecord, 'session' | 'config'>,
  face: UpstreamFace,
  probing: boolean,
): ServerSession {
  const session = scopeOf(record)
  if (asksCallers(record)) return { mode: record.session ?? 'auto', kind: 'per-user', why: 'each user signs in' }
  if (session !== 'auto') return { mode: session, kind: session, why: 'as configured' }
  const mode = 'auto'
  if (face.kind === 'answers') return { mode, kind: 'shared', why: 'an HTTP API asks nothing' }
  if (face.era === 'modern') return { mode, kind: 'shared', why: 'asks in its answers: one connection serves all' }
  const thing = face.kind === 'remote' ? 'connection' : 'process'
  if (face.serverRequests.length > 0)
    return { mode, kind: 'per-session', why: `asks its client: own ${thing} per session` }
  if (face.single) return { mode, kind: 'shared', why: 'serves one connection at a time: all share it' }
  if (face.fragile) {
    const why = face.known ? 'was not seen to ask its client' : 'may serve one connection at a time'
    return { mode, kind: 'shared', why: `${why}: one connection for all` }
  }
  if (face.kind === 'remote')
    return { mode, kind: 'per-session', why: 'may ask its client: own connection per session that can be asked' }
  if (probing) return { mode, kind: 'shared', why: 'is being checked for server requests' }
  if (face.known) return { mode, kind: 'shared', why: 'was not seen to ask its client: one process for all' }
  const why = face.failure === undefined ? 'was not checked yet' : `could not be checked: ${face.failure}`
  return { mode, kind: 'shared', why: `${why}: one process for all` }
}
