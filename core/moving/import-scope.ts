import { HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import { nameKey } from '../domain/names.ts'
import type { Transports } from '../domain/server/transports.ts'
import type { UserRecord } from '../registry/api.ts'
import type { OpenAttached } from '../registry/attached.ts'
import type { TogetherParts } from '../registry/create.ts'
import type { MovingKinds, MovingRecords } from '../registry/owned/moving.ts'
import {
  type ImportChoice,
  type ImportItem,
  type ImportVerdict,
  kindOf,
  type MadeItem,
  type MissingValue,
} from './import-items.ts'
import type { SwitchOff } from './originals/originals.ts'

/** The user's options for an import. */
export interface ImportOptions {
  /** Values for the references in documents, by name. */
  readonly answers: Readonly<Record<string, string>>
  /** Choices by the pointer of the item. */
  readonly choices: Readonly<Record<string, ImportChoice>>
  /** All servers and assistant endpoints are switched off. */
  readonly off: boolean
  /** The group that the imported servers join: `name`, or `owner~name`. */
  readonly group?: string | undefined
  /** The servers that are switched off in the file itself. Default: none. */
  readonly switchOff?: SwitchOff
  /** Opens the secrets of an export. */
  readonly passphrase?: string | undefined
  /** The address of this hub: entries that lead to it are left out. */
  readonly hubUrl: string
}

/** The outcome, or planned outcome, of one item. */
export interface ImportOutcome {
  /** As `kindOf` says. */
  readonly kind: string
  readonly pointer: string
  readonly name: string
  /** Kind of the thing that has these shares or settings. */
  readonly of?: string
  /** A user's name. */
  readonly owner?: string
  readonly verdict: ImportVerdict
  /** A server's body, settings of plugins, their secrets masked; the shares that are given; of the group that the servers join, its new members. */
  readonly body?: JsonObject
  readonly missing?: readonly MissingValue[]
  readonly warnings: readonly string[]
  readonly error?: unknown
  /** Converts pointers into the body to pointers into the document. */
  readonly place?: (pointer: string) => string
}

/** An item of these kinds. */
export type Of<Kind extends ImportItem['kind']> = Extract<ImportItem, { kind: Kind }>
/** The result of making one item. */
export type ImportResult = Pick<ImportOutcome, 'verdict'> & Partial<ImportOutcome>

/** The state that the making of all items of one import shares. */
export class ImportScope {
  readonly made: MadeItem[] = []
  readonly parts: TogetherParts
  readonly actor: UserActor
  readonly options: ImportOptions
  readonly transports: Transports
  readonly attached: OpenAttached
  readonly #records: ReadonlyMap<string, MovingRecords>
  /** The values that the present item lacks. */
  missing: readonly MissingValue[] = []
  /** Id of the import, under which replaced things are kept. */
  readonly #id: string
  /** New names, by kind and former name. */
  readonly #renamed = new Map<string, string>()
  /** Why no more of a kind can be made for an owner, by kind and owner. */
  readonly #full = new Map<string, HubError>()

  constructor(
    id: string,
    parts: TogetherParts,
    records: ReturnType<MovingKinds>,
    who: Pick<ImportScope, 'actor' | 'options' | 'transports' | 'attached'>,
  ) {
    this.#id = id
    this.parts = parts
    this.#records = new Map(records.map(one => [one.kind.kind, one]))
    this.actor = who.actor
    this.options = who.options
    this.transports = who.transports
    this.attached = who.attached
  }

  get isAdmin(): boolean {
    return this.actor.role === 'admin'
  }

  /** An access key must not make anything that outlives it or opens more. */
  get mayMakeAccounts(): boolean {
    return this.isAdmin && this.actor.credential.kind !== 'key'
  }

  /** Undefined for a kind that this hub does not have now. */
  recordsOf(kind: string): MovingRecords | undefined {
    return this.#records.get(kind)
  }

  rename(item: ImportItem, to: string): void {
    this.#renamed.set(`${kindOf(item)} ${nameKey(item.name)}`, to)
  }

  nameOf(kind: string, name: string): string {
    return this.#renamed.get(`${kind} ${nameKey(name)}`) ?? name
  }

  /** A reference to a server or group, `name` or `owner~name`. */
  refOf(kind: 'server' | 'group', ref: string): string {
    const [name = '', owner] = ref.split('~').reverse()
    const renamed = this.nameOf(kind, name)
    return owner === undefined ? renamed : `${this.nameOf('user', owner)}~${renamed}`
  }

  membersOf(members: JsonValue): JsonValue {
    if (!Array.isArray(members)) return members
    return members.map(member => {
      if (typeof member === 'string') return this.refOf('server', member)
      if (!isJsonObject(member) || typeof member.server !== 'string') return member
      return { ...member, server: this.refOf('server', member.server) }
    })
  }

  /** A group's selector with the names that its members have here. */
  selectorOf(selector: JsonValue): JsonValue {
    if (!isJsonObject(selector) || !isJsonObject(selector.members)) return selector
    const members = Object.entries(selector.members)
    const named = members.map(([value, ref]) => [value, typeof ref === 'string' ? this.refOf('server', ref) : ref])
    return { ...selector, members: Object.fromEntries(named) }
  }

  /** Once an owner's quota is reached, further attempts would only cost time. */
  async attempt<T>(kind: string, owner: UserRecord, make: () => Promise<T>): Promise<T> {
    const key = `${kind} ${owner.id}`
    const full = this.#full.get(key)
    if (full) throw full
    try {
      return await this.parts.attempt(make)
    } catch (error) {
      if (error instanceof HubError && error.code.startsWith('quota_')) this.#full.set(key, error)
      throw error
    }
  }

  /** Runs `work` with a name that nothing has, and undoes what it writes. False when it is refused. */
  async probe(work: (name: string) => Promise<boolean>): Promise<boolean> {
    let result = false
    try {
      await this.parts.attempt(async () => {
        result = await work(`import-probe-${crypto.randomUUID()}`.slice(0, 48))
        throw new Undo()
      })
    } catch (error) {
      if (!(error instanceof Undo) && !(error instanceof HubError && error.status < 500)) throw error
    }
    return result
  }

  /**
   * True when the owner may not know what the item does: its owner in the document is neither this user, nor a user that the
   * import has just made from that owner. An import must not raise rights this way.
   */
  isUnseen(item: Of<'server' | 'record'>, owner: UserRecord): boolean {
    const named = item.owner ?? item.formerOwner
    if (named === undefined || this.made.some(({ kind, id }) => kind === 'user' && id === owner.id)) return false
    return owner.id !== this.actor.userId || nameKey(named) !== nameKey(this.actor.name)
  }

  /**
   * True when the present thing is replaced: the user chose so and owns it, and nothing forbids it. Otherwise adds the reason
   * to `warnings`.
   */
  replaces({ pointer }: Pick<ImportItem, 'pointer'>, present: Replaceable, warnings: string[]): boolean {
    if (this.options.choices[pointer] !== 'replace') return false
    const why = this.#notReplaced(present)
    if (why !== undefined) warnings.push(`It is not replaced: ${why}`)
    return why === undefined
  }

  #notReplaced({ ownerId, origin, isUnseen }: Replaceable): string | undefined {
    if (ownerId !== this.actor.userId) return 'it belongs to somebody else'
    if (origin === 'file') return 'the settings file holds it'
    if (isUnseen) return 'the other one came from somebody else; import it under another name, and look at it'
    if (this.missing.length === 0) return undefined
    return `answer what it asks first (${this.missing.map(({ name }) => name).join(', ')})`
  }

  /** Replaces, and keeps what was there, sealed, so that a rollback brings it back. */
  async replace(
    item: Omit<MadeItem, 'revision' | 'replaced'>,
    before: JsonObject,
    write: () => Promise<number | string>,
  ): Promise<ImportResult> {
    const { parts, actor, made } = this
    const replaced = replacedKey(this.#id, made.length)
    await parts.attempt(async () => {
      const revision = await write()
      await parts.registry.settings.setUser(actor, actor.userId, {}, { [replaced]: JSON.stringify(before) })
      made.push({ ...item, revision, replaced })
    })
    return { verdict: 'replaced' }
  }
}

/** Something that is there under the name of an item. */
interface Replaceable {
  readonly ownerId: string
  readonly origin?: string
  readonly isUnseen?: boolean
}

/** Names of the secrets of a user that hold what imports replaced. */
export const REPLACED_PREFIX = 'importReplaced.'

/** Name of the secret that holds the file in which an import switched servers off, as it was before. */
export function originalKey(id: string): string {
  return `${REPLACED_PREFIX}${id}.original`
}

function replacedKey(id: string, at: number): string {
  return `${REPLACED_PREFIX}${id}.${at}`
}

/** Not an error: takes back what was written. */
class Undo extends Error {
  override readonly name = 'Undo'
}

/** Undefined for a refusal. */
export function missing(error: unknown): undefined {
  if (error instanceof HubError && error.status < 500) return undefined
  throw error
}
