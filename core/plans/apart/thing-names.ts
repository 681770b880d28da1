import { isJsonObject, type JsonValue } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import { nameKey, parseRef } from '../../domain/names.ts'
import type { Things } from './copied-rows.ts'

/** No name is longer. */
const NAME_CHARACTERS = 1_024

/** The names by which bodies refer to things, also to those of others. */
export class ThingNames {
  readonly #names = new Set<string>()
  readonly #owners = new Set<string>()
  readonly #teams = new Set<string>()
  readonly #hashes = new Set<string>()

  addThing(name: string): void {
    if (name.length <= NAME_CHARACTERS) this.#names.add(nameKey(name))
  }

  addOwner(name: string | undefined): void {
    if (name !== undefined && name.length <= NAME_CHARACTERS) this.#owners.add(nameKey(name))
  }

  /** Notes the subject of a share: `team:name`. A subject `user:name` needs no look-up and is skipped. */
  addSubject(subject: string): void {
    if (subject.startsWith('team:') && subject.length <= NAME_CHARACTERS) this.#teams.add(nameKey(subject.slice(5)))
  }

  addHash(hash: string, scopes: readonly JsonValue[]): void {
    this.#hashes.add(hash)
    for (const scope of scopes) this.#addAll(scope)
  }

  /** `name`, `owner~name`, or one of them behind a view, as in `$smart/name`. */
  addRef(ref: string): void {
    const { owner, name } = parseRef(ref.slice(ref.lastIndexOf('/') + 1))
    this.addThing(name)
    this.addOwner(owner)
  }

  /** The members of a group, and the group to which a body is bound. */
  addRefs(body: JsonValue): void {
    if (!isJsonObject(body)) return
    for (const value of [body.members, body.servers, body.group]) this.#addAll(value ?? null)
  }

  things({ userId, role }: UserActor, owners: readonly string[]): Things {
    const isAdmin = role === 'admin'
    return {
      owners: [...new Set([userId, ...owners])],
      // An ordinary user makes nothing for others.
      ownerNames: isAdmin ? [...this.#owners] : [],
      names: [...this.#names],
      others: isAdmin ? 'all' : 'public',
      teams: [...this.#teams],
      keyHashes: [...this.#hashes],
      documentsOf: [],
    }
  }

  #addAll(value: JsonValue): void {
    if (typeof value === 'string') return this.addRef(value)
    const parts = Array.isArray(value) ? value : isJsonObject(value) ? [value.server, value.group] : []
    for (const part of parts) this.#addAll(part ?? null)
  }
}
