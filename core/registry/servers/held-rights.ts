import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { Actor, ServerRecord, ServerSettings } from '../../contract/records.ts'
import { capOfMove, cappedRights, lowerCap, type RightsCap } from '../../domain/server/owner-rights.ts'
import { maskSecret } from '../../domain/server/secrets.ts'
import { fillVariables } from '../../domain/server/variables.ts'
import { validationError } from '../../domain/validation-error.ts'
import type { ServerTable } from '../../store/tables.ts'
import type { Writer } from '../../store/transact.ts'
import { type Owner, ownerOf, rowOwner, userById } from '../owners.ts'
import { type ServerRow, serverRecord } from '../rows.ts'
import { type Author, authorCap, outsideAdministration } from './author-rights.ts'
import type { Draft } from './server-draft.ts'
import { checkServerRights } from './server-rights.ts'
import { configHash, mapSecrets } from './server-secrets.ts'

/** Limits of a server beyond the rights of its owner. */
export interface HeldRights {
  readonly cap: RightsCap | undefined
  /** The server stays disabled until its configuration is confirmed. */
  readonly awaitsReview: boolean
}

/** For a server with all rights of its owner. */
export const NO_LIMITS: HeldRights = { cap: undefined, awaitsReview: false }

/** The limits stored in a row. */
export function heldRights(row: Pick<ServerRow, 'rights_cap' | 'awaits_review'>): HeldRights {
  return { cap: row.rights_cap ?? undefined, awaitsReview: row.awaits_review === 1 }
}

/** The columns that store the limits. */
export function heldColumns({ cap, awaitsReview }: HeldRights): {
  rights_cap: ServerTable['rights_cap']
  awaits_review: number
} {
  return { rights_cap: cap ?? null, awaits_review: awaitsReview ? 1 : 0 }
}

/** The owner with the rights that apply to this server. */
export function effectiveOwner(row: ServerRow): Owner {
  return cappedRights(rowOwner(row), heldRights(row).cap)
}

/** The limits of a server that moves to this owner; none for an owner without additional rights. */
export function heldAfterMove(row: ServerRow, heir: Owner): HeldRights {
  const cap = capOfMove(effectiveOwner(row), heir)
  return cap === undefined ? NO_LIMITS : { cap, awaitsReview: true }
}

/** The same for a server configured by an unknown account, which counts as an ordinary user's. */
export function heldFromNobody(heir: Owner): HeldRights {
  const cap = capOfMove({ role: 'user', grants: { network: 'none' } }, heir)
  return cap === undefined ? NO_LIMITS : { cap, awaitsReview: true }
}

/** These limits for a configuration by this author: rights that the author does not have are not given to it. */
export function heldByAuthor(author: Author, owner: Owner, held: HeldRights): HeldRights {
  return { ...held, cap: lowerCap(held.cap, authorCap(author, owner)) }
}

/**
 * Returns the columns of these limits for an owner that was read before the transaction: an owner who has become an
 * administrator since then gives the server no rights beyond the checked ones.
 */
export async function heldColumnsNow(
  trx: Writer,
  owner: Owner,
  held: HeldRights,
): Promise<ReturnType<typeof heldColumns>> {
  const now = await userById(trx, owner.id)
  return heldColumns(now ? { ...held, cap: lowerCap(held.cap, capOfMove(owner, ownerOf(now))) } : held)
}

/** The settings of a server that waits for its new owner: disabled, and in the sandbox also after the review. */
export function settingsAwaitingReview<Settings extends ServerSettings>(settings: Settings): Settings {
  const config = settings.transport === 'stdio' ? { ...settings.config, sandbox: 'full' } : settings.config
  return { ...settings, config, enabled: false }
}

/** A hash of the exact configuration of a server, which `reviewed` must repeat. */
export function reviewHash(record: ServerRecord): string {
  return configHash(record, { id: record.ownerId, role: 'review' })
}

/** Throws `review_required` when the hash is not that of the stored configuration. */
function checkReviewed(record: ServerRecord, reviewed: string): void {
  if (reviewed === reviewHash(record)) return
  throw new HubError('review_required', `"reviewed" does not name the present configuration of "${record.name}"`, {
    hint: 'Read the server again, check what it runs, and send the hash in its "review".',
  })
}

/**
 * Rejects hidden parts, which cannot be confirmed: a masked secret of the former owner must not be a part of the command or the
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
      detail: 'A secret of the former owner is a part of what would run, where nobody can check it: enter it again',
    })),
    'The server cannot be confirmed',
  )
}

/** Scheme and host of an address, by text: an address with a mask in it is not a valid URL. */
function originOf(address: JsonValue | undefined): string | undefined {
  return typeof address === 'string' ? /^[^/]*\/\/[^/?#]*/.exec(address)?.[0] : undefined
}

/** The error for enabling a server before its review, or giving it more rights. `cause`: the missing right. */
export function reviewRequired(name: string, cause?: HubError): HubError {
  const why = `"${name}" was configured by an account with fewer rights, and keeps those until it is reviewed`
  return new HubError('review_required', cause ? `${why}: ${cause.message}` : why, cause ? { cause } : {})
}

/** The limits of a server after a save. Throws `review_required` for a hash of another configuration. */
export function heldAfterSave(actor: Actor, row: ServerRow, owner: Owner, draft: Draft): HeldRights {
  const moved = owner.id !== row.owner_id
  if (draft.reviewed === undefined) return moved ? heldAfterMove(row, owner) : heldRights(row)
  checkReviewed(serverRecord(row), draft.reviewed)
  if (actor.kind === 'user' && actor.restricted)
    throw outsideAdministration(`"${row.name}" cannot be given more rights from this address`)
  // Giving a server to another user is not a review by that user.
  if (moved && !(actor.kind === 'user' && actor.userId === owner.id)) return heldAfterMove(row, owner)
  if (heldRights(row).awaitsReview) refuseHiddenParts(draft.settings, draft.kept)
  return NO_LIMITS
}

/** Runs `checkServerRights` with the server's limits; a right that only `owner` has is `review_required`. */
export function checkHeldRights(
  deps: Parameters<typeof checkServerRights>[0],
  owner: Owner,
  { cap }: HeldRights,
  { name, transport }: ServerSettings,
  filled: JsonObject,
  stored: Parameters<typeof checkServerRights>[4],
): void {
  const rights = cappedRights(owner, cap)
  try {
    checkServerRights(deps, rights, transport, filled, stored)
  } catch (error) {
    if (rights !== owner && error instanceof HubError && error.status === 403) throw reviewRequired(name, error)
    throw error
  }
}
