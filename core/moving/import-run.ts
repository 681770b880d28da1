import { hashAccessKey } from '../auth/access-keys.ts'
import { HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonValue } from '../contract/json.ts'
import { nameKey, quoteName } from '../domain/names.ts'
import { visibleName } from '../domain/text/visible-text.ts'
import type { UserRecord } from '../registry/api.ts'
import { pauses } from '../store/pauses.ts'
import { ExtrasRun } from './extras/extras-run.ts'
import { adoptedUntil, usableHash } from './import-credentials.ts'
import { importGroup } from './import-groups.ts'
import { importIntoGroup } from './import-into-group.ts'
import { type ImportContent, type ImportItem, kindOf } from './import-items.ts'
import { importOwned } from './import-owned.ts'
import { type ImportOutcome, type ImportResult, type ImportScope, missing, type Of } from './import-scope.ts'
import { importServer } from './import-servers.ts'
import { importValue } from './import-values.ts'

/** Pointers of the users whose passwords are among the most common ones. */
export type WeakPasswords = ReadonlySet<string>

const ADMINS_ONLY = 'Only administrators import it, with a sign-in'

/** Makes the items of one document, in one transaction. */
export class ImportRun {
  readonly #scope: ImportScope
  readonly #extras: ExtrasRun
  /** Users by the name that the document gives an owner; '' for no name. */
  readonly #owners = new Map<string, UserRecord | undefined>()

  constructor(scope: ImportScope) {
    this.#scope = scope
    this.#extras = new ExtrasRun(scope)
  }

