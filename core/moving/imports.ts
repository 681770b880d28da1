import { randomUUID } from 'node:crypto'
import type { Passwords } from '../auth/passwords.ts'
import type { ImportedEntry } from '../config/import/entry.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonValue } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import type { Transports } from '../domain/server/transports.ts'
import type { NotCarried } from '../features/imports.ts'
import { rowsOf } from '../plans/apart/copied-rows.ts'
import type { PlanMark, Planned } from '../plans/planned.ts'
import type { Plans } from '../plans/plans.ts'
import type { Registry } from '../registry/api.ts'
import type { OpenAttached } from '../registry/attached.ts'
import type { TogetherParts } from '../registry/create.ts'
import type { MovingKinds } from '../registry/owned/moving.ts'
import { withinStoredBytes } from '../registry/stored-bytes.ts'
import type { Store } from '../store/open.ts'
import { read, write } from '../store/transact.ts'
import type { ImportContent, ImportItem, MadeItem } from './import-items.ts'
import { ImportReader, type ImportReaderDeps } from './import-reader.ts'
import { type ImportRecord, listImports, pruneImports } from './import-records.ts'
import { type Rollback, takeBack, takeOriginal } from './import-rollback.ts'
import { ImportRun, type WeakPasswords } from './import-run.ts'
import { type ImportOptions, type ImportOutcome, ImportScope, originalKey } from './import-scope.ts'
import { thingsOfItems, thingsOfMade } from './import-things.ts'
import { type OriginalsDeps, type SwitchedOriginal, switchedOriginal } from './originals/originals.ts'

/** The parts of the hub that imports use. */
export interface ImportDeps extends ImportReaderDeps, OriginalsDeps {
  readonly store: Store
  readonly plans: Plans
  readonly passwords: Pick<Passwords, 'verify'>
  readonly transports: Transports
  readonly records: MovingKinds
  readonly attached: OpenAttached
  readonly settings: Pick<Registry['settings'], 'openUserSecret'>
}

/** A user's request to import a document. */
export interface ImportRequest {
  readonly document: JsonValue
  readonly options: ImportOptions
}

/** The plan of an import. */
export interface ImportPlan {
  /** The program whose document it is. */
  readonly source: string
  readonly items: readonly ImportOutcome[]
  readonly notCarried: readonly NotCarried[]
  readonly warnings: readonly string[]
  /** The text of the document with its servers switched off; absent without `switchOff`. */
  readonly switchedOff?: SwitchedOriginal
}

/** An import that was made. */
export interface MadeImport extends ImportPlan, PlanMark {
  readonly id: string
}

/** Passwords with which other hubs begin. */
const FIRST_PASSWORDS = ['admin123', 'admin', 'password']
const MOST_VERIFIED = 20

/**
 * Takes over what other programs hold: servers of clients; users, servers, groups and keys of hubs. Both steps throw
 * `validation_failed` for a document of which nothing is understood, `apply` also `quota_stored_bytes` when the record of what
 * was made does not fit.
 */
export interface ImportService extends Planned<ImportRequest, ImportPlan, MadeImport> {
  /** The servers of a document alone, by the same reader. Throws `validation_failed`, `overloaded`. */
  servers(document: JsonValue, sender: string): Promise<{ readonly entries: readonly ImportedEntry[] }>
  /** The actor's imports of the last seven days, newest first. */
  list(actor: UserActor): Promise<readonly ImportRecord[]>
  /** Removes the things that an import has made, except those changed since. Throws `import_not_found`, `storage_busy`. */
  rollBack(actor: UserActor, id: string): Promise<Rollback>
}

/** A document as it was read. */
interface ReadDocument {
  readonly content: ImportContent
  readonly weak: WeakPasswords
}

/** Data of one attempt of an import. */
interface Attempted {
  readonly actor: UserActor
  readonly inputs: ImportRequest
  readonly read: ReadDocument
}

const WHAT = 'import'

/** Imports into the store. Each is made on a copy of the rows that it reads; others' changes wait only for the final transaction. */
export class Imports implements ImportService {
  readonly #deps: ImportDeps
  readonly #reader: ImportReader
  readonly #planned: Planned<ImportRequest, ImportPlan, MadeImport>

