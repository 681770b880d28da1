import { createHash, randomUUID } from 'node:crypto'
import type { Passwords } from '../auth/passwords.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonValue } from '../contract/json.ts'
import type { NotCarried } from '../contract/points.ts'
import type { UserActor } from '../contract/records.ts'
import { nextTurn } from '../domain/next-turn.ts'
import type { Transports } from '../domain/server/transports.ts'
import type { Registry } from '../registry/api.ts'
import type { OpenRegistry, TogetherParts } from '../registry/create.ts'
import type { MovingKinds } from '../registry/owned/moving.ts'
import { withinStoredBytes } from '../registry/stored-bytes.ts'
import type { Store } from '../store/open.ts'
import { read, write } from '../store/transact.ts'
import { Apart } from './apart/apart.ts'
import { rowsOf } from './apart/copied-rows.ts'
import type { ImportContent, ImportItem, MadeItem } from './import-items.ts'
import { ImportReader, type ImportReaderDeps } from './import-reader.ts'
import { type ImportRecord, listImports, pruneImports } from './import-records.ts'
import { type Rollback, takeBack, takeOriginal } from './import-rollback.ts'
import { ImportRun, type WeakPasswords } from './import-run.ts'
import { type ImportOptions, type ImportOutcome, ImportScope, originalKey } from './import-scope.ts'
import { thingsOfItems, thingsOfMade } from './import-things.ts'
import { ImportTurns } from './import-turns.ts'
import { type OriginalsDeps, type SwitchedOriginal, switchedOriginal } from './originals/originals.ts'

/** What imports need. */
export interface ImportDeps extends ImportReaderDeps, OriginalsDeps {
  readonly store: Store
  readonly within: OpenRegistry['within']
  readonly passwords: Pick<Passwords, 'verify'>
  readonly transports: Transports
  readonly records: MovingKinds
  readonly settings: Pick<Registry['settings'], 'openUserSecret'>
}

/** What an import would do. */
export interface ImportPlan {
  /** Which program's document it is. */
  readonly source: string
  /** The same only for the same document, wishes and outcome. */
  readonly planHash: string
  readonly items: readonly ImportOutcome[]
  readonly notCarried: readonly NotCarried[]
  readonly warnings: readonly string[]
  /** Where that was wanted: the text of the document with its servers switched off. */
  readonly switchedOff?: SwitchedOriginal
}

/** Passwords with which other hubs begin. */
const FIRST_PASSWORDS = ['admin123', 'admin', 'password']
const MOST_VERIFIED = 20

/** Takes over what other programs hold: servers of clients; users, servers, groups and keys of hubs. */
export interface ImportService {
  /** Throws `validation_failed` for a document of which nothing is understood, `overloaded`. */
  plan(actor: UserActor, document: JsonValue, options: ImportOptions): Promise<ImportPlan>
  /**
   * Makes it, all or nothing. Throws `plan_changed` when the outcome would not be the one planned, `storage_busy` while the same
   * things are changed all the time, and `quota_stored_bytes` when the record of what was made does not fit.
   */
  apply(
    actor: UserActor,
    document: JsonValue,
    options: ImportOptions,
    planHash: string,
  ): Promise<ImportPlan & { readonly id: string }>
  /** The actor's imports of the last seven days, newest first. */
  list(actor: UserActor): Promise<readonly ImportRecord[]>
  /** Removes what an import has made, but for what was changed since. Throws `import_not_found`, `storage_busy`. */
  rollBack(actor: UserActor, id: string): Promise<Rollback>
}

/** Imports into the store. Each is made on a copy of what it reads, so that others' changes wait for its last moment alone. */
export class Imports implements ImportService {
  readonly #deps: ImportDeps
  readonly #turns = new ImportTurns()
  readonly #apart: Apart
  readonly #reader: ImportReader

  constructor(deps: ImportDeps) {
    this.#deps = deps
    this.#apart = new Apart(deps.store)
    this.#reader = new ImportReader(deps)
  }

