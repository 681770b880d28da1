import type Database from 'better-sqlite3'
import type { Statement } from 'better-sqlite3'
import { folded, textTerms } from '../domain/log/log-terms.ts'

/** Texts of one segment that have a term of their own; each search looks through all of them. */
const MOST_TEXTS = 2_048
/** Texts that were seen once and may come again. */
const MOST_SEEN = 8_192
/** Terms of one search: with 1,000 it took 150 ms, where what is in so many texts is found sooner by reading records. */
const MOST_MATCHING = 100

/**
 * The texts that come again and again in the records of one segment, such as ids and names of tools. From the second time on
 * such a text is one term in place of one for each three characters, which makes storing a record of a call twice as quick; a
 * search looks for what it wants in these texts, and then for their terms.
 */
export class SegmentTexts {
  readonly #all: Statement
  readonly #insert: Statement
  readonly #containing: Statement
  /** Id by folded text. Read only when records are added: most segments are never added to again. */
  #ids: Map<string, number> | undefined
  #seen = new Set<string>()

  /** Makes the table where there is none. `table`: that of the records. */
  constructor(db: Database, table: string) {
    db.exec(`create table if not exists "${table}_texts"(id integer primary key, folded text not null)`)
    this.#all = db.prepare(`select id, folded from "${table}_texts"`)
    this.#insert = db.prepare(`insert into "${table}_texts"(id, folded) values (?, ?)`)
    this.#containing = db.prepare(`select id from "${table}_texts" where instr(folded, ?) > 0 limit ?`)
  }

  /** The terms under which a record is found by one of its texts, joined by spaces. Inside of the transaction that adds it. */
  termsOf(text: string): string {
    const wanted = folded(text)
    this.#ids ??= this.#read()
    const known = this.#ids.get(wanted)
    if (known !== undefined) return term(known)
    if (this.#ids.size >= MOST_TEXTS) return textTerms(text)
    if (!this.#seen.has(wanted)) {
      if (this.#seen.size >= MOST_SEEN) this.#seen.clear()
      this.#seen.add(wanted)
      return textTerms(text)
    }
    const id = this.#ids.size + 1
    this.#insert.run([id, wanted])
    this.#ids.set(wanted, id)
    this.#seen.delete(wanted)
    return term(id)
  }

  /** The terms of the texts that contain a folded text; undefined: of too many. */
  containing(wanted: string): string[] | undefined {
    const found = this.#containing.all([wanted, MOST_MATCHING + 1]) as { readonly id: number }[]
    return found.length > MOST_MATCHING ? undefined : found.map(({ id }) => term(id))
  }

  /** The transaction was not committed. */
  rolledBack(): void {
    this.#ids = undefined
    this.#seen.clear()
  }

  #read(): Map<string, number> {
    const rows = this.#all.all() as { readonly id: number; readonly folded: string }[]
    return new Map(rows.map(row => [row.folded, row.id]))
  }
}

/** No other term begins with this letter. */
function term(id: number): string {
  return `v${id.toString(36)}`
}
