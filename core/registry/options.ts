import type { JsonObject } from '../contract/json.ts'

/** Filters and order of a list; all are optional. */
export interface ListQuery {
  /** `mine` (default): owned by the actor. `visible`: also public and shared ones of others. `all`: every one; administrators only. `public`: public ones of everybody. `shared`: those of others that are shared with the actor. */
  readonly scope?: 'mine' | 'visible' | 'all' | 'public' | 'shared'
  /** Substring of name or description, letter case ignored, taken literally. */
  readonly q?: string
  /** Tags that a match has, all of them; letter case ignored. */
  readonly tags?: readonly string[]
  /** A user's name. */
  readonly owner?: string
  /** `name`, `createdAt` or `updatedAt`, with `-` in front for descending. Default `name`. */
  readonly sort?: string
}

/** Conditions of a write. */
export interface WriteOptions {
  /** The revision that the writer saw; `version_conflict` when it is another one now. Absent: no check. */
  readonly ifRevision?: number
  /** The writer wants to create a record (`If-None-Match: *`): `version_conflict` when it exists. */
  readonly ifMissing?: true
  /** Template that a server follows from now on. Absent: unchanged. */
  readonly template?: JsonObject
}
