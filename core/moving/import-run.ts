import { isDeepStrictEqual } from 'node:util'
import { hashAccessKey } from '../auth/access-keys.ts'
import { HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import type { ServerRecord, UserActor } from '../contract/records.ts'
import { formatRef, nameKey } from '../domain/names.ts'
import { maskedSecrets } from '../domain/server/secrets.ts'
import type { Transports } from '../domain/server/transports.ts'
import { validationError } from '../domain/validation-error.ts'
import type { UserRecord } from '../registry/api.ts'
import type { TogetherParts } from '../registry/create.ts'
import { comparable } from './import-compare.ts'
import { adoptedUntil, usableHash } from './import-credentials.ts'
import type { ImportAsk, ImportChoice, ImportContent, ImportItem, ImportVerdict, MadeItem } from './import-items.ts'
import { absentMembers, memberName } from './import-members.ts'
import { leadsToHub } from './import-own-entry.ts'
import { ownReferences } from './import-references.ts'
import { importValue } from './import-values.ts'

/** How the user wants a document imported. */
export interface ImportOptions {
  /** Values of what documents refer to, by name. */
  readonly answers: Readonly<Record<string, string>>
  /** By pointer of the item. */
  readonly choices: Readonly<Record<string, ImportChoice>>
  /** All servers are switched off. */
  readonly off: boolean
  /** Opens the secrets of an export. */
  readonly passphrase?: string | undefined
  /** The address of this hub: what leads to it is left out. */
  readonly hubUrl: string
}

/** What became, or would become, of one item. */
export interface ImportOutcome {
  readonly kind: ImportItem['kind']
  readonly pointer: string
  readonly name: string
  /** A user's name. */
  readonly owner?: string
  readonly verdict: ImportVerdict
  /** A server's body, its secrets masked. */
  readonly body?: JsonObject
  readonly asks?: readonly ImportAsk[]
  readonly warnings: readonly string[]
  readonly error?: unknown
  /** Converts pointers into the body to pointers into the document. */
  readonly place?: (pointer: string) => string
}

/** Whose passwords are among those that everybody tries, by pointer. */
export type WeakPasswords = ReadonlySet<string>

type Of<Kind extends ImportItem['kind']> = Extract<ImportItem, { kind: Kind }>
type Result = Pick<ImportOutcome, 'verdict'> & Partial<ImportOutcome>

const ADMINS_ONLY = 'Only administrators import it, with a sign-in'

/** Makes the items of one document, in one transaction. */
export class ImportRun {
  readonly made: MadeItem[] = []
  readonly #parts: TogetherParts
  readonly #actor: UserActor
  readonly #options: ImportOptions
  readonly #transports: Transports
  /** New names of users and servers, by kind and former name. */
  readonly #renamed = new Map<string, string>()
  /** Users by the name that the document gives an owner; '' for no name. */
  readonly #owners = new Map<string, UserRecord | undefined>()
  /** What the item at hand lacks. */
  #asks: readonly ImportAsk[] = []
  /** Why no more of a kind can be made for an owner, by kind and owner. */
  readonly #full = new Map<string, HubError>()

  constructor(parts: TogetherParts, actor: UserActor, options: ImportOptions, transports: Transports) {
    this.#parts = parts
    this.#actor = actor
    this.#options = options
    this.#transports = transports
  }

  async run({ items }: ImportContent, weak: WeakPasswords): Promise<ImportOutcome[]> {
    for (const { kind, pointer, name } of items) {
      const choice = this.#options.choices[pointer]
      if (typeof choice === 'object') this.#renamed.set(`${kind} ${nameKey(name)}`, choice.rename)
    }
    const outcomes: ImportOutcome[] = []
    for (const item of items) outcomes.push(await this.#outcome(item, weak))
    return outcomes
  }

  async #outcome(item: ImportItem, weak: WeakPasswords): Promise<ImportOutcome> {
    const { kind, pointer } = item
    const name = this.#nameOf(kind, item.name)
    const warnings = [...(item.warnings ?? [])]
    const owner = item.kind === 'user' ? undefined : await this.#ownerOf(item.owner, warnings)
    const common = { kind, pointer, name, ...(owner === undefined ? {} : { owner: owner.name }), warnings }
    if (this.#options.choices[pointer] === 'skip') return { ...common, verdict: 'skipped' }
    this.#asks = []
    try {
      const result = await this.#make(item, name, owner, warnings, weak)
      return { ...common, ...result, ...this.#asked() }
    } catch (error) {
      if (!(error instanceof HubError) || error.status >= 500) throw error
      const place = item.kind === 'server' ? item.place : undefined
      return { ...common, verdict: 'invalid', error, ...this.#asked(), ...(place ? { place } : {}) }
    }
  }

  /** Also of a server that is invalid: it may be so for what it lacks. */
  #asked(): Pick<ImportOutcome, 'asks'> {
    return this.#asks.length > 0 ? { asks: this.#asks } : {}
  }

  #make(
    item: ImportItem,
    name: string,
    owner: UserRecord | undefined,
    warnings: string[],
    weak: WeakPasswords,
  ): Promise<Result> {
    if (item.kind === 'user') return this.#user(item, name, warnings, weak.has(item.pointer))
    if (!owner) throw new HubError('user_not_found', 'The account behind this request does not exist any more')
    if (item.kind === 'server') return this.#server(item, name, owner, warnings)
    if (item.kind === 'group') return this.#group(item, name, owner, warnings)
    if (item.kind === 'key') return this.#key(item, name, owner, warnings)
    return this.#value(item, owner, warnings)
  }

  get #isAdmin(): boolean {
    return this.#actor.role === 'admin'
  }

  /** An access key must not make what outlives it or opens more. */
  get #mayMakeAccounts(): boolean {
    return this.#isAdmin && this.#actor.credential.kind !== 'key'
  }

  #nameOf(kind: ImportItem['kind'], name: string): string {
    return this.#renamed.get(`${kind} ${nameKey(name)}`) ?? name
  }

  /** The user here who gets what `named` had there. */
  async #ownerOf(named: string | undefined, warnings: string[]): Promise<UserRecord | undefined> {
    const { users } = this.#parts.registry
    const self = await this.#known('', () => users.byId(this.#actor.userId))
    if (named === undefined || !this.#isAdmin) return self
    const name = this.#nameOf('user', named)
    const found = await this.#known(nameKey(name), () => users.byName(this.#actor, name).catch(missing))
    if (!found) warnings.push(`There is no user ${JSON.stringify(named.slice(0, 64))} here: it becomes yours`)
    return found ?? self
  }

  async #known(key: string, find: () => Promise<UserRecord | undefined>): Promise<UserRecord | undefined> {
    if (!this.#owners.has(key)) this.#owners.set(key, await find())
    return this.#owners.get(key)
  }

  /** Once an owner has as much as may be, each further thing would only cost time. */
  async #attempt<T>(kind: string, owner: UserRecord, make: () => Promise<T>): Promise<T> {
    const key = `${kind} ${owner.id}`
    const full = this.#full.get(key)
    if (full) throw full
    try {
      return await this.#parts.attempt(make)
    } catch (error) {
      if (error instanceof HubError && error.code.startsWith('quota_')) this.#full.set(key, error)
      throw error
    }
  }

  async #user(item: Of<'user'>, name: string, warnings: string[], isWeak: boolean): Promise<Result> {
    if (!this.#mayMakeAccounts) return skipped(warnings)
    const { users } = this.#parts.registry
    const { role } = item
    const present = await users.byName(this.#actor, name).catch(missing)
    if (present) {
      if (present.role !== role) warnings.push(`The user of this name here is ${present.role}, and stays so`)
      warnings.push('What this user owned there goes to the user of this name here; the password here stays')
      return { verdict: present.role === role ? 'same' : 'exists' }
    }
    const passwordHash = usableHash(item.passwordHash, warnings)
    const disabled = role === 'admin' && isWeak
    if (disabled) warnings.push('The password is one that everybody tries: the administrator is imported disabled')
    const { attempt } = this.#parts
    const made = await attempt(() => users.create(this.#actor, { name, role, passwordHash, disabled }))
    this.made.push({ kind: 'user', id: made.id, name, owner: made.id, revision: made.revision })
    return { verdict: 'new' }
  }

  async #server(item: Of<'server'>, name: string, owner: UserRecord, warnings: string[]): Promise<Result> {
    if (item.problem !== undefined) {
      throw validationError([{ pointer: item.pointer, code: 'import_invalid', detail: item.problem }])
    }
    const { answers, off, hubUrl } = this.#options
    if (leadsToHub(item.body, hubUrl)) {
      warnings.push('It leads to this hub')
      return { verdict: 'skipped' }
    }
    const own = ownReferences(item.body, answers, item.references)
    const asks = [...own.asks, ...(item.asks ?? [])]
    this.#asks = asks
    const missingValues = asks.map(({ name: asked }) => asked)
    if (missingValues.length > 0) warnings.push(`Switched off until it has: ${missingValues.join(', ')}`)
    const isOff = off || missingValues.length > 0
    const body = { ...own.body, name, owner: owner.name, ...(isOff ? { enabled: false } : {}) }
    const { registry } = this.#parts
    const present = await registry.servers.resolve(this.#actor, formatRef(owner.name, name), 'edit').catch(missing)
    if (present) return { verdict: (await this.#isSameServer(present, body)) ? 'same' : 'exists' }
    const made = await this.#attempt(body.enabled === false ? 'server off' : 'server', owner, () =>
      registry.servers.create(this.#actor, body, { unseen: this.#isUnseen(item, owner) }),
    )
    if (made.awaitsReview) warnings.push('It is off until its new owner has reviewed it')
    this.made.push({ kind: 'server', id: made.id, name, owner: owner.id, revision: made.revision })
    const { owner: _, ...shown } = maskedSecrets(this.#transports, body)
    return { verdict: 'new', body: shown }
  }

  /**
   * Whether the owner may not know what the server runs: who owned it there is neither this user, nor one that the import
   * has just made of that owner. Rights must not rise so: a server of an administrator then waits for a review.
   */
  #isUnseen({ owner: named }: Of<'server'>, owner: UserRecord): boolean {
    if (named === undefined || this.made.some(({ kind, id }) => kind === 'user' && id === owner.id)) return false
    return owner.id !== this.#actor.userId || nameKey(named) !== nameKey(this.#actor.name)
  }

  /** Made under another name, compared and taken back: only what is stored has every default. */
  async #isSameServer(present: ServerRecord, body: JsonObject): Promise<boolean> {
    const { servers } = this.#parts.registry
    return this.#probe(async name => {
      const unseen = present.awaitsReview === true
      const made = await servers.create(this.#actor, { ...body, name }, { unseen })
      return isDeepStrictEqual(comparable(made), comparable(present))
    })
  }

  async #group(item: Of<'group'>, name: string, owner: UserRecord, warnings: string[]): Promise<Result> {
    const { registry } = this.#parts
    const body = { ...item.body, name, owner: owner.name, members: this.#renamedMembers(item.body.members ?? []) }
    const options = { formerPaths: item.formerPaths }
    const found = await registry.groups.find(this.#actor, owner.name, name)
    if (found && nameKey(found.name) === nameKey(name)) {
      const isSame = await this.#probe(async probe => {
        const made = await this.#createGroup({ ...body, name: probe }, {}, [])
        const [one, other] = [registry.groups.publicBody(made), registry.groups.publicBody(found)]
        return isDeepStrictEqual({ ...one, name: '' }, { ...other, name: '' })
      })
      return { verdict: isSame ? 'same' : 'exists' }
    }
    const made = await this.#attempt('group', owner, () => this.#createGroup(body, options, warnings))
    this.made.push({ kind: 'group', id: made.id, name, owner: owner.id, revision: made.revision })
    return { verdict: 'new' }
  }

  /** Without the members that are not there: the file of another hub may name servers that were removed. */
  async #createGroup(body: JsonObject, options: { readonly formerPaths?: readonly string[] }, warnings: string[]) {
    const { attempt, registry } = this.#parts
    try {
      return await attempt(() => registry.groups.create(this.#actor, body, options))
    } catch (error) {
      const absent = absentMembers(error)
      if (absent.size === 0 || !Array.isArray(body.members)) throw error
      const members = body.members.filter((_, at) => !absent.has(at))
      const names = body.members.filter((_, at) => absent.has(at)).map(memberName)
      warnings.push(`Left out, since there is no such server: ${names.join(', ')}`)
      return registry.groups.create(this.#actor, { ...body, members }, options)
    }
  }

  #renamedMembers(members: JsonValue): JsonValue {
    if (!Array.isArray(members)) return members
    return members.map(member => {
      if (typeof member === 'string') return this.#renamedServer(member)
      if (!isJsonObject(member) || typeof member.server !== 'string') return member
      return { ...member, server: this.#renamedServer(member.server) }
    })
  }

  #renamedServer(ref: string): string {
    const [name = '', owner] = ref.split('~').reverse()
    const renamed = this.#nameOf('server', name)
    return owner === undefined ? renamed : `${this.#nameOf('user', owner)}~${renamed}`
  }

  async #key(item: Of<'key'>, name: string, owner: UserRecord, warnings: string[]): Promise<Result> {
    if (!this.#mayMakeAccounts) return skipped(warnings)
    const { registry } = this.#parts
    const { secret } = item
    const known = await registry.keys.byHash(hashAccessKey(secret))
    if (known) return { verdict: known.ownerId === owner.id ? 'same' : 'exists' }
    const expiresAt = adoptedUntil(item, this.#options.choices[item.pointer] === 'accept')
    if (expiresAt !== undefined) warnings.push('The key is short: it is taken for 30 days')
    const scopes = item.scopes.map(scope => this.#renamedScope(scope))
    const input = { ownerId: owner.id, label: name, scopes, secret, ...(expiresAt === undefined ? {} : { expiresAt }) }
    const made = await this.#attempt('key', owner, () => registry.keys.adopt(this.#actor, input))
    this.made.push({ kind: 'key', id: made.id, name, owner: owner.id, revision: hashAccessKey(secret) })
    return { verdict: 'new' }
  }

  #renamedScope(scope: JsonValue): JsonValue {
    if (!isJsonObject(scope)) return scope
    if (typeof scope.group === 'string') return { group: this.#nameOf('group', scope.group) }
    return typeof scope.server === 'string' ? { server: this.#renamedServer(scope.server) } : scope
  }

  async #value(item: Of<'setting' | 'secret'>, owner: UserRecord, warnings: string[]): Promise<Result> {
    const isOthers = item.owner !== undefined && nameKey(item.owner) !== nameKey(this.#actor.name)
    if (!this.#isAdmin && isOthers) return skipped(warnings)
    const { verdict, made } = await importValue(this.#parts, this.#actor, item, owner.id)
    if (made) this.made.push(made)
    return { verdict }
  }

  /** Runs `work` with a name that nothing has, and undoes what it writes. False when it is refused. */
  async #probe(work: (name: string) => Promise<boolean>): Promise<boolean> {
    let result = false
    try {
      await this.#parts.attempt(async () => {
        result = await work(`import-probe-${crypto.randomUUID()}`.slice(0, 48))
        throw new Undo()
      })
    } catch (error) {
      if (!(error instanceof Undo) && !(error instanceof HubError && error.status < 500)) throw error
    }
    return result
  }
}

/** Not an error: takes back what was written. */
class Undo extends Error {
  override readonly name = 'Undo'
}

function skipped(warnings: string[]): Result {
  warnings.push(ADMINS_ONLY)
  return { verdict: 'skipped' }
}

function missing(error: unknown): undefined {
  if (error instanceof HubError && error.status < 500) return undefined
  throw error
}
