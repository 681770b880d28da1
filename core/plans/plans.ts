import type { UserActor } from '../contract/records.ts'
import type { OpenRegistry, TogetherParts } from '../registry/create.ts'
import type { Store } from '../store/open.ts'
import { Apart, type CopiedRows } from './apart/apart.ts'
import { type Draft, type Planned, type PlanWords, requireHash, requirePlanned, withMark } from './planned.ts'
import { PlanTurns } from './turns.ts'

/** Work that is tried on copies of rows, so that its plan knows what becomes of each part. */
export interface TriedSource<Inputs, Read, Shown extends object, Made> extends PlanWords {
  /** Reads what the inputs mean, outside of the database too. Changes nothing. */
  read(actor: UserActor, inputs: Inputs): Promise<Read>
  /** The rows that the work reads and writes. */
  rows(actor: UserActor, inputs: Inputs, read: Read): CopiedRows
  /**
   * Does the work on these parts, whose writes a plan forgets. `finish` returns the result, and may write a record by which the
   * work can be undone. Neither has an effect but on the parts: both may run several times.
   */
  attempt(
    parts: TogetherParts,
    work: { readonly actor: UserActor; readonly inputs: Inputs; readonly read: Read },
  ): Promise<Draft<Shown> & { finish(planHash: string): Promise<Made> }>
}

/** Plans that are made on copies of rows, in turns of their users. */
export class Plans {
  readonly #within: OpenRegistry['within']
  readonly #apart: Apart
  readonly #turns = new PlanTurns()

  constructor({ store, within }: { readonly store: Store; readonly within: OpenRegistry['within'] }) {
    this.#within = within
    this.#apart = new Apart(store)
  }

  /**
   * Plans are made on a copy; the work itself is repeated in the store in one transaction. Both throw `overloaded`; `apply`
   * throws `storage_busy` too, while the same things are changed all the time.
   */
  tried<Inputs, Read, Shown extends object, Made>(
    source: TriedSource<Inputs, Read, Shown, Made>,
  ): Planned<Inputs, Shown, Made> {
    return {
      plan: async (actor, inputs) => {
        const read = await source.read(actor, inputs)
        const rows = source.rows(actor, inputs, read)
        return this.#turns.take(actor.userId, source.what, () =>
          this.#apart.rehearse(rows, async together =>
            withMark(actor, await source.attempt(this.#within(together), { actor, inputs, read })),
          ),
        )
      },
      apply: async (actor, planHash, inputs) => {
        const seen = requireHash(planHash)
        const read = await source.read(actor, inputs)
        return this.change(
          actor,
          source.what,
          async () => source.rows(actor, inputs, read),
          async parts => {
            const draft = await source.attempt(parts, { actor, inputs, read })
            await requirePlanned(source, actor, draft, seen)
            return draft.finish(seen)
          },
        )
      },
    }
  }

  /** Does work without a plan in the same way and turns, such as taking back what was made. `work` may run several times. */
  change<T>(
    { userId }: UserActor,
    what: string,
    rows: () => Promise<CopiedRows>,
    work: (parts: TogetherParts) => Promise<T>,
  ): Promise<T> {
    return this.#turns.take(userId, what, async () =>
      this.#apart.change(await rows(), together => work(this.#within(together))),
    )
  }
}