  async plan(actor: UserActor, document: JsonValue, options: ImportOptions): Promise<ImportPlan> {
    const content = await this.#reader.read(document, actor, options)
    const weak = await this.#weakPasswords(content, actor)
    const rows = rowsOf(thingsOfItems(content.items, actor, options))
    const plan = await this.#turns.take(actor.userId, () =>
      this.#apart.rehearse(rows, async together => {
        const parts = this.#deps.within(together)
        return (await this.#run(randomUUID(), parts, actor, content, options, weak)).plan
      }),
    )
    return this.#withOriginal(plan, document, options, actor)
  }

  async apply(
    actor: UserActor,
    document: JsonValue,
    options: ImportOptions,
    planHash: string,
  ): Promise<ImportPlan & { readonly id: string }> {
    const content = await this.#reader.read(document, actor, options)
    const weak = await this.#weakPasswords(content, actor)
    const id = randomUUID()
    const rows = rowsOf(thingsOfItems(content.items, actor, options))
    const plan = await this.#turns.take(actor.userId, () =>
      this.#apart.change(rows, async together => {
        const parts = this.#deps.within(together)
        const { plan, made } = await this.#run(id, parts, actor, content, options, weak)
        if (plan.planHash !== planHash) {
          throw new HubError('plan_changed', 'What this import would do is not what was planned')
        }
        // A text that cannot be changed is found before anything is made.
        const whole = await this.#withOriginal(plan, document, options, actor)
        const { settings } = parts.registry
        if (whole.switchedOff && whole.switchedOff.text !== document) {
          const original = JSON.stringify({ format: whole.switchedOff.format, text: document })
          await settings.setUser(actor, actor.userId, {}, { [originalKey(id)]: original })
        }
        const createdAt = new Date().toISOString()
        const row = {
          id,
          owner_id: actor.userId,
          source: plan.source,
          made: JSON.stringify(made),
          created_at: createdAt,
        }
        const owner = { id: actor.userId, name: actor.name, role: actor.role }
        await write(parts.store, trx =>
          withinStoredBytes(trx, owner, () => trx.insertInto('import_run').values(row).execute()),
        )
        return whole
      }),
    )
    await write(this.#deps.store, pruneImports)
    return { ...plan, id }
  }

  list(actor: UserActor): Promise<readonly ImportRecord[]> {
    return listImports(this.#deps.store, actor)
  }

  async rollBack(actor: UserActor, id: string): Promise<Rollback> {
    return this.#turns.take(actor.userId, async () => {
      const items = await this.#madeBy(actor, id)
      const before = await Promise.all(items.map(({ replaced }) => this.#replaced(actor, replaced)))
      return this.#apart.change(rowsOf(thingsOfMade(items, before, actor)), async together => {
        const parts = this.#deps.within(together)
        const result = await takeBack({ ...parts, records: this.#deps.records(parts) }, actor, items)
        const original = await takeOriginal(parts, actor, id)
        await write(parts.store, trx => trx.deleteFrom('import_run').where('id', '=', id).execute())
        return { ...result, ...original }
      })
    })
  }

  async #madeBy({ userId }: UserActor, id: string): Promise<readonly MadeItem[]> {
    const row = await read(this.#deps.store, db =>
      db.selectFrom('import_run').selectAll().where('id', '=', id).where('owner_id', '=', userId).executeTakeFirst(),
    )
    if (!row) throw new HubError('import_not_found', 'There is no such import of the last seven days')
    return JSON.parse(row.made) as MadeItem[]
  }

  /** The body of what an item had replaced; null for none, and where it is not kept any more. */
  async #replaced({ userId }: UserActor, name: string | undefined): Promise<JsonValue> {
    const text = name === undefined ? undefined : await this.#deps.settings.openUserSecret(userId, name)
    return text === undefined ? null : ((JSON.parse(text) as { readonly body?: JsonValue }).body ?? null)
  }

  async #withOriginal(
    plan: ImportPlan,
    document: JsonValue,
    { switchOff = false }: ImportOptions,
    { userId }: UserActor,
  ): Promise<ImportPlan> {
    if (switchOff === false) return plan
    return { ...plan, switchedOff: await switchedOriginal(this.#deps, document, plan, switchOff, userId) }
  }

  async #run(
    id: string,
    parts: TogetherParts,
    actor: UserActor,
    content: ImportContent,
    options: ImportOptions,
    weak: WeakPasswords,
  ): Promise<{ readonly plan: ImportPlan; readonly made: readonly MadeItem[] }> {
    const { records, transports } = this.#deps
    const scope = new ImportScope(id, parts, records(parts), { actor, options, transports })
    const items = await new ImportRun(scope).run(content, weak)
    const { source, notCarried, warnings } = content
    const planHash = await hashOf(content.items, items, options)
    return { plan: { source, planHash, items, notCarried, warnings }, made: scope.made }
  }

  /** Hashes of administrators are tried before the transaction: each try takes a tenth of a second and more. */
  async #weakPasswords({ items }: ImportContent, { role, credential }: UserActor): Promise<WeakPasswords> {
    // Others make no users, and must not keep those waiting who sign in.
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

/** Of all that the plan depends on, item by item, so that others are answered in between: one can hold 16 MiB. */
async function hashOf(
  items: readonly ImportItem[],
  outcomes: readonly ImportOutcome[],
  { answers, choices, off, group }: ImportOptions,
): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([answers, choices, off, group ?? null]))
  // The group that the servers join is no item of the document.
  const joined = outcomes.slice(items.length).map(({ name, owner, verdict, body }) => [name, owner, verdict, body])
  hash.update(JSON.stringify(joined))
  for (const [at, item] of items.entries()) {
    const { name, owner = '', verdict } = outcomes[at] ?? { name: '', verdict: '' }
    hash.update(JSON.stringify([item, name, owner, verdict]))
    await nextTurn()
  }
  return hash.digest('hex')
}
