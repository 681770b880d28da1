import type { JsonObject } from '../../contract/json.ts'
import type { Actor } from '../../contract/records.ts'
import type { WriteOptions } from '../api.ts'

/** Options of replacing. */
export interface ReplaceOptions extends WriteOptions {
  /** The body is the sender’s, not a stored one with some fields changed. */
  readonly whole?: true
}

/** Records of one kind for requests. A `ref` is `name` or `owner~name`; records of other owners are treated as missing. */
export interface OwnedRecords {
  list(actor: Actor, ownerName?: string): Promise<readonly JsonObject[]>
  get(actor: Actor, ref: string): Promise<JsonObject>
  create(actor: Actor, body: JsonObject): Promise<JsonObject>
  replace(actor: Actor, ref: string, body: JsonObject, options?: ReplaceOptions): Promise<JsonObject>
  remove(actor: Actor, ref: string): Promise<void>
}
