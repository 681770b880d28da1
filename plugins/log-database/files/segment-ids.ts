import type Database from 'better-sqlite3'
import type { Statement } from 'better-sqlite3'
import { folded, textTerms } from '../log-terms.ts'

/** Ids of one segment that have a term of their own; each search looks through all of them. */
const MOST_IDS = 2_048
/**
 * Highest number of terms of one search: with 1,000 it took 150 ms, and text that is in that many ids is found sooner by reading
 * records.
 */
const MOST_MATCHING = 100

/**
 * The ids of servers, users and keys in the records of one segment. Such an id is one term instead of one for each three of its
 * characters, which makes storing a record of a call a third faster; a search looks for its text in these ids, and then for
 * their terms. Only ids that the hub creates: texts that people choose would slow down the searches of others.
 */
export class SegmentIds {
  readonly #all: Statement
  readonly #insert: Statement
  readonly #containing: Statement
  /** Number by folded id. Read only when records are added: most segments are never added to again. */
  #numbers: Map<string, number> | undefined

  /** Creates the table if it is missing. `table`: the table of the records. */
  constructor(db: Database, table: string) {
    db.exec(`create table if not exists "${table}_ids"(id integer primary key, folded text not null)`)
    this.#all = db.prepare(`select id, folded from "${table}_ids"`)
    this.#insert = db.prepare(`insert into "${table}_ids"(id, folded) values (?, ?)`)
    this.#containing = db.prepare(`select id from "${table}_ids" where instr(folded, ?) > 0 limit ?`)
  }

  /** The terms under which a record is found by one of its ids, joined by spaces. Inside of the transaction that adds it. */
  termsOf(id: string): string {
    const wanted = folded(id)
    this.#numbers ??= this.#read()
    const known = this.#numbers.get(wanted)
    if (known !== undefined) return term(known)
    if (this.#numbers.size >= MOST_IDS) return textTerms(id)
    const number = this.#numbers.size + 1
    this.#insert.run([number, wanted])
    this.#numbers.set(wanted, number)
    return term(number)
  }

  /** The terms of the ids that contain a folded text; undefined: of too many. */
  containing(wanted: string): string[] | undefined {
    const found = this.#containing.all([wanted, MOST_MATCHING + 1]) as { readonly id: number }[]
    return found.length > MOST_MATCHING ? undefined : found.map(({ id }) => term(id))
  }

  /** The transaction was not committed. */
  rolledBack(): void {
    this.#numbers = undefined
  }

  #read(): Map<string, number> {
    const rows = this.#all.all() as { readonly id: number; readonly folded: string }[]
    return new Map(rows.map(row => [row.folded, row.id]))
  }
}

/** No other term begins with this letter. */
function term(number: number): string {
  return `v${number.toString(36)}`
}
