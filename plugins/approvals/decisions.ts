/** Decisions of one user that no call has used yet, and the same of remembered ones. */
const MOST_OF_USER = 200
/** Remembered decisions of all users. */
const MOST_LASTING = 5_000

/** The keys of a call under which decisions are found. */
export interface DecisionKeys {
  /** Equal for calls that one decision is about. */
  readonly key: string
  /** The same for decisions that are remembered. */
  readonly lastingKey: string
}

/** A decision for calls that come later. */
export interface Kept {
  readonly key: string
  readonly approvalId: string
  readonly userId: string
  readonly serverId: string
  readonly approved: boolean
  /** It is for all equal calls until its end, and not for the next one alone. */
  readonly lasting: boolean
  /** It is in the store too: a yes that outlives a restart. */
  readonly stored: boolean
  readonly untilMs: number
}

/** The store of decisions. */
export interface KeptStore {
  /** Resolves with false when it is not there. Afterwards no process finds it again. */
  remove(key: string): Promise<boolean>
  put(kept: Kept): void
}

/** The fate of the stored decisions. */
export interface KeptChange {
  readonly added?: Kept
  readonly dropped: readonly Kept[]
}

/**
 * Decisions that calls have not used up. They are found in memory; a yes that is used up leaves the store before its call is sent,
 * so that after any end of the process it is used at most once.
 */
export class Decisions {
  readonly #store: KeptStore
  readonly #once = new Map<string, Kept>()
  readonly #lasting = new Map<string, Kept>()

  constructor(store: KeptStore) {
    this.#store = store
  }

  /** Takes over the decisions of an earlier process. */
  load(all: readonly Kept[]): void {
    for (const kept of all) this.#mapOf(kept).set(kept.key, kept)
  }

  /** False when the limit of remembered decisions is reached. */
  get hasRoom(): boolean {
    return this.#lasting.size < MOST_LASTING
  }

  /** The oldest of a user make room. The caller stores the change. */
  add(kept: Kept): KeptChange {
    const map = this.#mapOf(kept)
    const before = map.get(kept.key)
    map.delete(kept.key)
    const ofUser = [...map.values()].filter(({ userId }) => userId === kept.userId)
    const dropped = ofUser.slice(0, Math.max(0, ofUser.length + 1 - MOST_OF_USER))
    for (const one of dropped) map.delete(one.key)
    map.set(kept.key, kept)
    const stored = [...dropped, ...(before ? [before] : [])].filter(one => one.stored)
    return { ...(kept.stored ? { added: kept } : {}), dropped: stored }
  }

  /**
   * Takes the decision for one call; undefined while there is none. A decision for one call is taken once: also of calls at the same
   * moment, one gets it. Rejects with the error of the store, and the decision stays.
   */
  async take({ key, lastingKey }: DecisionKeys): Promise<Kept | undefined> {
    const nowMs = Date.now()
    const lasting = this.#lasting.get(lastingKey)
    if (lasting && lasting.untilMs > nowMs) return lasting
    const kept = this.#once.get(key)
    if (!kept) return undefined
    this.#once.delete(key)
    if (kept.untilMs <= nowMs) return undefined
    if (!kept.stored) return kept
    try {
      return (await this.#store.remove(key)) ? kept : undefined
    } catch (error) {
      if (!this.#once.has(key)) this.#once.set(key, kept)
      throw error
    }
  }

  /** The call that took it was not sent, or its server wants the same call again. It ends when it would have. */
  giveBack(kept: Kept): void {
    if (kept.lasting || kept.untilMs <= Date.now()) return
    this.#once.set(kept.key, kept)
    if (kept.stored) this.#store.put(kept)
  }

  /** Forgets those that fit; rows of users and servers that are gone are gone with them. */
  forget(fits: (kept: Kept) => boolean): void {
    for (const map of [this.#once, this.#lasting]) for (const [key, kept] of map) if (fits(kept)) map.delete(key)
  }

  #mapOf({ lasting }: Kept): Map<string, Kept> {
    return lasting ? this.#lasting : this.#once
  }
}
