import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { Actor, ServerRecord, ServerSettings } from '../../contract/records.ts'
import { capOfMove, cappedRights, type RightsCap } from '../../domain/server/owner-rights.ts'
import { maskSecret } from '../../domain/server/secrets.ts'
import { fillVariables } from '../../domain/server/variables.ts'
import { validationError } from '../../domain/validation-error.ts'
import type { ServerTable } from '../../store/tables.ts'
import { type Owner, rowOwner } from '../owners.ts'
import { type ServerRow, serverRecord } from '../rows.ts'
import { outsideAdministration } from './confined.ts'
import type { Draft } from './server-draft.ts'
import { checkServerRights } from './server-rights.ts'
import { configHash, mapSecrets } from './server-secrets.ts'

/** What a server is held to, beside the rights of its owner. */
export interface HeldRights {
  readonly cap: RightsCap | undefined
  /** It stays switched off until its configuration is confirmed. */
  readonly awaitsReview: boolean
}

export const HELD_TO_NOTHING: HeldRights = { cap: undefined, awaitsReview: false }

export function heldRights(row: Pick<ServerRow, 'rights_cap' | 'awaits_review'>): HeldRights {
  return { cap: row.rights_cap ?? undefined, awaitsReview: row.awaits_review === 1 }
}

export function heldColumns({ cap, awaitsReview }: HeldRights): {
  rights_cap: ServerTable['rights_cap']
  awaits_review: number
} {
  return { rights_cap: cap ?? null, awaits_review: awaitsReview ? 1 : 0 }
}

/** The owner as far as its rights count for this server. */
export function effectiveOwner(row: ServerRow): Owner {
  return cappedRights(rowOwner(row), heldRights(row).cap)
}

/** What a server is held to when it goes to this owner. An owner with no more rights than it had is not held to anything. */
export function heldAfterMove(row: ServerRow, heir: Owner): HeldRights {
  const cap = capOfMove(effectiveOwner(row), heir)
  return cap === undefined ? HELD_TO_NOTHING : { cap, awaitsReview: true }
}

/** The same for a server that an unknown account configured, which had no more rights than everybody. */
export function heldFromNobody(heir: Owner): HeldRights {
  const cap = capOfMove({ role: 'user', grants: { network: 'none' } }, heir)
  return cap === undefined ? HELD_TO_NOTHING : { cap, awaitsReview: true }
}

/** Settings as a server has them that waits for its new owner: switched off, and in the sandbox also when that has looked. */
export function settingsInWaiting<Settings extends ServerSettings>(settings: Settings): Settings {
  const config = settings.transport === 'stdio' ? { ...settings.config, sandbox: 'full' } : settings.config
  return { ...settings, config, enabled: false }
}

/** Names the exact configuration of a server, as `reviewed` must repeat it. */
export function reviewHash(record: ServerRecord): string {
  return configHash(record, { id: record.ownerId, role: 'review' })
}

/** Throws `review_required` for a hash of another configuration than the stored one. */
function checkReviewed(record: ServerRecord, reviewed: string): void {
  if (reviewed === reviewHash(record)) return
  throw new HubError('review_required', `"reviewed" does not name the present configuration of "${record.name}"`, {
    hint: 'Read the server again, check what it runs, and send the hash in its "review".',
  })
}

/**
 * Nobody confirms what is hidden: a secret of the former owner, kept by its mask, must not be a part of the command or the
 * address. Throws `validation_failed` with `secret_required`.
 */
function refuseHiddenParts(settings: ServerSettings, kept: readonly string[]): void {
  const hidden = new Set(kept)
  const masked = mapSecrets(settings, (text, pointer) => (hidden.has(pointer) ? maskSecret(text) : text))
  const { command, args, cwd, url, openapi } = fillVariables(masked.config, masked.variables)
  const addresses = [url, ...(isJsonObject(openapi) ? [openapi.url, openapi.baseUrl] : [])].map(originOf)
  const seen = [command, cwd, ...(Array.isArray(args) ? args : []), ...addresses]
  const mask = maskSecret('')
  if (!seen.some(text => typeof text === 'string' && text.includes(mask))) return
  throw validationError(
    kept.map(pointer => ({
      pointer: `#${pointer}`,
      code: 'secret_required' as const,
      detail: 'A secret of the former owner is a part of what would run, where nobody can check it: enter it anew',
    })),
    'The server cannot be confirmed',
  )
}

/** The scheme and host of an address, as text: one with a mask in it is no URL. */
function originOf(address: JsonValue | undefined): string | undefined {
  return typeof address === 'string' ? /^[^/]*\/\/[^/?#]*/.exec(address)?.[0] : undefined
}

/** What waits for a review is not switched on, and has no more rights than it came with. `cause`: what those refuse. */
export function reviewRequired(name: string, cause?: HubError): HubError {
  const why = `"${name}" was configured by an account with fewer rights, and keeps those until it is reviewed`
  return new HubError('review_required', cause ? `${why}: ${cause.message}` : why, cause ? { cause } : {})
}

/** What a server is held to after a save. Throws `review_required` for a hash of another configuration. */
export function heldAfterSave(actor: Actor, row: ServerRow, owner: Owner, draft: Draft): HeldRights {
  const moved = owner.id !== row.owner_id
  if (draft.reviewed === undefined) return moved ? heldAfterMove(row, owner) : heldRights(row)
  checkReviewed(serverRecord(row), draft.reviewed)
  if (actor.kind === 'user' && actor.restricted)
    throw outsideAdministration(`"${row.name}" cannot be given more rights from this address`)
  // Who gives a server to somebody else has not read it for them.
  if (moved && !(actor.kind === 'user' && actor.userId === owner.id)) return heldAfterMove(row, owner)
  if (heldRights(row).awaitsReview) refuseHiddenParts(draft.settings, draft.kept)
  return HELD_TO_NOTHING
}

/** `checkServerRights` with the rights that the server has; what only its owner has on top is `review_required`. */
export function checkHeldRights(
  deps: Parameters<typeof checkServerRights>[0],
  owner: Owner,
  { cap }: HeldRights,
  { name, transport }: ServerSettings,
  filled: JsonObject,
  stored: Parameters<typeof checkServerRights>[4],
): void {
  try {
    checkServerRights(deps, cappedRights(owner, cap), transport, filled, stored)
  } catch (error) {
    if (cap !== undefined && error instanceof HubError && error.status === 403) throw reviewRequired(name, error)
    throw error
  }
}
