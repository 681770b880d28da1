import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { Audience } from './audience.ts'
import { mergeCapabilities, mergedInstructions, mergedServerInfo } from './capabilities.ts'
import { initializeResponse, objectParam } from './post.ts'
import { invalid } from './router.ts'
import { type IdText, resultMessage } from './rpc.ts'
import type { ScopedRequest } from './scoped-request.ts'
import { LATEST_LEGACY, LEGACY_VERSIONS } from './session.ts'
import type { SessionTable } from './sessions.ts'

interface InitializeParts {
  readonly sessions: SessionTable
  readonly audience: Audience
  /** The hub's own version. */
  readonly version: string
  readonly draining: () => boolean
}

/**
 * Opens a session from what is known, without waiting for any upstream. The version is the client's if the hub speaks it,
 * else the latest of its era. Throws draining, params_invalid, quota_sessions.
 */
export function initialize(
  { sessions, audience, version, draining }: InitializeParts,
  { actor, principal, scope }: ScopedRequest,
  id: IdText,
  params: JsonObject | undefined,
): Response {
  if (draining()) throw new HubError('draining', 'Cannot open a session: the hub is stopping', { retryAfterSeconds: 5 })
  const asked = params?.protocolVersion
  if (typeof asked !== 'string') throw invalid('initialize needs "protocolVersion", a text')
  const protocolVersion = LEGACY_VERSIONS.find(known => known === asked) ?? LATEST_LEGACY
  const { states } = scope.catalog
  // What changed while nobody was here is no news to the first who comes.
  if (!audience.hears(scope)) scope.differences()
  const session = sessions.open({
    principal,
    actor,
    scope,
    protocolVersion,
    clientInfo: objectParam(params, 'clientInfo'),
    capabilities: objectParam(params, 'capabilities'),
  })
  const instructions = mergedInstructions(scope.resolved, states)
  const result = {
    protocolVersion,
    capabilities: mergeCapabilities(scope.resolved, states),
    serverInfo: mergedServerInfo(scope.resolved, states, version),
    ...(instructions === undefined ? {} : { instructions }),
  }
  return initializeResponse(session.id, resultMessage(id, JSON.stringify(result)))
}
