import type { RecordKind, RecordKinds } from '../record-kinds.ts'
import type { SchemaRecords } from './schema-records.ts'

/** A kind of a plugin, with its records. */
export interface AddedKind extends Pick<SchemaRecords, 'moving' | 'mirror'> {
  readonly kind: RecordKind
}

/** The kinds of a hub: fixed ones, and those of the plugins that run. */
export class OpenKinds implements RecordKinds {
  readonly #fixed: readonly RecordKind[]
  readonly #added = new Map<string, AddedKind>()

  constructor(fixed: readonly RecordKind[]) {
    this.#fixed = fixed
  }

  all(): readonly RecordKind[] {
    return [...this.#fixed, ...this.added().map(({ kind }) => kind)]
  }

  added(): readonly AddedKind[] {
    return [...this.#added.values()]
  }

  /** Returns the function that removes the kind again. Throws Error for one of the same name. */
  add(added: AddedKind): () => void {
    const { kind } = added.kind
    if (this.all().some(known => known.kind === kind))
      throw new Error(`there are records of the kind "${kind}" already`)
    this.#added.set(kind, added)
    return () => {
      this.#added.delete(kind)
    }
  }
}
