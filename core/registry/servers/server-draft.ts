import { type FieldError, HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Actor, ServerSettings } from '../../contract/records.ts'
import { canonical } from '../../domain/json/canonical-json.ts'
import { valueAt } from '../../domain/json/json-pointer.ts'
import { flattenServerBody, type ParsedServerBody, readServerBody, serverInvalid } from '../../domain/server/body.ts'
import { factsIn } from '../../domain/server/document-facts.ts'
import { storedDocument } from '../../domain/server/openapi.ts'
import { secretPointers } from '../../domain/server/secrets.ts'
import { addressesOf } from '../../domain/server/transport.ts'
import { fillVariables } from '../../domain/server/variables.ts'
import { validationError } from '../../domain/validation-error.ts'
import type { RegistryDeps } from '../context.ts'
import type { Owner } from '../owners.ts'
import { keepDocument, type NewDocument, takeDocument } from './documents.ts'
import { openSettings, restoreMasks, type SecretPlace, withoutMasks } from './server-secrets.ts'

/** The stored server that a body is to replace. */
export type Stored = SecretPlace & { readonly settings: ServerSettings }

/** A parsed body that is ready to be saved. */
export interface Draft extends ParsedServerBody {
  /** The inline document in the body; `settings` and `filled` have its placeholder. */
  readonly document?: NewDocument
  /** Pointers of secrets that the body keeps by their masks. */
  readonly kept: readonly string[]
}

/**
 * Rejects an invalid body before any look-up, so that the response reveals nothing about a server that the sender may
 * not see.
 */
export function validateBody(body: JsonObject): void {
  const errors: FieldError[] = []
  if (!readServerBody(withoutMasks(flattenServerBody(body, errors)), errors)) throw serverInvalid(errors, body)
}

/** Parses a body with the masks of `stored` resolved. Throws `validation_failed` with all invalid fields. */
export function draftServer(deps: Pick<RegistryDeps, 'sealer'>, body: JsonObject, stored: Stored | undefined): Draft {
  const errors: FieldError[] = []
  const restored = restoreMasks(deps.sealer, flattenServerBody(body, errors), stored, errors)
  const read = readServerBody(keepDocument(restored.flat, stored?.settings, errors), errors)
  if (!read || errors.length > 0) throw serverInvalid(errors, body)
  const parsed = takeDocument(read, factsIn(body))
  const secrets = presentSecrets(restored.flat, [...new Set([...parsed.settings.secrets, ...restored.kept])])
  return { ...parsed, settings: keepInferred({ ...parsed.settings, secrets }, stored), kept: restored.kept }
}

/** The pointers to strings in the body. A pointer to more than a string is rejected, as its value would stay unsealed. */
function presentSecrets(flat: JsonObject, secrets: readonly string[]): readonly string[] {
  const wrong: FieldError[] = []
  const present = secrets.filter((pointer, index) => {
    const value = valueAt(flat, pointer)
    if (typeof value === 'object' && value !== null) {
      const detail = `"secrets" names single texts, and ${pointer} is more than one`
      wrong.push({ pointer: `#/secrets/${index}`, code: 'format', detail })
    }
    return typeof value === 'string'
  })
  if (wrong.length > 0) throw validationError(wrong)
  return present
}

/**
 * The secrets of a patched body when the patch does not list them: the stored ones, and new fields with a secret's
 * name. A field that its owner had listed as not secret stays so.
 */
export function patchedSecrets(before: JsonObject, after: JsonObject, stored: readonly string[]): string[] {
  const added = secretPointers(after).filter(pointer => valueAt(before, pointer) === undefined)
  return [...stored.filter(pointer => typeof valueAt(after, pointer) === 'string'), ...added]
}

/** Keeps an inferred transport as inferred when the body repeats what is stored. */
function keepInferred(settings: ServerSettings, stored: Stored | undefined): ServerSettings {
  const same =
    stored?.settings.transportInferred === true &&
    stored.settings.transport === settings.transport &&
    stored.settings.config.url === settings.config.url
  return same ? { ...settings, transportInferred: true } : settings
}

/**
 * Only the owner may send kept secrets elsewhere: when another user changes the origin or command, or the owner
 * changes, each secret that was kept by its mask is `secret_required`.
 */
export function refuseMovedSecrets(
  deps: Pick<RegistryDeps, 'sealer'>,
  actor: Actor,
  owner: Owner,
  draft: Draft,
  stored: Stored,
): void {
  if (draft.kept.length === 0) return
  const byOwner = actor.kind === 'user' && actor.userId === stored.ownerId
  const moved = owner.id !== stored.ownerId
  if (!moved && (byOwner || destination(draft) === storedDestination(deps, stored))) return
  throw validationError(
    draft.kept.map(pointer => ({
      pointer: `#${pointer}`,
      code: 'secret_required' as const,
      detail:
        'The change sends the secret to another destination, and its owner did not make it: enter the secret again',
    })),
    'The secrets must be entered anew',
  )
}

function storedDestination(deps: Pick<RegistryDeps, 'sealer'>, stored: Stored): string | undefined {
  try {
    const settings = openSettings(deps.sealer, stored, stored.settings)
    return destination({ settings, filled: fillVariables(settings.config, settings.variables) })
  } catch (error) {
    // An unreadable configuration has no destination, so any other one differs.
    if (error instanceof HubError) return undefined
    throw error
  }
}

/** The destination of the secrets: the origins, or the command with its arguments and folder. */
function destination({ settings, filled }: Pick<ParsedServerBody, 'settings' | 'filled'>): string {
  const { command = null, args = [], cwd = null } = filled
  if (settings.transport === 'stdio') return canonical(['stdio', command, args, cwd])
  const origins = addressesOf(settings.transport, filled).map(({ url }) => url.origin)
  if (settings.transport !== 'openapi') return canonical(['http', ...origins])
  // An inline document determines where calls and credentials go; another document may lead elsewhere.
  return canonical(['openapi', ...origins, storedDocument(filled)?.sha256 ?? null])
}
