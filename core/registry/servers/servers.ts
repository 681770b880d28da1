import { randomUUID } from 'node:crypto'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Actor, ServerRecord } from '../../contract/records.ts'
import { nameKey, parseRef } from '../../domain/names.ts'
import { nextTurn } from '../../domain/next-turn.ts'
import { roleFor } from '../../domain/ownership.ts'
import { flattenServerBody, serverBodyOf, serverInvalid } from '../../domain/server/body.ts'
import { storedDocument, withInlineDocument } from '../../domain/server/openapi.ts'
import { cappedRights } from '../../domain/server/owner-rights.ts'
import { fillVariables } from '../../domain/server/variables.ts'
import { isUniqueViolation } from '../../store/errors.ts'
import { type AfterCommit, type Reader, read, type Writer, write } from '../../store/transact.ts'
import { checkRevision, chooseRow, mayStillChange, notFound, owned, refKey, untilUnchanged } from '../access.ts'
import type {
  CreateOptions,
  DocumentParts,
  EffectiveServer,
  ListQuery,
  Ref,
  Right,
  ServerRegistry,
  WriteOptions,
} from '../api.ts'
import { type RegistryDeps, timestamp } from '../context.ts'
import { touchGroups } from '../groups/group-events.ts'
import { rememberLostMembers } from '../groups/lost-members.ts'
import { chooseOwner, type Owner, rowOwner } from '../owners.ts'
import { type ServerRow, serverColumns, serverRecord, storedOrigin } from '../rows.ts'
import { groupsWith, serverRowById, serverRowsByKey } from '../server-rows.ts'
import { dropOwnShare } from '../share-map.ts'
import { checkServerBytes, serverBytes } from '../stored-bytes.ts'
import { authorCap } from './author-rights.ts'
import { authorOf, reconfiguresBy, refuseColleague, refuseHostedMove } from './colleague.ts'
import { checkedDraft } from './document-check.ts'
import { openDocument, readDocument, readDocumentText, withDocument } from './document-parts.ts'
import { fullyFilled, writeDocument } from './documents.ts'
import { effectiveServer, secretValues } from './effective-server.ts'
import { FileEntries } from './file-entries.ts'
import {
  effectiveOwner,
  heldAfterSave,
  heldByAuthor,
  heldColumnsNow,
  heldFromNobody,
  heldRights,
  NO_LIMITS,
  reviewRequired,
  settingsAwaitingReview,
} from './held-rights.ts'
import { listedServers } from './listed-servers.ts'
import { serversRunning } from './program-uses.ts'
import { checkSave } from './save-rights.ts'
import { type Draft, refuseMovedServer, validateBody } from './server-draft.ts'
import { nameTaken, ownerDisabled } from './server-errors.ts'
import { emitServerEvent } from './server-events.ts'
import { findingOf, withFinding } from './server-form.ts'
import { patchedBody } from './server-patch.ts'
import { requireProgram } from './server-program.ts'
import { checkServerQuota } from './server-quota.ts'
import { checkServerRights } from './server-rights.ts'
import { changedFields, fileBody, mapSecrets, maskedBody, openSettings, sealSettings } from './server-secrets.ts'
import { trialDraft } from './trial-draft.ts'

/** Servers in the store. */
export class Servers implements ServerRegistry {
  readonly #deps: RegistryDeps
  readonly #entries: FileEntries

  constructor(deps: RegistryDeps) {
    this.#deps = deps
    this.#entries = new FileEntries(deps)
  }

