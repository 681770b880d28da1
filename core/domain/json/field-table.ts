import type { JsonObject } from '../../contract/json.ts'
import type { Fields } from './fields.ts'

/** One field of a body: its reader and its schema for the API document. */
interface BodyField<T> {
  /** JSON Schema, with the description for the API document. */
  readonly schema: JsonObject
  /** Returns undefined if the field is absent or invalid; problems are added to `fields`. */
  readonly read: (fields: Fields) => T | undefined
}

/** The fields of a body by name, in the order in which they are validated. */
export type BodyTable = Readonly<Record<string, BodyField<unknown>>>
type Read<Field> = Field extends BodyField<infer T> ? T : never
type Always<Table extends BodyTable> = {
  [Name in keyof Table]: undefined extends ReturnType<Table[Name]['read']> ? never : Name
}[keyof Table]

/** The values of a table's fields: those that have a default are always present. */
export type BodyValues<Table extends BodyTable> = { readonly [Name in Always<Table>]: Read<Table[Name]> } & {
  readonly [Name in Exclude<keyof Table, Always<Table>>]?: NonNullable<ReturnType<Table[Name]['read']>>
}

/** Reads all fields of a table; absent values are left out. */
export function readTable<Table extends BodyTable>(table: Table, fields: Fields): BodyValues<Table> {
  const values = Object.entries(table).map(([name, { read }]) => [name, read(fields)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as BodyValues<Table>
}

/** The JSON Schema of each field of a table, by name. */
export function schemasOf(table: BodyTable): Record<string, JsonObject> {
  return Object.fromEntries(Object.entries(table).map(([name, { schema }]) => [name, schema]))
}