  async run({ items }: ImportContent, weak: WeakPasswords): Promise<ImportOutcome[]> {
    for (const item of items) {
      const choice = this.#scope.options.choices[item.pointer]
      if (typeof choice === 'object') this.#scope.rename(item, choice.rename)
    }
    const outcomes: ImportOutcome[] = []
    // The copy is in memory and answers at once: without pauses all would be one turn of the event loop.
    const pause = pauses()
    for (const item of items) {
      outcomes.push(await this.#outcome(item, weak))
      await pause()
    }
    const { group } = this.#scope.options
    return group === undefined ? outcomes : [...outcomes, await importIntoGroup(this.#scope, group, outcomes)]
  }

  async #outcome(item: ImportItem, weak: WeakPasswords): Promise<ImportOutcome> {
    const { pointer } = item
    const kind = kindOf(item)
    const name = this.#scope.nameOf(kind, item.name)
    const warnings = [...(item.warnings ?? [])]
    const isOfHub = item.kind === 'user' || item.kind === 'team'
    const owner = isOfHub ? undefined : await this.#ownerOf(item.owner, warnings)
    const common = {
      kind,
      pointer,
      name: visibleName(name),
      ...(owner === undefined ? {} : { owner: owner.name }),
      ...('of' in item ? { of: item.of } : {}),
      warnings,
    }
    if (this.#scope.options.choices[pointer] === 'skip') return { ...common, verdict: 'skipped' }
    this.#scope.missing = []
    try {
      const result = await this.#make(item, name, owner, warnings, weak)
      this.#extras.note(item, result.verdict, name, owner)
      return { ...common, ...result, ...this.#missing() }
    } catch (error) {
      if (!(error instanceof HubError) || error.status >= 500) throw error
      const place = 'place' in item ? item.place : undefined
      return { ...common, verdict: 'invalid', error, ...this.#missing(), ...(place ? { place } : {}) }
    }
  }

  /** Returns the missing values, also for an invalid server, which may be invalid because of them. */
  #missing(): Pick<ImportOutcome, 'missing'> {
    const { missing } = this.#scope
    return missing.length > 0 ? { missing } : {}
  }

  #make(
    item: ImportItem,
    name: string,
    owner: UserRecord | undefined,
    warnings: string[],
    weak: WeakPasswords,
  ): Promise<ImportResult> {
    if (item.kind === 'user') return this.#user(item, name, warnings, weak.has(item.pointer))
    if (item.kind === 'team') return this.#team(item, name, warnings)
    if (!owner) throw new HubError('user_not_found', 'The account behind this request does not exist any more')
    if (item.kind === 'server') return importServer(this.#scope, item, name, owner, warnings)
    if (item.kind === 'group') return importGroup(this.#scope, item, name, owner, warnings)
    if (item.kind === 'shares' || item.kind === 'attached') return this.#extras.make(item, owner, warnings)
    if (item.kind === 'key') return this.#key(item, name, owner, warnings)
    if (item.kind === 'setting' || item.kind === 'secret') return this.#value(item, owner, warnings)
    return importOwned(this.#scope, item, name, owner, warnings)
  }

  /** The user here who gets what `named` had there. */
  async #ownerOf(named: string | undefined, warnings: string[]): Promise<UserRecord | undefined> {
    const { actor, isAdmin, parts } = this.#scope
    const { users } = parts.registry
    const self = await this.#known('', () => users.byId(actor.userId))
    if (named === undefined || !isAdmin) return self
    const name = this.#scope.nameOf('user', named)
    const found = await this.#known(nameKey(name), () => users.byName(actor, name).catch(missing))
    if (!found) warnings.push(`There is no user ${quoteName(named)} here: it becomes yours`)
    return found ?? self
  }

  async #known(key: string, find: () => Promise<UserRecord | undefined>): Promise<UserRecord | undefined> {
    if (!this.#owners.has(key)) this.#owners.set(key, await find())
    return this.#owners.get(key)
  }

  async #user(item: Of<'user'>, name: string, warnings: string[], isWeak: boolean): Promise<ImportResult> {
    if (!this.#scope.mayMakeAccounts) return skipped(warnings)
    const { actor, made: makes, parts } = this.#scope
    const { users } = parts.registry
    const { role } = item
    const present = await users.byName(actor, name).catch(missing)
    if (present) {
      if (present.role !== role) warnings.push(`The user of this name here is ${present.role}, and stays so`)
      warnings.push('What this user owned there goes to the user of this name here; the password here stays')
      return { verdict: present.role === role ? 'same' : 'exists' }
    }
    const passwordHash = usableHash(item.passwordHash, warnings)
    const disabled = role === 'admin' && isWeak
    if (disabled) warnings.push('The password is one that everybody tries: the administrator is imported disabled')
    const made = await parts.attempt(() => users.create(actor, { name, role, passwordHash, disabled }))
    makes.push({ kind: 'user', id: made.id, name, owner: made.id, revision: made.revision })
    return { verdict: 'new' }
  }

  async #team(item: Of<'team'>, name: string, warnings: string[]): Promise<ImportResult> {
    return this.#scope.mayMakeAccounts ? this.#extras.team(item, name, warnings) : skipped(warnings)
  }

  async #key(item: Of<'key'>, name: string, owner: UserRecord, warnings: string[]): Promise<ImportResult> {
    if (!this.#scope.mayMakeAccounts) return skipped(warnings)
    const { registry } = this.#scope.parts
    const { secret } = item
    const known = await registry.keys.byHash(hashAccessKey(secret))
    if (known) return { verdict: known.ownerId === owner.id ? 'same' : 'exists' }
    const expiresAt = adoptedUntil(item, this.#scope.options.choices[item.pointer] === 'accept')
    if (expiresAt !== undefined) warnings.push('The key is short: it is taken for 30 days')
    const scopes = item.scopes.map(scope => this.#renamedScope(scope))
    const input = { ownerId: owner.id, label: name, scopes, secret, ...(expiresAt === undefined ? {} : { expiresAt }) }
    const made = await this.#scope.attempt('key', owner, () => registry.keys.adopt(this.#scope.actor, input))
    this.#scope.made.push({ kind: 'key', id: made.id, name, owner: owner.id, revision: hashAccessKey(secret) })
    return { verdict: 'new' }
  }

  #renamedScope(scope: JsonValue): JsonValue {
    if (!isJsonObject(scope)) return scope
    if (typeof scope.group === 'string') return { group: this.#scope.nameOf('group', scope.group) }
    return typeof scope.server === 'string' ? { server: this.#scope.refOf('server', scope.server) } : scope
  }

  async #value(item: Of<'setting' | 'secret'>, owner: UserRecord, warnings: string[]): Promise<ImportResult> {
    const { actor, isAdmin } = this.#scope
    const isOthers = item.owner !== undefined && nameKey(item.owner) !== nameKey(actor.name)
    if (!isAdmin && isOthers) return skipped(warnings)
    return importValue(this.#scope, item, owner.id, warnings)
  }
}

function skipped(warnings: string[]): ImportResult {
  warnings.push(ADMINS_ONLY)
  return { verdict: 'skipped' }
}
