import { createHash, randomUUID } from 'node:crypto'
import type { Passwords } from '../auth/passwords.ts'
import { type ImportedEntry, placeInDocument } from '../config/import-document.ts'
import { JsoncError, readJsonc } from '../config/jsonc.ts'
import { readServerEntry } from '../config/shape/server.ts'
import { DuplicateEntry } from '../config/shape/settings.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonValue } from '../contract/json.ts'
import type { ImportSource, NotCarried } from '../contract/points.ts'
import type { UserActor } from '../contract/records.ts'
import { guardJson } from '../domain/json/json-guard.ts'
import { nextTurn } from '../domain/next-turn.ts'
import { SERVER_JSON } from '../domain/server/body.ts'
import type { Transports } from '../domain/server/transports.ts'
import { validationError } from '../domain/validation-error.ts'
import type { OpenRegistry, TogetherParts } from '../registry/create.ts'
import type { Store } from '../store/open.ts'
import { read, write } from '../store/transact.ts'
import { isExport, readExport } from './import-export.ts'
import { isHubDocument, readHubDocument } from './import-hub.ts'
import type { ImportContent, ImportItem, MadeItem } from './import-items.ts'
import { type Rollback, takeBack } from './import-rollback.ts'
import { type ImportOptions, type ImportOutcome, ImportRun, type WeakPasswords } from './import-run.ts'
import { ImportTurns } from './import-turns.ts'
import { OneAtATime } from './one-at-a-time.ts'

/** What imports need. */
export interface ImportDeps {
  readonly store: Store
  readonly together: OpenRegistry['together']
  readonly passwords: Pick<Passwords, 'verify'>
  readonly transports: Transports
  /** By the program's name. */
  sources(): ReadonlyMap<string, ImportSource>
  /** Reads the settings of a client, a command line or a URL in a thread. Throws `validation_failed`. */
  readDocument(document: JsonValue, sender: string): Promise<{ readonly entries: readonly ImportedEntry[] }>
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
}

/** An import that was made. */
export interface ImportRecord {
  readonly id: string
  readonly source: string
  /** ISO 8601 UTC. */
  readonly createdAt: string
  /** Number of things made. */
  readonly made: number
}

const KEPT_MS = 7 * 86_400_000
/** Of administrators, and of others, whose servers are far fewer. */
const MOST_ITEMS = { admin: 2_000, user: 500 }
/** Longest text that is read here rather than in a thread: JSON, and JSON with comments, whose parser is slower. */
const JSON_CHARACTERS = 2 * 1024 * 1024
const COMMENTED_CHARACTERS = 256 * 1024
/** TOML and YAML, whose parsers run here. */
const OTHER_CHARACTERS = 256 * 1024
/** Passwords with which other hubs begin. */
const FIRST_PASSWORDS = ['admin123', 'admin', 'password']
const MOST_VERIFIED = 20

/** Takes over what other programs hold: servers of clients; users, servers, groups and keys of hubs. */
export interface ImportService {
  /** Throws `validation_failed` for a document of which nothing is understood, `overloaded`. */
  plan(actor: UserActor, document: JsonValue, options: ImportOptions): Promise<ImportPlan>
  /** Makes it, in one transaction. Throws `plan_changed` when the outcome would not be the one planned. */
  apply(
    actor: UserActor,
    document: JsonValue,
    options: ImportOptions,
    planHash: string,
  ): Promise<ImportPlan & { readonly id: string }>
  /** The actor's imports of the last seven days, newest first. */
  list(actor: UserActor): Promise<readonly ImportRecord[]>
  /** Removes what an import has made, but for what was changed since. Throws `import_not_found`. */
  rollBack(actor: UserActor, id: string): Promise<Rollback>
}

/** Imports into the store. */
export class Imports implements ImportService {
  readonly #deps: ImportDeps
  readonly #turns: ImportTurns
  /** Each takes 128 MiB for a moment. */
  readonly #passphrases = new OneAtATime('Too many exports are read at this moment')

  constructor(deps: ImportDeps) {
    this.#deps = deps
    this.#turns = new ImportTurns(deps.together)
  }

