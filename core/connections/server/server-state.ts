import type { ErrorCode } from '../../contract/errors.ts'
import type { ConnectionState, ServerRecord } from '../../contract/records.ts'
import { asksCallers } from '../../domain/session-scope.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { ServerContext } from './server-context.ts'

/** The state of a server and when it began; readers get it whole. */
export interface Observation {
  readonly state: ConnectionState
  /** ISO 8601 UTC. */
  readonly since: string
  readonly reason?: WireError
  /** Time of the next attempt (`Date.now()`). */
  readonly nextAttemptAtMs?: number
}

/** Reasons for which a server is offline without a fault: a person or its configuration wants it so. */
const RESTING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['stopped', 'idle', 'owner_disabled', 'draining'])

/** The longest `retryAfterSeconds` sent to a caller, however late the next attempt is. */
const MOST_WAIT_S = 300

/** Reason of a server whose owner's account is disabled: it does not run. */
export const OWNER_DISABLED: WireError = { code: 'owner_disabled', message: 'The account of its owner is disabled' }

/** Reason of a server that a user stopped. */
export const STOPPED: WireError = { code: 'stopped', message: 'The server was stopped by hand' }

/** The public state of one server; every change emits an event. */
export class ServerState {
  readonly #record: () => ServerRecord
  readonly #context: ServerContext
  readonly #watchers = new Set<() => void>()
  #now: Observation
  #wantsOwner = false
  /** Failed attempts since it was last online. */
  attempts = 0

  constructor(record: () => ServerRecord, context: ServerContext) {
    this.#record = record
    this.#context = context
    const { problem, enabled, ownerDisabled } = record()
    const since = new Date().toISOString()
    if (ownerDisabled) this.#now = { state: 'offline', since, reason: OWNER_DISABLED }
    else if (problem) this.#now = { state: 'offline', since, reason: problem }
    else if (enabled) this.#now = { state: 'connecting', since }
    else this.#now = { state: 'offline', since, reason: STOPPED }
    // A server that cannot run from the start on has no change of state that would be logged.
    if (problem && !ownerDisabled) logState(context, record(), this.#now, { before: 'offline', attempts: 0 })
  }

  get now(): Observation {
    return this.#now
  }

  get reason(): WireError | undefined {
    return this.#now.reason
  }

  /**
   * True while it is offline, or connects again, only because its owner has no valid credential, and each caller has one of its
   * own: those can use it.
   */
  get wantsOwner(): boolean {
    return this.#wantsOwner
  }

  /** The same, for those who read its reason. */
  get ofOwner(): { readonly ofOwner?: true } {
    return this.#wantsOwner && this.#now.state === 'offline' ? { ofOwner: true } : {}
  }

  /** `given` 'kept': the reason that is published now stays. */
  become(state: ConnectionState, given?: WireError | 'kept', nextAttemptInMs?: number): void {
    const before = this.#now
    const reason = given === 'kept' ? before.reason : given
    if (state !== 'connecting') this.#wantsOwner = state === 'offline' && concernsOwner(this.#record(), reason)
    this.#now = {
      state,
      since: before.state === state ? before.since : new Date().toISOString(),
      // Redacted now: the secret may be forgotten while the reason is still shown.
      ...(reason
        ? { reason: { code: reason.code, message: this.#context.redact(reason.message), ...pageOf(reason) } }
        : {}),
      ...(nextAttemptInMs === undefined ? {} : { nextAttemptAtMs: Date.now() + nextAttemptInMs }),
    }
    if (before.state !== state || before.reason?.code !== reason?.code) {
      const { id: serverId, ownerId, name } = this.#record()
      const data = { serverId, name, state, attempts: this.attempts }
      const reason = this.reason && {
        reason: { code: this.reason.code, message: this.reason.message, ...this.ofOwner },
      }
      this.#context.bus.emit('connection.state', ownerId, { ...data, ...reason })
      logState(this.#context, this.#record(), this.#now, {
        before: before.state,
        attempts: this.attempts,
        ofOwner: this.#wantsOwner,
      })
    }
    this.changed()
  }

  /** The error for a call that cannot be sent, with the time until the next attempt if there is one. */
  offlineError(): WireError {
    const { name } = this.#record()
    const seconds = this.#secondsToNextAttempt()
    const why = this.reason ? `: ${this.reason.message}` : ''
    const what = this.#now.state === 'offline' ? 'is offline' : 'is not connected yet'
    const message = `Server "${name}" ${what}${why}${this.#nextAttempt()}`
    const { data: page } = this.reason ?? {}
    if (page) return { code: 'authorization_required', message, data: page }
    return {
      code: 'server_offline',
      message,
      ...(seconds === undefined ? {} : { data: { retryAfterSeconds: seconds } }),
    }
  }

  #nextAttempt(): string {
    const { state, nextAttemptAtMs } = this.#now
    if (state !== 'offline' || nextAttemptAtMs === undefined) return ''
    return `; next attempt in ${Math.max(1, Math.ceil((nextAttemptAtMs - Date.now()) / 1_000))} s`
  }

