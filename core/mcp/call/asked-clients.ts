import type { SessionBinding } from '../../connections/api.ts'
import { within } from '../../connections/within.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { everyCapability } from '../../domain/client-capabilities.ts'
import { LATEST_LEGACY } from '../../domain/era.ts'
import { canBeAsked } from '../../domain/session-scope.ts'
import type { Scope } from '../scope/scope.ts'
import type { ScopeMember } from '../scope/scope-types.ts'
import type { Exchange } from './exchange.ts'

/** Longest wait of a call for the first probe of its server. */
const PROBE_WAIT_MS = 10_000
/** Longest wait of a call for what another call of the same user finds out about its tool. */
const TRIAL_WAIT_MS = 5_000

/** Methods whose meaning depends on the members' lists. The lists themselves always wait for those. */
const BY_LISTS: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
])

/** The capabilities of a client that supports everything. */
export const EVERY_CAPABILITY = everyCapability(LATEST_LEGACY)

/**
 * Resolves when a call of a client that supports server requests may be sent. Until a program was probed, the hub does not know
 * whether the call needs a process of its own. Mostly undefined: the call need not wait.
 */
export function awaitProbe(
  { capabilities }: Exchange,
  scope: Scope,
  { server }: ScopeMember,
): Promise<unknown> | undefined {
  if (!capabilities || !canBeAsked(capabilities)) return undefined
  const { probing, era, kind } = scope.face(server.id)
  if (kind === 'remote') return undefined
  return probing !== undefined && era === 'legacy' ? within(probing, PROBE_WAIT_MS) : undefined
}

/**
 * Runs `next`, a call of a tool, once no other session of the same user is trying that tool: its finding decides which
 * connection the call needs, and many sessions at once would each start a process. `next` runs in the turn in which that
 * was seen, so that of many calls one tries.
 */
export function afterTrial<T>(
  { session, method }: Pick<Exchange, 'session' | 'method'>,
  scope: Scope,
  { server }: ScopeMember,
  tool: unknown,
  next: () => Promise<T>,
): Promise<T> {
  if (method !== 'tools/call' || typeof tool !== 'string' || !session || !canBeAsked(session.capabilities))
    return next()
  const untilMs = performance.now() + TRIAL_WAIT_MS
  const step = (): Promise<T> => {
    const { trials, serverRequests } = scope.face(server.id)
    const isKnown = serverRequests.some(name => session.capabilities[name] !== undefined)
    const trial = isKnown ? undefined : trials?.settling(session, tool)
    const leftMs = untilMs - performance.now()
    // A call that ended with an error has found nothing out, and another one may try already.
    return trial && leftMs > 0 ? within(trial, leftMs).then(step) : next()
  }
  return step()
}

/** Before a call of a tool: decides whether the session finds out over its own connection if a program asks. */
export function placeCaller(session: SessionBinding, scope: Scope, { server }: ScopeMember, tool: string): void {
  if (canBeAsked(session.capabilities)) scope.face(server.id).trials?.place(session, tool)
}

/** The error for a tool that exists, but not for this client's capabilities. */
export function needsAsking(name: string): HubError {
  return new HubError('tool_not_found', `The tool "${name.slice(0, 64)}" is only for clients that can be asked`, {
    hint: 'Its server offers it to clients that declare what it asks: sampling, elicitation or roots.',
  })
}

/** True for a request that names something which may be in a list that no member has given yet. */
export function dependsOnLists(
  { method, capabilities }: Exchange,
  scope: Scope,
  params: JsonObject | undefined,
): boolean {
  if (!BY_LISTS.has(method)) return false
  const name = params?.name
  if (typeof name !== 'string') return true
  const catalog = scope.catalogFor(capabilities)
  return !(
    (method === 'tools/call' && catalog.tools.has(name)) ||
    (method === 'prompts/get' && catalog.prompts.has(name))
  )
}