  list(actor: Actor, query: ListQuery): Promise<readonly ServerRecord[]> {
    return listedServers(this.#deps, actor, query)
  }

  async resolve(actor: Actor, ref: Ref, right: Right): Promise<ServerRecord> {
    return serverRecord(await this.#row(actor, ref, right))
  }

  async byId(actor: Actor, id: string): Promise<ServerRecord | undefined> {
    const row = await read(this.#deps.store, db => serverRowById(db, id))
    return row && roleFor(actor, owned(row), this.#deps.shares) ? serverRecord(row) : undefined
  }

  async create(actor: Actor, body: JsonObject, options: CreateOptions = {}): Promise<ServerRecord> {
    const { unseen = false, template } = options
    const draft = await checkedDraft(this.#deps, actor, body, undefined)
    const owner = await read(this.#deps.store, db => chooseOwner(db, actor, draft.owner, undefined))
    const held = heldByAuthor({ actor }, owner, unseen ? heldFromNobody(owner) : NO_LIMITS)
    const wanted = held.awaitsReview ? settingsAwaitingReview(draft.settings) : draft.settings
    const rights = cappedRights(owner, authorCap({ actor }, owner))
    checkServerRights(this.#deps, rights, draft.settings.transport, fullyFilled(draft))
    await requireProgram(this.#deps.transports.programs, owner.id, draft.settings)
    const id = randomUUID()
    const settings = sealSettings(this.#deps.sealer, { ownerId: owner.id, id }, wanted, undefined)
    const at = timestamp(this.#deps)
    return this.#write(draft, owner, async (trx, after) => {
      await checkServerQuota(trx, rights, settings, undefined)
      const columns = serverColumns(settings, { template })
      await checkServerBytes(trx, owner, serverBytes(columns))
      await trx
        .insertInto('server')
        .values({
          ...columns,
          ...(await heldColumnsNow(trx, owner, held)),
          ...{ id, owner_id: owner.id, name_key: nameKey(settings.name), origin: 'store', problem: null },
          ...{ revision: 1, created_at: at, updated_at: at },
        })
        .execute()
      await writeDocument(trx, id, settings, draft.document)
      const record = serverRecord(await this.#written(trx, id))
      after(() => emitServerEvent(this.#deps.bus, 'server.created', record, record.visibility === 'public'))
      return record
    })
  }

  async replace(actor: Actor, ref: Ref, body: JsonObject, options: WriteOptions = {}): Promise<ServerRecord> {
    try {
      validateBody(this.#deps, body)
    } catch (error) {
      throw withFinding(error, findingOf(actor, body), body)
    }
    return this.#update(actor, ref, () => body, options)
  }

  async patch(actor: Actor, ref: Ref, patch: JsonObject, options: WriteOptions = {}): Promise<ServerRecord> {
    const errors: Parameters<typeof flattenServerBody>[1] = []
    const flat = flattenServerBody(patch, errors)
    if (errors.length > 0) throw serverInvalid(errors, patch)
    try {
      return await this.#update(
        actor,
        ref,
        record => patchedBody(this.#deps.transports, this.publicBody(record), record, flat),
        options,
      )
    } catch (error) {
      // Errors point into the patch as it was sent.
      const nested = patch.config !== undefined && error instanceof HubError && error.code === 'validation_failed'
      throw nested ? serverInvalid(error.errors ?? [], patch) : error
    }
  }

  setEnabled(actor: Actor, ref: Ref, enabled: boolean): Promise<ServerRecord> {
    return this.patch(actor, ref, { enabled })
  }

  async remove(actor: Actor, ref: Ref, options: WriteOptions = {}): Promise<void> {
    const row = await this.#row(actor, ref, 'owner')
    checkRevision('server', row, options)
    if (row.origin === 'file') await this.#entries.remove(row)
    await write(this.#deps.store, async (trx, after) => {
      const groups = await groupsWith(trx, [row.id])
      await rememberLostMembers(trx, [row.id], { at: timestamp(this.#deps), shares: this.#deps.shares })
      const gone = await trx
        .deleteFrom('server')
        .where('id', '=', row.id)
        .where('owner_id', '=', row.owner_id)
        .executeTakeFirst()
      if (Number(gone.numDeletedRows) === 0) throw notFound('server', ref)
      after(() => {
        // Before the shares are forgotten, so that those with a share hear of it.
        emitServerEvent(this.#deps.bus, 'server.removed', serverRecord(row), row.visibility === 'public')
        this.#deps.shares.forgetThing(row.id)
      })
      await touchGroups(this.#deps, trx, after, groups)
    })
  }

  publicBody(record: ServerRecord): JsonObject {
    return maskedBody(this.#deps.sealer, record, record)
  }

  async openBody(
    actor: Actor,
    record: ServerRecord,
    replace: (secret: string, pointer: string) => string,
  ): Promise<JsonObject> {
    if (actor.kind !== 'user' || actor.userId !== record.ownerId) throw notFound('server', record.name)
    const opened = mapSecrets(openSettings(this.#deps.sealer, record, record), replace)
    const document = storedDocument(record.config)
    if (!document) return serverBodyOf(opened)
    const text = await readDocumentText(this.#deps.store, record.id, document.sha256)
    const config = withInlineDocument(opened.config, text)
    return serverBodyOf({ ...opened, config })
  }

  async effective(id: string): Promise<EffectiveServer> {
    const row = await read(this.#deps.store, db => serverRowById(db, id))
    if (!row) throw new HubError('server_not_found', 'The server does not exist any more')
    const record = serverRecord(row)
    // Checked here because every start passes: calls, health checks and restarts.
    if (record.ownerDisabled) throw ownerDisabled(record)
    if (record.problem) throw new HubError(record.problem.code, record.problem.message)
    const settings = openSettings(this.#deps.sealer, record, record)
    const config = fillVariables(settings.config, settings.variables)
    const secrets = secretValues([settings, { ...settings, config }])
    const opened = { ...settings, config }
    return {
      ...effectiveServer(opened, effectiveOwner(row), record, sha256 => this.#readDocument(id, sha256)),
      secrets,
    }
  }

  async draft(actor: Actor, body: JsonObject, edited?: Ref): Promise<EffectiveServer> {
    const row = edited === undefined ? undefined : await this.#editable(actor, edited)
    return trialDraft(this.#deps, actor, row, body)
  }

  running(field: string, program: string, ownerId?: string): Promise<readonly string[]> {
    return read(this.#deps.store, db => serversRunning(db, field, program, ownerId))
  }

  async document(actor: Actor, ref: Ref): Promise<DocumentParts | undefined> {
    const row = await this.#row(actor, ref, 'change')
    const document = storedDocument(serverRecord(row).config)
    return document && openDocument(this.#deps.store, row.id, document.sha256)
  }

  #readDocument(id: string, sha256: string): Promise<Uint8Array<ArrayBuffer>> {
    return readDocument(this.#deps.store, id, sha256)
  }

  /** Builds the new body from the stored server, validates and saves it; repeats all after a conflict with another save. */
  async #update(
    actor: Actor,
    ref: Ref,
    bodyFor: (record: ServerRecord) => JsonObject,
    options: WriteOptions,
  ): Promise<ServerRecord> {
    return untilUnchanged('server', ref, async () => {
      const row = await this.#row(actor, ref, 'change')
      checkRevision('server', row, options)
      return this.#save(actor, row, bodyFor(serverRecord(row)), options)
    })
  }

  /** Undefined when, since it was read, the row has changed or the actor has lost the right to change it. */
  async #save(
    actor: Actor,
    row: ServerRow,
    body: JsonObject,
    { template }: WriteOptions,
  ): Promise<ServerRecord | undefined> {
    const { sealer, store, shares } = this.#deps
    const before = serverRecord(row)
    const stored = { ownerId: row.owner_id, id: row.id, settings: before }
    const draft = await checkedDraft(this.#deps, actor, body, stored)
    // Validating and saving a body of the largest size take a turn each: others are answered in between.
    await nextTurn()
    const owner = await read(store, db => chooseOwner(db, actor, draft.owner, rowOwner(row)))
    const author = await authorOf(this.#deps, actor, row)
    const place = { ownerId: owner.id, id: row.id }
    const moved = owner.id !== row.owner_id
    const kept = heldAfterSave(actor, row, owner, draft)
    const wanted = moved && kept.awaitsReview ? settingsAwaitingReview(draft.settings) : draft.settings
    if (kept.awaitsReview && wanted.enabled) throw reviewRequired(before.name)
    await requireProgram(this.#deps.transports.programs, owner.id, draft.settings, before)
    const settings = sealSettings(sealer, place, wanted, moved ? undefined : before)
    const changed = [...changedFields(before, settings), ...(moved ? ['owner'] : [])]
    refuseColleague(this.#deps, author, row, draft, changed)
    refuseMovedServer(this.#deps, actor, owner, draft, stored)
    await refuseHostedMove(this.#deps, author, row, draft)
    const held = reconfiguresBy(author, changed) ? heldByAuthor(author, owner, kept) : kept
    checkSave(this.#deps, author, row, draft, { owner, held, settings, changed, moved })
    const isUnchanged = changed.length === 0 && !before.problem && template === undefined
    const same = isUnchanged && JSON.stringify(held) === JSON.stringify(heldRights(row))
    if (same) return before
    if (!mayStillChange(actor, row, shares)) return undefined
    if (row.origin === 'file')
      await this.#entries.write(row, owner, draft, fileBody(this.#deps, place, settings, draft))
    if (settings.name !== before.name) await this.#entries.renameInGroups(row, owner, settings.name)

    return this.#write(draft, owner, async (trx, after) => {
      if (!mayStillChange(actor, row, shares)) return undefined
      await checkServerQuota(trx, cappedRights(owner, authorCap(author, owner)), settings, before)
      const columns = serverColumns(settings, { ...storedOrigin(row), ...(template ? { template } : {}) })
      await checkServerBytes(trx, owner, serverBytes(columns), moved ? undefined : serverBytes(row))
      const { numUpdatedRows } = await trx
        .updateTable('server')
        .set({
          ...columns,
          ...(await heldColumnsNow(trx, owner, held)),
          ...{ owner_id: owner.id, name_key: nameKey(settings.name), problem: null },
          ...{ revision: row.revision + 1, updated_at: timestamp(this.#deps) },
        })
        .where('id', '=', row.id)
        .where('revision', '=', row.revision)
        .executeTakeFirst()
      if (Number(numUpdatedRows) === 0) return undefined
      if (draft.document || storedDocument(before.config)) await writeDocument(trx, row.id, settings, draft.document)
      if (moved) await dropOwnShare(shares, trx, after, { kind: 'server', id: row.id, ownerId: owner.id })
      const record = serverRecord(await this.#written(trx, row.id))
      const seen = record.visibility === 'public' || before.visibility === 'public'
      after(() => {
        // To the former owner, the server appears removed, unless it is public.
        const lost = moved && record.visibility !== 'public'
        const gone = { serverId: before.id, name: before.name, transferred: true } as const
        if (lost) this.#deps.bus.emit('server.removed', before.ownerId, gone)
        emitServerEvent(this.#deps.bus, 'server.updated', record, seen, changed)
      })
      return record
    })
  }

  async #write<T>(
    { settings, document }: Draft,
    owner: Owner,
    work: (trx: Writer, after: AfterCommit) => Promise<T>,
  ): Promise<T> {
    const { store } = this.#deps
    try {
      return await withDocument(store, document, () => write(store, work))
    } catch (error) {
      throw isUniqueViolation(error) ? nameTaken(settings.name, owner) : error
    }
  }

  async #row(actor: Actor, ref: Ref, right: Right): Promise<ServerRow> {
    const candidates = await read(this.#deps.store, db => serverRowsByKey(db, refKey(ref)))
    return chooseRow('server', candidates, actor, ref, { right, shares: this.#deps.shares })
  }

  /** Undefined when the actor may not change it: masks then match nothing, as if there were no such server. */
  async #editable(actor: Actor, ref: Ref): Promise<ServerRow | undefined> {
    try {
      const row = await this.#row(actor, ref, 'change')
      // A plain name is the actor's own or a new one, never that of a server that somebody shares with it.
      const isForeign = actor.kind === 'user' && row.owner_id !== actor.userId && actor.role !== 'admin'
      return isForeign && parseRef(ref).owner === undefined ? undefined : row
    } catch (error) {
      if (error instanceof HubError && error.status < 500) return undefined
      throw error
    }
  }

  async #written(db: Reader, id: string): Promise<ServerRow> {
    const row = await serverRowById(db, id)
    if (!row) throw new HubError('internal', 'A server vanished while it was written')
    return row
  }
}