  #secondsToNextAttempt(): number | undefined {
    const { state, nextAttemptAtMs } = this.#now
    // An attempt is in progress.
    if (state !== 'offline') return 1
    if (nextAttemptAtMs === undefined) return undefined
    return Math.min(Math.max((nextAttemptAtMs - Date.now()) / 1_000, 1), MOST_WAIT_S)
  }

  /** Calls back on every change of state or lists, until the returned function is called. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed)
    return () => this.#watchers.delete(changed)
  }

  changed(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }
}

/** True for a reason that only the credential of the owner has, where each caller has one of its own. */
export function concernsOwner(record: Pick<ServerRecord, 'config'>, reason: WireError | undefined): boolean {
  if (reason === undefined || !asksCallers(record)) return false
  return reason.data?.connectUrl !== undefined || reason.code === 'authorization_required'
}

/** The page at which a person ends the reason. */
function pageOf({ data }: WireError): Pick<WireError, 'data'> {
  return typeof data?.connectUrl === 'string' ? { data: { connectUrl: data.connectUrl } } : {}
}

interface State {
  readonly state: ConnectionState
  readonly reason?: WireError
}

type Logger = Pick<ServerContext, 'log'>
type Named = Pick<ServerRecord, 'id' | 'ownerId' | 'name'>

/**
 * Logs a change of a server's state with its cause: INFO where it is online, rests or connects for the first time, WARN where it
 * connects again or is degraded, ERROR where it is offline by a fault.
 */
function logState(
  { log }: Logger,
  server: Named,
  { state, reason }: State,
  {
    before,
    attempts,
    ofOwner = false,
  }: { readonly before: ConnectionState; readonly attempts: number; readonly ofOwner?: boolean },
): void {
  const isFault = reason !== undefined && !RESTING.has(reason.code) && !ofOwner
  const again = attempts > 0 || before === 'online' || isFault
  const level = levelOf(state, isFault, again)
  const why = reason ? `: ${reason.message}` : ''
  log[level](`The server ${saidOf(state, isFault, again)}${why}`, {
    ...of(server),
    ...{ state, before, attempts, code: reason?.code },
  })
}

/** Logs that the checks of a server began to fail, or succeed again. */
export function logHealth({ log }: Logger, server: Named, error: State['reason']): void {
  if (error)
    log.warn(`The checks of the server fail: ${error.message}`, { ...of(server), health: 'failing', code: error.code })
  else log.info('The checks of the server succeed again', { ...of(server), health: 'healthy' })
}

function of({ id: serverId, ownerId, name: server }: Named) {
  return { component: 'server', server, serverId, ownerId }
}

function levelOf(state: ConnectionState, isFault: boolean, again: boolean): 'info' | 'warn' | 'error' {
  if (state === 'offline') return isFault ? 'error' : 'info'
  if (state === 'online') return isFault ? 'warn' : 'info'
  return again ? 'warn' : 'info'
}

function saidOf(state: ConnectionState, isFault: boolean, again: boolean): string {
  if (state === 'connecting') return again ? 'is connecting again' : 'is connecting'
  return state === 'online' && isFault ? 'is online, but degraded' : `is ${state}`
}
