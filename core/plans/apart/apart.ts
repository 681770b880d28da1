import { HubError } from '../../contract/errors.ts'
import { isMissingReference, isUniqueViolation } from '../../store/errors.ts'
import type { Store } from '../../store/open.ts'
import { type LateWork, type Reader, read, type Together, togetherIn, write } from '../../store/transact.ts'
import { checkReferences, WorkingCopies } from '../../store/working-copies.ts'
import { writeAhead } from './documents.ts'
import { areUnchanged, changedRows, repeatChanges, type TableChanges, trackChanges } from './row-changes.ts'

/** The rows of the store that some work reads and writes. */
export interface CopiedRows {
  /** Copies them into a working copy. Reads of the store in several statements are allowed to see changes in between. */
  fill(store: Store, copy: Reader): Promise<void>
  /** A text that differs when any of them that decides about the work has changed. It is read within the final transaction too. */
  mark(db: Reader): Promise<string>
}

/** Work that was done on a copy, to be repeated in the store. */
interface Done {
  readonly rows: CopiedRows
  readonly mark: string
  readonly copy: Reader
  readonly changes: readonly TableChanges[]
  readonly effects: readonly (() => void)[]
  readonly late: readonly LateWork[]
}

/** Most repetitions after others changed the same rows. */
const TRIES = 5

/**
 * Does long work on a copy of some rows, so that it holds no lock of the store. What it has written is then repeated in the store in
 * one short transaction, all or nothing.
 */
export class Apart {
  readonly #store: Store
  readonly #copies = new WorkingCopies()

  constructor(store: Store) {
    this.#store = store
  }

  /** Does `work` on a copy, and forgets what it wrote. Nothing of the store is written or locked. */
  rehearse<T>(rows: CopiedRows, work: (together: Together) => Promise<T>): Promise<T> {
    return this.#onCopy(rows, ({ together }) => work(together))
  }

  /**
   * Does `work` on a copy and repeats its changes in the store; events come after the commit. When the copied rows have changed
   * meanwhile, all of it is done again, five times at most, so `work` must have no effects but on the database. Nothing is left
   * when it throws. Throws `storage_busy`.
   */
  async change<T>(rows: CopiedRows, work: (together: Together) => Promise<T>): Promise<T> {
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      const mark = await read(this.#store, db => rows.mark(db))
      const done = await this.#onCopy(rows, async ({ together, trx, effects, late }) => {
        const value = await work(together)
        const changes = await changedRows(trx)
        if (await this.#repeat({ rows, mark, copy: trx, changes, effects: effects(), late: late() })) return { value }
        return undefined
      })
      if (done) return done.value
    }
    throw new HubError('storage_busy', 'Others change the same things all the time; nothing was changed', {
      retryAfterSeconds: 2,
    })
  }

  async #onCopy<T>(
    rows: CopiedRows,
    work: (copy: ReturnType<typeof togetherIn> & { readonly trx: Reader }) => Promise<T>,
  ): Promise<T> {
    const copy = await this.#copies.open()
    try {
      await rows.fill(this.#store, copy.db)
      await trackChanges(copy.db)
      await checkReferences(copy)
      return await write(copy, trx => work({ ...togetherIn(copy, trx), trx }))
    } finally {
      await copy.close()
    }
  }

  /** False when the rows have changed since the work began. */
  async #repeat({ rows, mark, copy, changes, effects, late }: Done): Promise<boolean> {
    const documents = await writeAhead(this.#store, copy, changes)
    try {
      return await write(this.#store, async (trx, after) => {
        const isSame = (await rows.mark(trx)) === mark && (await areUnchanged(trx, documents.changes))
        if (!isSame) return false
        await repeatChanges(trx, documents.changes)
        for (const work of late) await work({ ...this.#store, joined: { trx, after } })
        after(() => {
          for (const effect of effects) effect()
        })
        return true
      })
    } catch (error) {
      // Somebody took a name meanwhile, or removed a thing that is referred to.
      if (isUniqueViolation(error) || isMissingReference(error)) return false
      throw error
    } finally {
      await documents.removeUnowned()
    }
  }
}
