import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { BytesInFlight } from '../../domain/byte-account.ts'
import type { UserLoad } from './session.ts'
import { UserReplay } from './user-replay.ts'

type OpenCounts = Pick<UserLoad, 'sessions' | 'calls' | 'streams'>

const NOTHING: Readonly<OpenCounts> = Object.freeze({ sessions: 0, calls: 0, streams: 0 })

/** Counts what each user has open now: sessions, calls and streams. */
export class UserLoads {
  readonly #bytes: BytesInFlight
  readonly #byUser = new Map<string, UserLoad>()

  constructor(bytes: BytesInFlight) {
    this.#bytes = bytes
  }

  /** Runs work that counts as a call of this user but belongs to no session. Throws quota_calls, after `refused` saw it. */
  async withoutSession<T>(userId: string, refused: (error: unknown) => void, work: () => T | Promise<T>): Promise<T> {
    const load = this.of(userId)
    try {
      checkCallQuota(load)
    } catch (error) {
      refused(error)
      throw error
    }
    load.calls += 1
    try {
      return await work()
    } finally {
      load.calls -= 1
      this.forget(userId)
    }
  }

  /** Returns a user's present counts; creates no record for a user who has nothing open. */
  used(userId: string): Readonly<OpenCounts> {
    return this.#byUser.get(userId) ?? NOTHING
  }

  /** Bytes of a user's replay events. */
  replayBytes(userId: string): number {
    return this.#byUser.get(userId)?.replay.bytes ?? 0
  }

  of(userId: string): UserLoad {
    const known = this.#byUser.get(userId)
    if (known) return known
    const bytes = this.#bytes.user(userId)
    const load = { sessions: 0, calls: 0, streams: 0, bytes, replay: new UserReplay(bytes) }
    this.#byUser.set(userId, load)
    return load
  }

  /** Called when something of this user has ended. */
  forget(userId: string): void {
    const load = this.#byUser.get(userId)
    if (load?.sessions === 0 && load.calls === 0 && load.streams === 0) this.#byUser.delete(userId)
  }
}

/** Throws quota_calls while the user has the maximum number of calls in flight. */
export function checkCallQuota(load: OpenCounts): void {
  if (load.calls >= LIMITS.callsPerUser)
    throw new HubError('quota_calls', `Cannot take the call: ${LIMITS.callsPerUser} of yours are in flight`, {
      retryAfterSeconds: 1,
    })
}