  constructor(deps: ImportDeps) {
    this.#deps = deps
    this.#reader = new ImportReader(deps)
    this.#planned = deps.plans.tried<ImportRequest, ReadDocument, ImportPlan, MadeImport>({
      what: WHAT,
      unready: 'The document cannot be imported',
      read: async (actor, { document, options }) => {
        const content = await this.#reader.read(document, actor, options)
        return { content, weak: await this.#weakPasswords(content, actor) }
      },
      rows: (actor, { options }, { content }) => rowsOf(thingsOfItems(content.items, actor, options)),
      attempt: (parts, work) => this.#attempt(parts, work),
    })
  }

  plan(actor: UserActor, request: ImportRequest): Promise<ImportPlan & PlanMark> {
    return this.#planned.plan(actor, request)
  }

  async apply(actor: UserActor, planHash: string | undefined, request: ImportRequest): Promise<MadeImport> {
    const made = await this.#planned.apply(actor, planHash, request)
    await write(this.#deps.store, pruneImports)
    return made
  }

  servers(document: JsonValue, sender: string): Promise<{ readonly entries: readonly ImportedEntry[] }> {
    return this.#reader.servers(document, sender)
  }

  list(actor: UserActor): Promise<readonly ImportRecord[]> {
    return listImports(this.#deps.store, actor)
  }

  async rollBack(actor: UserActor, id: string): Promise<Rollback> {
    let items: readonly MadeItem[] = []
    const rows = async () => {
      items = await this.#madeBy(actor, id)
      const before = await Promise.all(items.map(({ replaced }) => this.#replaced(actor, replaced)))
      return rowsOf(thingsOfMade(items, before, actor))
    }
    return this.#deps.plans.change(actor, WHAT, rows, async parts => {
      const result = await takeBack(
        { ...parts, records: this.#deps.records(parts), attached: this.#deps.attached },
        actor,
        items,
      )
      const original = await takeOriginal(parts, actor, id)
      await write(parts.store, trx => trx.deleteFrom('import_run').where('id', '=', id).execute())
      return { ...result, ...original }
    })
  }

  async #madeBy({ userId }: UserActor, id: string): Promise<readonly MadeItem[]> {
    const row = await read(this.#deps.store, db =>
      db.selectFrom('import_run').selectAll().where('id', '=', id).where('owner_id', '=', userId).executeTakeFirst(),
    )
    if (!row) throw new HubError('import_not_found', 'There is no such import of the last seven days')
    return JSON.parse(row.made) as MadeItem[]
  }

  /** The body that an item had replaced; null when there was none, or when it is not kept any more. */
  async #replaced({ userId }: UserActor, name: string | undefined): Promise<JsonValue> {
    const text = name === undefined ? undefined : await this.#deps.settings.openUserSecret(userId, name)
    return text === undefined ? null : ((JSON.parse(text) as { readonly body?: JsonValue }).body ?? null)
  }

  /** Keeps the text in which servers are switched off, as it was, for the rollback. */
  async #keepOriginal(
    { registry: { settings } }: TogetherParts,
    actor: UserActor,
    id: string,
    document: JsonValue,
    { switchedOff }: ImportPlan,
  ): Promise<void> {
    if (!switchedOff || switchedOff.text === document) return
    const original = JSON.stringify({ format: switchedOff.format, text: document })
    await settings.setUser(actor, actor.userId, {}, { [originalKey(id)]: original })
  }

  async #withOriginal(plan: ImportPlan, { document, options }: ImportRequest, userId: string): Promise<ImportPlan> {
    const { switchOff = false } = options
    if (switchOff === false) return plan
    return { ...plan, switchedOff: await switchedOriginal(this.#deps, document, plan, switchOff, userId) }
  }

  async #attempt(parts: TogetherParts, { actor, inputs, read: { content, weak } }: Attempted) {
    const { records, transports, attached } = this.#deps
    const { document, options } = inputs
    const id = randomUUID()
    const scope = new ImportScope(id, parts, records(parts), { actor, options, transports, attached })
    const items = await new ImportRun(scope).run(content, weak)
    const { source, notCarried, warnings } = content
    // A text that cannot be changed is found before anything is made.
    const shown = await this.#withOriginal({ source, items, notCarried, warnings }, inputs, actor.userId)
    const finish = async (planHash: string) => {
      await this.#keepOriginal(parts, actor, id, document, shown)
      const made = JSON.stringify(scope.made)
      const row = { id, owner_id: actor.userId, source, made, created_at: new Date().toISOString() }
      const owner = { id: actor.userId, name: actor.name, role: actor.role }
      await write(parts.store, trx =>
        withinStoredBytes(trx, owner, () => trx.insertInto('import_run').values(row).execute()),
      )
      return { id, ...shown, planHash }
    }
    // Missing values are listed at their item, which is then not made.
    return { shown, missing: [], decides: deciding(content.items, items, options), finish }
  }

  /** Tries hashes of administrators before the transaction: each try takes a tenth of a second and more. */
  async #weakPasswords({ items }: ImportContent, { role, credential }: UserActor): Promise<WeakPasswords> {
    // Other users make no users, and must not delay people who sign in.
    if (role !== 'admin' || credential.kind === 'key') return new Set()
    const admins = items.filter(item => item.kind === 'user').filter(({ role }) => role === 'admin')
    const weak = new Set<string>()
    for (const { pointer, passwordHash } of admins.slice(0, MOST_VERIFIED)) {
      if (passwordHash !== undefined && (await this.#isFirst(passwordHash))) weak.add(pointer)
    }
    return weak
  }

  async #isFirst(hash: string): Promise<boolean> {
    for (const password of FIRST_PASSWORDS) if ((await this.#deps.passwords.verify(password, hash)).ok) return true
    return false
  }
}

/** Everything on which the plan depends, item by item: one can hold 16 MiB. */
function* deciding(
  items: readonly ImportItem[],
  outcomes: readonly ImportOutcome[],
  { answers, choices, off, group }: ImportOptions,
): Iterable<JsonValue> {
  yield { answers, choices, off, group: group ?? null } as unknown as JsonValue
  // The group that the servers join is no item of the document.
  yield outcomes.slice(items.length).map(({ name, owner, verdict, body }) => ({ name, owner, verdict, body })) as never
  for (const [at, item] of items.entries()) {
    const { name, owner, verdict, body } = outcomes[at] as ImportOutcome
    // The user or team of a share is known here alone.
    const given = item.kind === 'shares' || item.kind === 'team' ? { body } : {}
    yield { item, name, owner, verdict, ...given } as unknown as JsonValue
  }
}
