import { isDeepStrictEqual } from 'node:util'
import { type FieldError, HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { Actor, ServerSettings } from '../../contract/records.ts'
import { Fields } from '../../domain/json/fields.ts'
import { valueAt } from '../../domain/json/json-pointer.ts'
import { flattenServerBody, type ParsedServerBody, readServerBody, serverInvalid } from '../../domain/server/body.ts'
import { factsIn } from '../../domain/server/document-facts.ts'
import { refuseMovedSecrets } from '../../domain/server/moved-secrets.ts'
import { secretFields, secretPointers } from '../../domain/server/secrets.ts'
import { ANSWER_FIELDS, COMMON_FIELDS } from '../../domain/server/server-table.ts'
import { destinationOf } from '../../domain/server/transport.ts'
import { type Transports, transportFields } from '../../domain/server/transports.ts'
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

type DraftDeps = Pick<RegistryDeps, 'sealer' | 'transports'>

/** The fields that hold secrets of a server, also while its plugin does not run. */
function secretsOf({ secrets }: ServerSettings): readonly string[] {
  return secrets.map(pointer => pointer.split('/')[1] ?? '')
}

/** True for a name that no running plugin offers. */
function isAbsent(transports: Transports, transport: string): boolean {
  return transports.of(transport) === undefined
}

/** True for a server with fields of a plugin that does not run: its transport's, or others that are closed. */
function hasClosed(transports: Transports, { transport, config }: ServerSettings): boolean {
  return isAbsent(transports, transport) || transports.serverFields.closed(transport, config).length > 0
}

/** More fields than any server has: such a body is refused before it is copied. */
const MOST_FIELDS = 500

function requireFewFields(transports: Transports, body: JsonObject): void {
  const errors: FieldError[] = []
  for (const part of [body, body.config]) {
    if (!isJsonObject(part) || Object.keys(part).length <= MOST_FIELDS) continue
    const known = [...COMMON_FIELDS, ...transportFields(transports), ...ANSWER_FIELDS, 'config', 'type']
    new Fields(part, '#', errors).refuseUnknown(known)
  }
  if (errors.length > 0) throw serverInvalid(errors, body)
}

/**
 * Rejects an invalid body before any record is read, so that the response reveals nothing about a server that the sender may not
 * see.
 */
export function validateBody({ transports }: Pick<RegistryDeps, 'transports'>, body: JsonObject): void {
  requireFewFields(transports, body)
  const errors: FieldError[] = []
  const flat = flattenServerBody(body, errors)
  // The absence of a transport's plugin is not secret; without the plugin, the fields are checked with the record.
  if (typeof flat.transport === 'string' && isAbsent(transports, flat.transport)) return
  const { flat: unmasked, masked } = withoutMasks(transports, flat)
  readServerBody(transports, unmasked, errors, { closedFields: 'ignore' })
  const wrong = errors.filter(({ pointer }) => !masked.has(pointer))
  if (wrong.length > 0) throw serverInvalid(wrong, body)
}

/** Parses a body with the masks of `stored` resolved. Throws `validation_failed` with all invalid fields. */
export function draftServer(deps: DraftDeps, body: JsonObject, stored: Stored | undefined): Draft {
  const { sealer, transports } = deps
  requireFewFields(transports, body)
  const errors: FieldError[] = []
  const flatBody = flattenServerBody(body, errors)
  const fields = [...secretFields(transports), ...(stored ? secretsOf(stored.settings) : [])]
  const restored = restoreMasks(sealer, fields, flatBody, stored, errors)
  const unknownMasks = new Set(errors.filter(({ code }) => code === 'secret_mask').map(({ pointer }) => pointer))
  const opened = stored && hasClosed(transports, stored.settings) && openSettings(sealer, stored, stored.settings)
  const flat = keepDocument(restored.flat, stored?.settings, errors)
  const read = readServerBody(transports, flat, errors, opened ? { stored: opened } : {})
  if (!read || errors.length > 0) {
    // Other errors at the place of such a mask are meaningless.
    const wrong = errors.filter(({ code, pointer }) => code === 'secret_mask' || !unknownMasks.has(pointer))
    throw serverInvalid(wrong, body)
  }
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
export function patchedSecrets(
  transports: Transports,
  before: JsonObject,
  after: JsonObject,
  stored: readonly string[],
): string[] {
  const added = secretPointers(transports, after).filter(pointer => valueAt(before, pointer) === undefined)
  return [...stored.filter(pointer => typeof valueAt(after, pointer) === 'string'), ...added]
}

/** Keeps an inferred transport as inferred when the body repeats the stored one. */
function keepInferred(settings: ServerSettings, stored: Stored | undefined): ServerSettings {
  const same =
    stored?.settings.transportInferred === true &&
    stored.settings.transport === settings.transport &&
    stored.settings.config.url === settings.config.url
  return same ? { ...settings, transportInferred: true } : settings
}

/**
 * Applies {@link refuseMovedSecrets} to a server: a change of its address, program or owner, and one of the paths of its health checks by
 * somebody else than its owner, since the secrets are sent to these as well.
 */
export function refuseMovedServer(deps: DraftDeps, actor: Actor, owner: Owner, draft: Draft, stored: Stored): void {
  if (draft.kept.length === 0) return
  const isGiven = owner.id !== stored.ownerId
  const isOwn = !isGiven && actor.kind === 'user' && actor.userId === stored.ownerId
  const change = {
    kept: draft.kept.map(pointer => `#${pointer}`),
    moved:
      isGiven ||
      leadsElsewhere(deps, draft, stored) ||
      (!isOwn && !isDeepStrictEqual(checkedPaths(draft.settings), checkedPaths(stored.settings))),
    isOwn,
  }
  refuseMovedSecrets(actor, change, Date.now())
}

/** True for a change of the server's address or program. */
export function leadsElsewhere(deps: DraftDeps, draft: Draft, stored: Stored): boolean {
  return destination(deps, draft) !== storedDestination(deps, stored)
}

function checkedPaths({ healthCheck: { endpoints } }: ServerSettings): readonly (string | undefined)[] {
  return [endpoints?.ping, endpoints?.tools]
}

function storedDestination(deps: DraftDeps, stored: Stored): string | undefined {
  try {
    const settings = openSettings(deps.sealer, stored, stored.settings)
    return destination(deps, { settings, filled: fillVariables(settings.config, settings.variables) })
  } catch (error) {
    // An unreadable configuration has no destination, so any other one differs.
    if (error instanceof HubError) return undefined
    throw error
  }
}

function destination(
  { transports }: Pick<RegistryDeps, 'transports'>,
  { settings, filled }: Pick<ParsedServerBody, 'settings' | 'filled'>,
): string {
  return destinationOf(transports.of(settings.transport), filled)
}
