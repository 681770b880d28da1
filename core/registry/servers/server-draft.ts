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

/** What is stored of the server that a body is to replace. */
export type Stored = SecretPlace & { readonly settings: ServerSettings }

export interface Draft extends ParsedServerBody {
  /** The inline document that the body brought; `settings` and `filled` hold its stand-in. */
  readonly document?: NewDocument
  /** Pointers of secrets that the body kept by their masks. */
  readonly kept: readonly string[]
}

/**
 * Refuses a body for what is wrong with it in itself, before anything is looked up: so a bad body tells nothing about a
 * server that its sender may not see.
 */
export function judgeBodyAlone(body: JsonObject): void {
  const errors: FieldError[] = []
  if (!readServerBody(withoutMasks(flattenServerBody(body, errors)), errors)) throw serverInvalid(errors, body)
}

/** Reads a body with the masks of `stored` put back. Throws `validation_failed` with every wrong field. */
export function draftServer(deps: Pick<RegistryDeps, 'sealer'>, body: JsonObject, stored: Stored | undefined): Draft {
  const errors: FieldError[] = []
  const restored = restoreMasks(deps.sealer, flattenServerBody(body, errors), stored, errors)
  const read = readServerBody(keepDocument(restored.flat, stored?.settings, errors), errors)
  if (!read || errors.length > 0) throw serverInvalid(errors, body)
  const parsed = takeDocument(read, factsIn(body))
  const secrets = presentSecrets(restored.flat, [...new Set([...parsed.settings.secrets, ...restored.kept])])
  return { ...parsed, settings: keepInferred({ ...parsed.settings, secrets }, stored), kept: restored.kept }
}

/** The pointers that name a text of the body. One that names more than a text would leave it in the clear. */
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
 * Which secrets a patched body has when the patch does not list them: those that were, and by name those that are new. A
 * field that its owner had listed as no secret stays none.
 */
export function patchedSecrets(before: JsonObject, after: JsonObject, stored: readonly string[]): string[] {
  const added = secretPointers(after).filter(pointer => valueAt(before, pointer) === undefined)
  return [...stored.filter(pointer => typeof valueAt(after, pointer) === 'string'), ...added]
}

/** A body that says what is there already does not settle a transport that was left open. */
function keepInferred(settings: ServerSettings, stored: Stored | undefined): ServerSettings {
  const same =
    stored?.settings.transportInferred === true &&
    stored.settings.transport === settings.transport &&
    stored.settings.config.url === settings.config.url
  return same ? { ...settings, transportInferred: true } : settings
}

/**
 * Somebody other than the owner who sends secrets elsewhere must know them: where the origin or command changes, or the
 * owner, each secret that was kept by its mask is `secret_required`.
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
      detail: 'The server is to be reached elsewhere, and not by its owner’s word: enter the secret anew',
    })),
    'The secrets must be entered anew',
  )
}

function storedDestination(deps: Pick<RegistryDeps, 'sealer'>, stored: Stored): string | undefined {
  try {
    const settings = openSettings(deps.sealer, stored, stored.settings)
    return destination({ settings, filled: fillVariables(settings.config, settings.variables) })
  } catch (error) {
    // A configuration that cannot be read leads nowhere, so that any other is another one.
    if (error instanceof HubError) return undefined
    throw error
  }
}

/** Where the secrets go: the origins, or the command with its arguments and folder. */
function destination({ settings, filled }: Pick<ParsedServerBody, 'settings' | 'filled'>): string {
  const { command = null, args = [], cwd = null } = filled
  if (settings.transport === 'stdio') return canonical(['stdio', command, args, cwd])
  const origins = addressesOf(settings.transport, filled).map(({ url }) => url.origin)
  if (settings.transport !== 'openapi') return canonical(['http', ...origins])
  // An inline document says where calls and credentials go; any other one may lead elsewhere.
  return canonical(['openapi', ...origins, storedDocument(filled)?.sha256 ?? null])
}
