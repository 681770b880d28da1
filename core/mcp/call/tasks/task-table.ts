import { LIMITS } from '../../../config/limits.ts'
import { HubError } from '../../../contract/errors.ts'
import type { JsonObject } from '../../../contract/json.ts'
import type { TaskEvent } from '../../../features/gates.ts'
import { isOver, type TaskState, taskState } from '../task-state.ts'

/** The user, server and connection of a task: no other one of these can name it. */
export interface TaskPlace {
  readonly userId: string
  readonly serverId: string
  /** The connection that created it; undefined: the shared one. */
  readonly connection: string | undefined
}

/** A task that a client created at a server. */
interface TaskParts extends TaskPlace {
  /** The id that the client knows. */
  readonly id: string
  readonly upstreamId: string
  /** The session that created it, which receives its status notifications. */
  readonly session: string
  readonly endsAtMs: number
}

/** The task and what is known of its end. */
export class OpenTask implements TaskParts {
  readonly userId: string
  readonly serverId: string
  readonly connection: string | undefined
  readonly id: string
  readonly upstreamId: string
  readonly session: string
  readonly endsAtMs: number
  /** When its client last asked for it. */
  askedAtMs: number
  #isOver = false
  #isReleased = false
  #hasResult = false
  #listener: ((event: TaskEvent) => void) | undefined

  constructor(parts: TaskParts, askedAtMs: number) {
    this.userId = parts.userId
    this.serverId = parts.serverId
    this.connection = parts.connection
    this.id = parts.id
    this.upstreamId = parts.upstreamId
    this.session = parts.session
    this.endsAtMs = parts.endsAtMs
    this.askedAtMs = askedAtMs
  }

  /** True once its server has named a final status. */
  get over(): boolean {
    return this.#isOver
  }

  /** Calls `listener` when the task is over, also where it is already, and with its first result. */
  follow(listener: (event: TaskEvent) => void): void {
    this.#listener = listener
    if (this.#isReleased) listener({ kind: 'over' })
  }

  /** Notes its status. A task that is over stays so. */
  noted(state: TaskState): void {
    if (isOver(state)) this.end()
  }

  end(): void {
    this.#isOver = true
    this.release()
  }

  /** Counts it as over, whatever its server does. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#listener?.({ kind: 'over' })
  }

  /** Notes what its client got as its result; that is sent as often as the client asks, and counts once. */
  resulted(failed: boolean, resultCharacters: number): void {
    this.end()
    if (this.#hasResult) return
    this.#hasResult = true
    this.#listener?.({ kind: 'result', failed, resultCharacters })
  }
}

/** Tasks of clients under ids of the hub's own, so that no client can name another user's task. */
export class TaskTable {
  readonly #now: () => number
  readonly #byId = new Map<string, OpenTask>()
  readonly #byUpstream = new Map<string, OpenTask>()
  readonly #ofUser = new Map<string, Set<OpenTask>>()
  /** Reserved places for calls that are about to create a task. */
  readonly #reserved = new Map<string, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  countOf(userId: string): number {
    return (this.#ofUser.get(userId)?.size ?? 0) + (this.#reserved.get(userId) ?? 0)
  }

  /** Reserves a place for one more task; the returned function releases it. Throws `quota_calls`. */
  reserve(userId: string): () => void {
    this.sweep()
    // Finished tasks are dropped first, the oldest first.
    for (const task of this.#ofUser.get(userId) ?? [])
      if (task.over && this.countOf(userId) >= LIMITS.tasksPerUser) this.#forget(task)
    if (this.countOf(userId) >= LIMITS.tasksPerUser)
      throw new HubError('quota_calls', `Cannot make a task: ${LIMITS.tasksPerUser} of yours are not over`, {
        hint: 'Wait for a task to end, or cancel one.',
      })
    this.#reserved.set(userId, (this.#reserved.get(userId) ?? 0) + 1)
    return () => {
      const left = (this.#reserved.get(userId) ?? 1) - 1
      if (left > 0) this.#reserved.set(userId, left)
      else this.#reserved.delete(userId)
    }
  }

  /** `id`: the one that the client knows; default: a new one. */
  add(place: TaskPlace, session: string, state: TaskState, id: string = crypto.randomUUID()): OpenTask {
    const lifeMs = Math.min(state.ttlMs ?? LIMITS.taskMs, LIMITS.taskMs)
    const nowMs = this.#now()
    const task = new OpenTask({ ...place, id, upstreamId: state.taskId, session, endsAtMs: nowMs + lifeMs }, nowMs)
    task.noted(state)
    this.#byId.set(task.id, task)
    this.#byUpstream.set(upstreamKey(task, state.taskId), task)
    const all = this.#ofUser.get(place.userId) ?? new Set()
    this.#ofUser.set(place.userId, all.add(task))
    return task
  }

  /** The task with this id, for which its client asks. */
  asked(id: string): OpenTask | undefined {
    const task = this.#byId.get(id)
    if (task) task.askedAtMs = this.#now()
    return task
  }

  /** True when one more task has a place. */
  hasRoom(userId: string): boolean {
    this.sweep()
    const all = this.#ofUser.get(userId) ?? []
    return this.countOf(userId) < LIMITS.tasksPerUser || [...all].some(({ over }) => over)
  }

  /** Undefined for every id but those that were given out at this place. */
  find(id: unknown, { userId, serverId, connection }: TaskPlace): OpenTask | undefined {
    const task = typeof id === 'string' ? this.#byId.get(id) : undefined
    const here = task?.userId === userId && task.serverId === serverId && task.connection === connection
    return here && task.endsAtMs > this.#now() ? this.asked(task.id) : undefined
  }

  /** The tasks of one place, oldest first. */
  at({ userId, serverId, connection }: TaskPlace): readonly OpenTask[] {
    this.sweep()
    return [...(this.#ofUser.get(userId) ?? [])].filter(
      task => task.serverId === serverId && task.connection === connection,
    )
  }

  /** A server's status notification with the client's task id; undefined for a task that no client created here. */
  statusChanged(
    serverId: string,
    connection: string | undefined,
    params: JsonObject | undefined,
  ): { readonly session: string; readonly params: JsonObject } | undefined {
    const state = taskState(params)
    const task = state && this.#byUpstream.get(upstreamKey({ serverId, connection }, state.taskId))
    if (!state || !task) return undefined
    task.noted(state)
    return { session: task.session, params: { ...params, taskId: task.id } }
  }

  /** Called when a connection has ended; its tasks ended with it. */
  dropConnection(connection: string): void {
    for (const task of this.#byId.values()) if (task.connection === connection) this.#forget(task)
  }

  sweep(): void {
    const now = this.#now()
    for (const task of this.#byId.values())
      if (task.endsAtMs <= now) this.#forget(task)
      else if (task.askedAtMs + LIMITS.taskSilenceMs <= now) task.release()
  }

  #forget(task: OpenTask): void {
    this.#byId.delete(task.id)
    const key = upstreamKey(task, task.upstreamId)
    if (this.#byUpstream.get(key) === task) this.#byUpstream.delete(key)
    const all = this.#ofUser.get(task.userId)
    all?.delete(task)
    if (all?.size === 0) this.#ofUser.delete(task.userId)
    task.release()
  }
}

function upstreamKey({ serverId, connection }: Omit<TaskPlace, 'userId'>, upstreamId: string): string {
  return JSON.stringify([serverId, connection ?? '', upstreamId])
}
