import { formatRef, nameKey, quoteName } from '../../domain/names.ts'
import type { AttachedThing } from '../../features/attached.ts'
import type { UserRecord } from '../../registry/api.ts'
import type { ImportItem, ImportVerdict } from '../import-items.ts'
import type { ImportResult, ImportScope, Of } from '../import-scope.ts'
import { importAttached } from './import-attached.ts'
import { importShares } from './import-shares.ts'
import { importTeam } from './import-teams.ts'
import { Subjects } from './subjects.ts'

type Extra = Of<'shares' | 'attached'>

/** Verdicts after which a thing here is the one of the document. */
const TAKEN: ReadonlySet<ImportVerdict> = new Set(['new', 'same', 'replaced'])

/** Makes teams, shares, and settings of plugins for things that the same document has brought. */
export class ExtrasRun {
  readonly #scope: ImportScope
  readonly #subjects: Subjects
  /** Name and owner here of what the document brought, by its names there. */
  readonly #taken = new Map<string, { readonly name: string; readonly owner: UserRecord | undefined }>()

  constructor(scope: ImportScope) {
    this.#scope = scope
    this.#subjects = new Subjects(scope)
  }

  /** Notes what became of a server, a group or a user. */
  note(item: ImportItem, verdict: ImportVerdict, name: string, owner: UserRecord | undefined): void {
    if (item.kind !== 'server' && item.kind !== 'group' && item.kind !== 'user') return
    // A user of this name is the user of this name, whatever the role.
    if (TAKEN.has(verdict) || (item.kind === 'user' && verdict === 'exists'))
      this.#taken.set(placeOf(item.kind, item), { name, owner })
  }

  team(item: Of<'team'>, name: string, warnings: string[]): Promise<ImportResult> {
    return importTeam(this.#scope, item, name, this.#subjects, warnings)
  }

  /** Throws what the registry and the plugin throw. */
  async make(item: Extra, owner: UserRecord, warnings: string[]): Promise<ImportResult> {
    const foreign = this.#foreign(item)
    if (foreign !== undefined) {
      warnings.push(`It comes from ${quoteName(foreign)}: read it, and choose "accept" to take it`)
      return { verdict: 'skipped' }
    }
    const thing = await this.#thing(item, owner, warnings)
    if (!thing) return { verdict: 'skipped' }
    const result =
      item.kind === 'shares'
        ? await importShares(this.#scope, item, thing, this.#subjects, warnings)
        : await importAttached(this.#scope, item, { ...thing, ownerId: thing.owner.id }, this.#subjects, warnings)
    return { ...result, name: thing.name }
  }

  /** Name of the other person who wrote the document, unless this user accepts what it says, or imports a whole hub. */
  #foreign({ owner, formerOwner, pointer }: Extra): string | undefined {
    const { actor, options, isAdmin } = this.#scope
    if (options.choices[pointer] === 'accept' || (isAdmin && owner !== undefined)) return undefined
    const named = owner ?? formerOwner
    return named === undefined || nameKey(named) === nameKey(actor.name) ? undefined : named
  }

  async #thing(
    item: Extra,
    owner: UserRecord,
    warnings: string[],
  ): Promise<(AttachedThing & { readonly name: string; readonly owner: UserRecord }) | undefined> {
    if (item.of === 'key') return this.#key(item, owner, warnings)
    if (item.of === 'user') return this.#user(item, warnings)
    const taken = this.#taken.get(placeOf(item.of, item))
    if (!taken) {
      warnings.push(`The document has no ${item.of} ${quoteName(item.name)} that was taken over`)
      return undefined
    }
    const { actor, parts } = this.#scope
    const { servers, groups } = parts.registry
    const found = taken.owner ?? owner
    const ref = formatRef(found.name, taken.name)
    const { id, name } = await (item.of === 'server' ? servers : groups).resolve(actor, ref, 'owner')
    return { kind: item.of, id, ownerId: found.id, name, owner: found }
  }

  /** The user that the document brought, else the one here of exactly this name. */
  async #user(item: Extra, warnings: string[]) {
    const { actor, parts, mayMakeAccounts } = this.#scope
    if (!mayMakeAccounts) {
      warnings.push('Only administrators import it, with a sign-in')
      return undefined
    }
    const subject = `user:${item.name}`
    const taken = this.#taken.get(placeOf('user', item))?.name
    const found = taken === undefined ? await this.#subjects.find(subject, warnings) : `user:${taken}`
    if (found === undefined) this.#scope.missing = [{ name: subject, secret: false }]
    if (found === undefined || found === null) return undefined
    const user = await parts.registry.users.byName(actor, found.slice('user:'.length))
    return { kind: 'user' as const, id: user.id, ownerId: user.id, name: user.name, owner: user }
  }

  /** Keys are not in exports: the one of the same label here is meant, if there is only one. */
  async #key(item: Extra, owner: UserRecord, warnings: string[]) {
    const { actor, parts } = this.#scope
    const own = owner.id === actor.userId ? await parts.registry.keys.list(actor) : []
    const [key, ...others] = own.filter(({ label }) => label === item.name)
    if (key && others.length === 0)
      return { kind: 'key' as const, id: key.id, ownerId: owner.id, name: key.label, owner }
    const why = key ? 'Several of your access keys have' : 'None of your access keys has'
    warnings.push(`${why} the label ${quoteName(item.name)}: make one with this label, and import once more`)
    return undefined
  }
}

function placeOf(of: string, { owner = '', name }: { readonly owner?: string; readonly name: string }): string {
  return `${of} ${owner}~${name}`
}
