import type { JsonObject, JsonValue } from '../contract/json.ts'
import type { Role } from '../contract/records.ts'
import type { AttachedKind } from '../features/attached.ts'
import type { NotCarried } from '../features/imports.ts'
import type { NewShare, SharedKind, TeamSource } from '../registry/shares-api.ts'

/** A value that a server needs and the document does not have. */
export interface MissingValue {
  /** The name under which the answer is sent. */
  readonly name: string
  readonly secret: boolean
}

interface Placed {
  /** JSON Pointer into the document, from `#` on. */
  readonly pointer: string
  readonly warnings?: readonly string[]
}

interface Owned {
  readonly name: string
  /** A user of the other hub; absent: nobody is named. */
  readonly owner?: string
}

interface FormerlyOwned extends Owned {
  /** The former owner, where that does not decide who becomes the owner. */
  readonly formerOwner?: string
}

/** The document may lack values of it. */
interface Filled {
  readonly missing?: readonly MissingValue[]
  /** Converts pointers, where the document calls fields of the body by other names. */
  readonly place?: (pointer: string) => string
}

/** One thing that a document brings. */
export type ImportItem = Placed &
  (
    | { readonly kind: 'user'; readonly name: string; readonly role: Role; readonly passwordHash?: string }
    | (FormerlyOwned &
        Filled & {
          readonly kind: 'server'
          /** Flat, as for `POST /api/servers`, without `owner`. */
          readonly body: JsonObject
          /** The form of references to an environment: `${NAME}` (default), `$NAME` too, or none. */
          readonly references?: 'braced' | 'plain' | 'none'
          /** The template that it follows. */
          readonly template?: JsonObject
          /** The entry cannot be read. */
          readonly problem?: string
        })
    | (Owned & {
        readonly kind: 'group'
        readonly body: JsonObject
        readonly formerPaths: readonly string[]
        /** Separator between server name and tool name in the other hub; absent: it had no such names. */
        readonly formerSeparator?: string
      })
    | (Owned & { readonly kind: 'key'; readonly secret: string; readonly scopes: readonly JsonValue[] })
    | (FormerlyOwned &
        Filled & {
          readonly kind: 'record'
          /** Name of its kind of record. */
          readonly record: string
          /** As for the POST of its kind, without `owner`. */
          readonly body: JsonObject
        })
    | {
        readonly kind: 'team'
        readonly name: string
        readonly members: readonly string[]
        readonly source?: TeamSource
      }
    | (FormerlyOwned & {
        readonly kind: 'shares'
        /** The thing, as the document names it: one of its items. */
        readonly of: SharedKind
        readonly shares: readonly NewShare[]
      })
    | (FormerlyOwned &
        Filled & {
          readonly kind: 'attached'
          /** Name of the settings, such as `quota`. */
          readonly attached: string
          readonly of: AttachedKind
          readonly value: JsonValue
        })
    | (Owned & { readonly kind: 'setting'; readonly value: string })
    | (Owned & { readonly kind: 'secret'; readonly value: string })
  )

/** Kind of an item in answers and in what an import keeps; of a record that of the record, of settings their name. */
export function kindOf(
  item: Pick<ImportItem, 'kind'> & { readonly record?: string; readonly attached?: string },
): string {
  return item.record ?? item.attached ?? item.kind
}

/** The content of a document, in the order in which it is made. */
export interface ImportContent {
  /** The program that wrote the document. */
  readonly source: string
  readonly items: readonly ImportItem[]
  readonly notCarried: readonly NotCarried[]
  /** Other sentences for its user. */
  readonly warnings: readonly string[]
}

/** Outcome for one item. `extended`: a group that got members. */
export type ImportVerdict = 'new' | 'same' | 'replaced' | 'extended' | 'exists' | 'invalid' | 'skipped'

/**
 * The user's choice for one item, by its pointer. `accept`: takes a key that is shorter than 32 characters, for 30 days, and shares,
 * quotas and rules of a document that somebody else exported.
 * `replace`: replaces what the user has under the item's name.
 */
export type ImportChoice = 'skip' | 'accept' | 'replace' | { readonly rename: string }

/** Something that an import made, with what finds it again when the import is taken back. */
export interface MadeItem {
  /** As `kindOf` says. */
  readonly kind: string
  readonly id: string
  readonly name: string
  readonly owner: string
  /** Nobody has changed it while it has this revision. */
  readonly revision: number | string
  /** The name of the secret that holds the former state. */
  readonly replaced?: string
}