  async plan(actor: UserActor, document: JsonValue, options: ImportOptions): Promise<ImportPlan> {
    const content = await this.#read(document, actor, options)
    const weak = await this.#weakPasswords(content, actor)
    let plan: ImportPlan | undefined
    try {
      await this.#turns.take(actor.userId, async parts => {
        plan = (await this.#run(parts, actor, content, options, weak)).plan
        throw new OnlyPlanned()
      })
    } catch (error) {
      if (!(error instanceof OnlyPlanned) || !plan) throw error
    }
    return plan as ImportPlan
  }

  async apply(
    actor: UserActor,
    document: JsonValue,
    options: ImportOptions,
    planHash: string,
  ): Promise<ImportPlan & { readonly id: string }> {
    const content = await this.#read(document, actor, options)
    const weak = await this.#weakPasswords(content, actor)
    const id = randomUUID()
    const plan = await this.#turns.take(actor.userId, async parts => {
      const { plan, made } = await this.#run(parts, actor, content, options, weak)
      if (plan.planHash !== planHash) {
        throw new HubError('plan_changed', 'What this import would do is not what was planned')
      }
      const createdAt = new Date().toISOString()
      const row = { id, owner_id: actor.userId, source: plan.source, made: JSON.stringify(made), created_at: createdAt }
      await write(parts.store, async trx => {
        const old = new Date(Date.now() - KEPT_MS).toISOString()
        await trx.deleteFrom('import_run').where('created_at', '<', old).execute()
        await trx.insertInto('import_run').values(row).execute()
      })
      return plan
    })
    return { ...plan, id }
  }

  async list(actor: UserActor): Promise<readonly ImportRecord[]> {
    const since = new Date(Date.now() - KEPT_MS).toISOString()
    const rows = await read(this.#deps.store, db =>
      db
        .selectFrom('import_run')
        .selectAll()
        .where('owner_id', '=', actor.userId)
        .where('created_at', '>=', since)
        .orderBy('created_at', 'desc')
        .execute(),
    )
    return rows.map(({ id, source, created_at, made }) => {
      return { id, source, createdAt: created_at, made: (JSON.parse(made) as unknown[]).length }
    })
  }

  async rollBack(actor: UserActor, id: string): Promise<Rollback> {
    return this.#turns.take(actor.userId, async parts => {
      const row = await read(parts.store, db =>
        db
          .selectFrom('import_run')
          .selectAll()
          .where('id', '=', id)
          .where('owner_id', '=', actor.userId)
          .executeTakeFirst(),
      )
      if (!row) throw new HubError('import_not_found', 'There is no such import of the last seven days')
      const result = await takeBack(parts, actor, JSON.parse(row.made) as MadeItem[])
      await write(parts.store, trx => trx.deleteFrom('import_run').where('id', '=', id).execute())
      return result
    })
  }

  async #run(
    parts: TogetherParts,
    actor: UserActor,
    content: ImportContent,
    options: ImportOptions,
    weak: WeakPasswords,
  ): Promise<{ readonly plan: ImportPlan; readonly made: readonly MadeItem[] }> {
    const run = new ImportRun(parts, actor, options, this.#deps.transports)
    const items = await run.run(content, weak)
    const { source, notCarried, warnings } = content
    const planHash = await hashOf(content.items, items, options)
    return { plan: { source, planHash, items, notCarried, warnings }, made: run.made }
  }

  async #read(document: JsonValue, actor: UserActor, options: ImportOptions): Promise<ImportContent> {
    const value = typeof document === 'string' ? jsonOf(document) : document
    const { answers, passphrase } = options
    const content =
      (value !== undefined && isExport(value)
        ? await this.#passphrases.run(() => readExport(value, answers, passphrase))
        : undefined) ??
      (value !== undefined && isHubDocument(value) ? hubContent(value) : undefined) ??
      (await this.#fromSource(value ?? document)) ??
      clientContent((await this.#deps.readDocument(document, actor.userId)).entries, tooLong(document))
    const { length } = content.items
    const most = MOST_ITEMS[actor.role]
    if (length <= most) return content
    const detail = `The document names ${length} things; at most ${most} are taken over at a time`
    throw validationError([{ pointer: '#/document', code: 'import_invalid', detail }])
  }

  async #fromSource(document: JsonValue): Promise<ImportContent | undefined> {
    if (typeof document === 'string' && document.length > OTHER_CHARACTERS) return undefined
    for (const [source, reader] of this.#deps.sources()) {
      try {
        if (reader.reads(document)) return { source, ...sourceContent(await reader.read(document)), warnings: [] }
      } catch (error) {
        const [line] = String(error instanceof Error ? error.message : error).split('\n')
        const detail = `The document is a file of ${reader.label}, and cannot be read: ${line?.slice(0, 300)}`
        throw validationError([{ pointer: '#/document', code: 'import_invalid', detail }])
      }
    }
    return undefined
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
  { answers, choices, off }: ImportOptions,
): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([answers, choices, off]))
  for (const [at, item] of items.entries()) {
    const { name, owner = '', verdict } = outcomes[at] ?? { name: '', verdict: '' }
    hash.update(JSON.stringify([item, name, owner, verdict]))
    await nextTurn()
  }
  return hash.digest('hex')
}

