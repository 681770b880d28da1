import { within } from '../../connections/within.ts'
import { HubError } from '../../contract/errors.ts'
import { everyCapability } from '../../domain/client-capabilities.ts'
import { LATEST_LEGACY } from '../../domain/era.ts'
import { canBeAsked, isRemote } from '../../domain/session-scope.ts'
import type { Scope } from '../scope/scope.ts'
import type { ScopeMember } from '../scope/scope-types.ts'
import type { Exchange } from './exchange.ts'

/** Longest wait of a call for the first look at its server. */
const LOOK_WAIT_MS = 10_000

/** What the most able client declares. */
export const EVERY_CAPABILITY = everyCapability(LATEST_LEGACY)

/**
 * What a call of a client that can be asked waits for: until a program was looked at nobody knows whether the call needs a
 * process of its own. Mostly nothing.
 */
export function lookedAtFor(
  { capabilities }: Exchange,
  scope: Scope,
  { server }: ScopeMember,
): Promise<unknown> | undefined {
  const face = scope.face(server.id)
  const { looking } = face
  if (looking === undefined || !capabilities || isRemote(server.transport)) return undefined
  return face.era === 'legacy' && canBeAsked(capabilities) ? within(looking, LOOK_WAIT_MS) : undefined
}

/** For a tool that is there, but not for this client. */
export function needsAsking(name: string): HubError {
  return new HubError('tool_not_found', `The tool "${name.slice(0, 64)}" is only for clients that can be asked`, {
    hint: 'Its server offers it to clients that declare what it asks: sampling, elicitation or roots.',
  })
}
