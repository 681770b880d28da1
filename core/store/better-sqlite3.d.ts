/** The part of better-sqlite3 that the store uses; the package has no types of its own. */
declare module 'better-sqlite3' {
  export interface Statement {
    readonly reader: boolean
    readonly readonly: boolean
    all(parameters?: readonly unknown[]): unknown[]
    run(parameters?: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint }
    iterate(parameters?: readonly unknown[]): IterableIterator<unknown>
  }

  export default class Database {
    constructor(path: string, options?: { readonly?: boolean; fileMustExist?: boolean; timeout?: number })
    readonly inTransaction: boolean
    prepare(sql: string): Statement
    exec(sql: string): this
    pragma(source: string, options?: { simple?: boolean }): unknown
    close(): this
  }
}