/** Not an error: a plan leaves nothing behind. */
class OnlyPlanned extends Error {
  override readonly name = 'OnlyPlanned'
}

function hubContent(document: Parameters<typeof readHubDocument>[0]): ImportContent {
  try {
    return readHubDocument(document)
  } catch (error) {
    if (!(error instanceof DuplicateEntry)) throw error
    const pointer = `#/${error.path.join('/')}`
    throw validationError([{ pointer, code: 'import_invalid', detail: `The document names ${error.message}` }])
  }
}

function sourceContent({
  servers,
  notCarried,
}: Awaited<ReturnType<ImportSource['read']>>): Pick<ImportContent, 'items' | 'notCarried'> {
  // A format of its own may nest deeper than JSON that came as JSON.
  guardJson(
    servers.map(({ body }) => body),
    SERVER_JSON,
  )
  const items = servers.map(({ name, pointer, body, problem }): ImportItem => {
    // Sources may use the names of other programs for fields, as their files do.
    const read = readServerEntry(name, body)
    const place = (inner: string) => inner.replace(/^#/, pointer)
    const common = {
      kind: 'server',
      pointer,
      name,
      body: { name, ...read.body },
      place,
      warnings: read.warnings,
    } as const
    return problem === undefined ? common : { ...common, problem }
  })
  return { items, notCarried }
}

/** Only servers are read in the thread. */
function tooLong(document: JsonValue): string[] {
  if (typeof document !== 'string' || document.length <= JSON_CHARACTERS) return []
  return ['The text is longer than 2 MiB: only servers were read. Send it as JSON for the rest']
}

function clientContent(entries: readonly ImportedEntry[], warnings: readonly string[]): ImportContent {
  const items = entries.map((entry): ImportItem => {
    const { owner, ...body } = entry.body
    return {
      kind: 'server',
      pointer: entry.place?.pointer ?? '#',
      name: entry.name,
      ...(typeof owner === 'string' ? { owner } : {}),
      body,
      place: pointer => placeInDocument(entry, pointer),
      ...(entry.warnings ? { warnings: entry.warnings } : {}),
      ...(entry.problem ? { problem: entry.problem.message } : {}),
    }
  })
  return { source: 'client', items, notCarried: [], warnings }
}

/** Undefined for what is none, or too long to be read here; the thread then says what is wrong with it. */
function jsonOf(text: string): JsonValue | undefined {
  if (text.length > JSON_CHARACTERS) return undefined
  try {
    const value = parse(text.replace(/^\ufeff/, ''))
    if (value !== undefined) guardJson(value, SERVER_JSON)
    return value
  } catch (error) {
    if (error instanceof JsoncError || error instanceof HubError) return undefined
    throw error
  }
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return text.length <= COMMENTED_CHARACTERS ? readJsonc(text).value : undefined
  }
}
