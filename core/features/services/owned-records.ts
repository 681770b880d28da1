import type { JsonObject } from '../../contract/json.ts'
import type { Role } from '../../contract/records.ts'
import type { ConfigSchema } from '../../contract/schema.ts'

declare module '../../contract/plugin.ts' {
  interface PluginContext<Config> {
    /** In the main thread alone. */
    readonly records: PluginRecordKinds
  }
}

/** The owner of a record, with the rights that the record has: `user` where somebody without more has saved it last. */
export interface RecordOwner {
  readonly id: string
  readonly name: string
  readonly role: Role
}

/** A record of a user, its secrets in the clear. */
export interface OwnedRecord<Fields> {
  readonly id: string
  /** Unique among its owner's records of the kind. */
  readonly name: string
  readonly owner: RecordOwner
  /** True unless its owner has switched it off; always true for a kind that does not act. */
  readonly enabled: boolean
  readonly fields: Fields
  readonly revision: number
}

/** A kind of records that users own, each with a `name` and the fields of one schema. */
export interface RecordKindDefinition<Fields> {
  /** The kind in paths, in the settings file and in exports: lower-case letters, digits and dashes, such as `wishes`. */
  readonly kind: string
  /** One record in sentences, such as `wish`. */
  readonly title: string
  /** The fields besides `name`: an object, writable as JSON Schema. */
  readonly schema: ConfigSchema<Fields>
  /** Fields of an example, for the API document. */
  readonly example: JsonObject
  /** Texts that are stored sealed and answered as masks: JSON Pointers into the fields, in which `*` stands for any member. */
  readonly secrets?: readonly string[]
  /** Most records of an ordinary user, who gets `quota_records` beyond that. */
  readonly most: number
  /** Records do something by themselves: each has `enabled`, and no more rights than who saved it last. Default false. */
  readonly acts?: boolean
  /** Returns the fields to store. Called for each save, and again when its transaction is repeated. */
  prepare?(fields: Fields, owner: RecordOwner): Fields
  /** Returns what answers have as `status`. */
  show?(record: OwnedRecord<Fields>): JsonObject
  /** Runs before a record is deleted by a request; what it throws refuses that. */
  removing?(record: OwnedRecord<Fields>): void | Promise<void>
  /** Runs after each change of a record. */
  changed?(): void
}

/** The records of a kind. */
export interface DefinedRecords<Fields> {
  /** Records of one user, or of all, whose accounts are not disabled. */
  list(userId?: string): Promise<readonly OwnedRecord<Fields>[]>
}

/**
 * Kinds of records. Each has its routes below `/api/plugins/{plugin}/{kind}`, a list at `records.{plugin}.{kind}` in the settings
 * file, and a section in exports and backups. The records stay when the plugin ends.
 */
export interface PluginRecordKinds {
  /** Defines a kind until the plugin stops. Throws Error for one that is not valid or there already. */
  define<Fields>(kind: RecordKindDefinition<Fields>): DefinedRecords<Fields>
}
