import { isDeepStrictEqual } from 'node:util'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Actor } from '../../contract/records.ts'
import type { Store } from '../../store/open.ts'
import type { Registry } from '../api.ts'
import type { Owner } from '../owners.ts'
import type { RecordKind } from '../record-kinds.ts'
import type { OwnedSetting, OwnedSettings, Prepare } from './settings.ts'

/** Receives each secret of a body with its place (a JSON Pointer into the body), and returns its replacement. */
export type KeepSecret = (secret: string, pointer: string) => string

/** New names of what the same import has made under other ones. */
export interface NewNames {
  /** The new name of a record of this kind, or of a server or group. */
  nameOf(kind: string, name: string): string
  /** The new reference of one, `name` or `owner~name`. */
  refOf(kind: 'server' | 'group', ref: string): string
}

/** Operations by which the records of one kind are exported with their owner, and imported. */
export interface MovingRecords {
  readonly kind: RecordKind
  readonly settings: Pick<OwnedSettings, 'list' | 'create' | 'replace'>
  /**
   * The body in the form of its POST, with which another hub can create the same record. References to the owner's own records
   * are bare names.
   */
  open(setting: OwnedSetting, keep: KeepSecret): Promise<JsonObject>
  /**
   * Returns the function that prepares the record for this owner. Throws `validation_failed`; the returned function may throw it
   * too, and `admin_only`.
   */
  prepare(actor: Actor, owner: Pick<Owner, 'id' | 'name'>, body: JsonObject, before?: OwnedSetting): Promise<Prepare>
  remove(actor: Actor, ref: string): Promise<void>
  /** The body with what it names of the same document under its new names. Absent: it names nothing. */
  renamed?(body: JsonObject, names: NewNames): JsonObject
  /** Warnings about a record of this body, for the user who imports it. */
  warnings?(body: JsonObject): readonly string[]
}

/** The records of each kind, in the order in which an import makes them, with all reads and writes in the transaction of these parts. */
export type MovingKinds = (parts: {
  readonly store: Store
  readonly registry: Pick<Registry, 'servers' | 'groups' | 'shares'>
}) => readonly MovingRecords[]

/** True when saving this body would leave the setting unchanged; secrets are not compared. */
export function isSameSetting(present: OwnedSetting, prepare: Prepare): boolean {
  const place = { owner: present.owner.id, record: present.id }
  try {
    const written = prepare(present.owner, place, present)
    return isDeepStrictEqual(JSON.parse(JSON.stringify(written.body)), present.body)
  } catch (error) {
    // The body needs more rights than the setting has.
    if (error instanceof HubError && error.status === 403) return false
    throw error
  }
}
