import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { LATEST_LEGACY, LEGACY_VERSIONS } from '../../domain/era.ts'
import { visibleJson } from '../../domain/json/visible-json.ts'
import { offeredTasks } from '../call/tasks/tasks.ts'
import { type IdText, invalid, resultMessage } from '../rpc/rpc.ts'
import { mergeCapabilities, mergedInstructions, mergedServerInfo } from '../scope/capabilities.ts'
import { leftOutWarnings } from '../scope/group-warnings.ts'
import type { Scope } from '../scope/scope.ts'
import type { Subscribers } from '../scope/subscribers.ts'
import { initializeResponse, objectParam } from './handler.ts'
import type { ScopedRequest } from './scoped-request.ts'
import type { Introduction } from './session.ts'
import type { SessionTable } from './sessions.ts'

/** The parts of the hub that `initialize` uses. */
export interface InitializeParts {
  readonly sessions: SessionTable
  readonly subscribers: Subscribers
  /** The hub's own version. */
  readonly version: string
  readonly draining: () => boolean
}

/** Opens a session over Streamable HTTP. Throws draining, params_invalid, quota_sessions. */
export function initialize(
  parts: InitializeParts,
  { actor, principal, scope }: ScopedRequest,
  id: IdText,
  params: JsonObject | undefined,
): Response {
  const { introduction, resultText } = initializeResult(parts, scope, params)
  // Changes from before the first subscriber are not announced to it.
  if (!parts.subscribers.hasSubscribers(scope)) scope.markAnnounced()
  const session = parts.sessions.open({ principal, actor, scope, ...introduction })
  return initializeResponse(session, resultMessage(id, resultText))
}

/** Throws draining: a hub that stops opens no new sessions. */
export function refuseWhileDraining({ draining }: Pick<InitializeParts, 'draining'>): void {
  if (draining()) throw new HubError('draining', 'Cannot open a session: the hub is stopping', { retryAfterSeconds: 5 })
}

/**
 * The client's introduction, and the result of `initialize`, which waits for no upstream. The version is the client's
 * if the hub supports it, else the latest of the era. Throws draining, params_invalid.
 */
export function initializeResult(
  parts: InitializeParts,
  scope: Scope,
  params: JsonObject | undefined,
): { readonly introduction: Introduction; readonly resultText: string } {
  refuseWhileDraining(parts)
  const requested = params?.protocolVersion
  if (typeof requested !== 'string') throw invalid('initialize needs "protocolVersion", a text')
  const protocolVersion = LEGACY_VERSIONS.find(known => known === requested) ?? LATEST_LEGACY
  const { states } = scope.catalog
  const instructions = mergedInstructions(scope.resolved, scope.catalog, leftOutWarnings(scope.catalog.leftOut))
  const result = {
    protocolVersion,
    capabilities: { ...mergeCapabilities(scope.resolved, scope.catalog), ...offeredTasks(scope, protocolVersion) },
    serverInfo: mergedServerInfo(scope.resolved, states, parts.version),
    ...(instructions === undefined ? {} : { instructions }),
  }
  const given = objectParam(params, 'clientInfo')
  const capabilities = objectParam(params, 'capabilities')
  storedBytes(given, capabilities)
  // It is shown to people, and never sent to a server.
  const clientInfo = visibleJson(given)
  const bytes = storedBytes(clientInfo, capabilities)
  const introduction = { protocolVersion, clientInfo, capabilities, bytes }
  return { introduction, resultText: JSON.stringify(result) }
}

/** Bytes of memory that a parsed object takes per byte of its text. */
const MEMORY_PER_BYTE = 4

/** Bytes charged for a session's introduction. Throws params_invalid for one larger than any client needs. */
function storedBytes(clientInfo: JsonObject, capabilities: JsonObject): number {
  const bytes = Buffer.byteLength(JSON.stringify([clientInfo, capabilities]))
  if (bytes > LIMITS.sessionDataBytes)
    throw invalid(
      `"clientInfo" and "capabilities" take ${bytes} bytes together; at most ${LIMITS.sessionDataBytes} are kept`,
    )
  return MEMORY_PER_BYTE * bytes
}
