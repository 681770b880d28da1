import type { FileEntry, FileSection } from '../config/shape/sections.ts'
import type { ErrorCode } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { NotCarried } from '../features/imports.ts'

/** The purpose and the field that bind the sealed secrets of a kind to their record. */
export interface SealedAs {
  readonly purpose: string
  readonly field: string
  /** Name of such a record in reports about sealed values. */
  readonly what: string
}

/** Rules by which records of a kind are exported and imported. */
export interface MovedAs {
  /** Name of the section in an export. */
  readonly section: string
  /** A record that somebody else wrote acts by itself: it is imported switched off. */
  readonly offUnlessSeen: boolean
  /** An import with `off` switches it off. */
  readonly offOnRequest: boolean
}

/** Use of a section in the settings file of another hub. */
export interface FromHub {
  /** A name for the content of the section, and advice for when it is not carried. */
  readonly what: string
  readonly instead: string
  /** Absent: records are not carried. */
  readonly carry?: {
    /** One record in a sentence, such as `a rule`. */
    readonly one: string
    /**
     * Returns the body of the record that an entry with a name becomes. `groups`: names of groups by their former ids. Adds what is
     * lost to `notCarried`.
     */
    read(entry: FileEntry, groups: ReadonlyMap<string, string>, notCarried: NotCarried[]): JsonObject
    /** The part of the section that holds no records. */
    rest(section: JsonObject): JsonObject
    /** Sentence for the user when any is carried. */
    readonly warning: string
  }
}

/** One kind of owned record. The feature that it belongs to defines it; the hub stores, limits and moves its records. */
export interface RecordKind {
  /** In the store, and in the items of imports. A kind of a plugin is `{plugin}.{kind}`. */
  readonly kind: string
  /** Name of one record in messages, such as `rule`. */
  readonly label: string
  readonly missing: ErrorCode
  readonly quota: ErrorCode
  /** Most records of one ordinary user. */
  readonly most: number
  /** Name of the section of the settings file that may hold such records. */
  readonly fileSection: string
  /** Reads that section; absent for a kind of a plugin, which has a list in `records`. */
  readonly file?: Omit<FileSection, 'kind'>
  /** Rules by which an import of another hub's settings file treats that section. */
  readonly fromHub?: FromHub
  /** A record acts in the rights of its owner. False: it only shows what its reader may see. */
  readonly acts: boolean
  /** Absent: records of this kind have no secrets. */
  readonly sealedAs?: SealedAs
  readonly moved: MovedAs
  /** Sentence for the refusal to remove a group that records name by its id, such as `Assistants use the group`. */
  readonly usesGroup?: string
}

/** The kinds of owned records that a hub has now. */
export interface RecordKinds {
  /** In the order in which an import makes their records: a record may name one of an earlier kind. */
  all(): readonly RecordKind[]
}

/** Sections of the settings file that hold records of these kinds. */
export function sectionsOf(kinds: readonly RecordKind[]): readonly FileSection[] {
  return kinds.flatMap(({ kind, file }) => (file ? [{ kind, ...file }] : []))
}

/** Returns how the secrets of a plugin's kind are sealed; the plugin need not run. */
export function pluginSealing(kind: string): SealedAs {
  return { purpose: 'plugin-record', field: kind, what: `record of the kind ${kind}` }
}

/** True for the name of a kind of a plugin. */
export function isPluginKind(kind: string): boolean {
  return kind.includes('.')
}
