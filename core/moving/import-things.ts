import { hashAccessKey } from '../auth/access-keys.ts'
import { isJsonObject, type JsonValue } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import { nameKey, parseRef } from '../domain/names.ts'
import type { Things } from '../plans/apart/copied-rows.ts'
import type { ImportItem, MadeItem } from './import-items.ts'
import type { ImportOptions } from './import-scope.ts'

/** No name is longer. */
const NAME_CHARACTERS = 1_024

/** Rows that an import of these items reads and writes. */
export function thingsOfItems(
  items: readonly ImportItem[],
  actor: UserActor,
  { choices, group }: Pick<ImportOptions, 'choices' | 'group'>,
): Things {
  const names = new Names()
  if (group !== undefined) names.addRefs({ group })
  const documentsOf = new Set<string>()
  for (const item of items) {
    const choice = choices[item.pointer]
    names.addThing(item.name)
    if (typeof choice === 'object') names.addThing(choice.rename)
    if (item.kind === 'user') {
      names.addOwner(item.name)
      if (typeof choice === 'object') names.addOwner(choice.rename)
    } else names.addOwner(item.owner)
    if (item.kind === 'key') names.addHash(hashAccessKey(item.secret), item.scopes)
    if ('body' in item) names.addRefs(item.body)
    if (item.kind === 'server' && choice === 'replace') documentsOf.add(nameKey(item.name))
  }
  return { ...names.things(actor, []), documentsOf: [...documentsOf] }
}

/** Rows that the rollback of an import reads and writes. `before`: the records that the import replaced. */
export function thingsOfMade(made: readonly MadeItem[], before: readonly JsonValue[], actor: UserActor): Things {
  const names = new Names()
  for (const body of before) names.addRefs(body)
  return names.things(actor, [...made.map(({ owner }) => owner), ...made.flatMap(ownIdOf)])
}

/** A user that was made may own something by now. */
function ownIdOf({ kind, id }: MadeItem): readonly string[] {
  return kind === 'user' ? [id] : []
}

/** The names by which bodies refer to things of others. */
class Names {
  readonly #names = new Set<string>()
  readonly #owners = new Set<string>()
  readonly #hashes = new Set<string>()

  addThing(name: string): void {
    if (name.length <= NAME_CHARACTERS) this.#names.add(nameKey(name))
  }

  addOwner(name: string | undefined): void {
    if (name !== undefined && name.length <= NAME_CHARACTERS) this.#owners.add(nameKey(name))
  }

  addHash(hash: string, scopes: readonly JsonValue[]): void {
    this.#hashes.add(hash)
    for (const scope of scopes) this.#addAll(scope)
  }

  /** Members of a group, and what an endpoint is bound to. */
  addRefs(body: JsonValue): void {
    if (!isJsonObject(body)) return
    for (const value of [body.members, body.servers, body.group]) this.#addAll(value ?? null)
  }

  things({ userId, role }: UserActor, owners: readonly string[]): Things {
    const isAdmin = role === 'admin'
    return {
      owners: [...new Set([userId, ...owners])],
      // An ordinary user's import makes nothing for others.
      ownerNames: isAdmin ? [...this.#owners] : [],
      names: [...this.#names],
      others: isAdmin ? 'all' : 'public',
      keyHashes: [...this.#hashes],
      documentsOf: [],
    }
  }

  #addAll(value: JsonValue): void {
    if (typeof value === 'string') return this.#addRef(value)
    const parts = Array.isArray(value) ? value : isJsonObject(value) ? [value.server, value.group] : []
    for (const part of parts) this.#addAll(part ?? null)
  }

  /** `name`, `owner~name`, or one of them behind a view, as in `$smart/name`. */
  #addRef(ref: string): void {
    const { owner, name } = parseRef(ref.slice(ref.lastIndexOf('/') + 1))
    this.addThing(name)
    this.addOwner(owner)
  }
}
