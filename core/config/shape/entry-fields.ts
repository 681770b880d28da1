import { isJsonObject } from '../../contract/json.ts'
import type { EntryReading, FieldForms, ServerFields } from '../../features/server-fields.ts'

/** Fields of servers that plugins define, as entries of files have them. Plain data, which threads get as a copy. */
export interface EntryFields {
  readonly names: readonly string[]
  readonly forms: Readonly<Record<string, ReadableForms>>
  /** By the letters of the member. */
  readonly left: NonNullable<EntryReading['left']>
  readonly auth: Partial<NonNullable<EntryReading['auth']>>
}

/** The forms of a field whose value is an object. `members`: those that the schema names. */
export interface ReadableForms extends FieldForms {
  readonly members: readonly string[]
}

/** Entries with the hub's own fields alone. */
export const NO_ENTRY_FIELDS: EntryFields = { names: [], forms: {}, left: {}, auth: {} }

/** The fields of all declarations. */
export function entryFields(declared: readonly ServerFields[]): EntryFields {
  const readings = declared.flatMap(({ entries }) => entries ?? [])
  return {
    names: [...new Set(declared.flatMap(({ fields }) => Object.keys(fields)))],
    forms: Object.fromEntries(declared.flatMap(formsOf)),
    left: Object.assign({}, ...readings.map(({ left }) => left)),
    auth: Object.assign({}, ...readings.map(({ auth }) => auth)),
  }
}

function formsOf({ fields, entries }: ServerFields): (readonly [string, ReadableForms])[] {
  return Object.entries(entries?.forms ?? {}).map(([field, forms]) => {
    const properties = fields[field]?.properties
    return [field, { ...forms, members: isJsonObject(properties) ? Object.keys(properties) : [] }] as const
  })
}
