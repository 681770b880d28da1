import type { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { GroupRecord, ServerRecord, UserActor } from '../contract/records.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    callGate: CallGate
  }
}

/**
 * A tools/call that is about to be sent to its server, whatever way it came by. Rights, visibility and the shape of its arguments
 * have been checked, and middlewares and content filters have seen it.
 */
export interface GatedCall {
  readonly requestId: string
  readonly actor: UserActor
  /** Equal for the requests of one user whose credentials open the same. */
  readonly principal: string
  /** The path under `/mcp` in normal form; empty for a call over REST, which names its server. */
  readonly path: string
  /** The group of the path; absent where a server was called. */
  readonly group?: Pick<GroupRecord, 'id' | 'name' | 'ownerId' | 'ownerName'>
  readonly server: Pick<ServerRecord, 'id' | 'name' | 'ownerId' | 'ownerName'>
  /** Tags of the group, and of the server. */
  readonly tags: { readonly group: readonly string[]; readonly server: readonly string[] }
  /** By the server's own name. `hash`: of its definition, empty for a tool that is not listed. */
  readonly tool: { readonly name: string; readonly hash: string; readonly annotations: JsonObject }
  /** The name by which it was called. */
  readonly called: string
  /** As the server will get them, with pinned values and after content filters. Variables of the server are not filled in. */
  readonly arguments: JsonObject
  /** The same without pinned values, for those who may know no more than the caller. */
  readonly given: JsonObject
  readonly client: { readonly name?: string; readonly version?: string; readonly address: string }
  /** The kinds of elicitation that the client can show. */
  readonly elicitation: Readonly<Record<'form' | 'url', boolean>>
  /** The client gets a question as the answer to its request and sends the call again, so that no request waits (MCP 2026-07-28). */
  readonly sendsAgain: boolean
  /** Aborted when the caller cancels the call, leaves, or loses its rights. */
  readonly signal: AbortSignal
  /** Sends progress with a message to a caller that asked for it. */
  progress(message: string): void
}

/** The client's answer to an elicitation. */
export interface ElicitationAnswer {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content: JsonObject
}

/** The call is not sent. MCP clients get a result with `isError`, which the model reads; callers over REST get the error. */
export interface Denial {
  readonly denied: HubError
}

/** The client is sent `elicitation/create` with these parameters. */
export interface Question {
  readonly elicitation: JsonObject
  /** Withdraws the question. */
  readonly signal?: AbortSignal
  /** Undefined: the client could not be asked, or the question was withdrawn. */
  answered(answer: ElicitationAnswer | undefined): Decision | Promise<Decision>
}

export type Decision = 'pass' | Denial | Question

/** The end of a call that the gate has let pass. */
export interface GatedEnd {
  /** False when another gate or the hub itself refused it, or it was cancelled before it was sent. */
  readonly sent: boolean
  /** The server has not finished: it wants input, and the client sends the same call again. */
  readonly sentAgain: boolean
  readonly failed: boolean
  /** Characters of the result's text. */
  readonly resultCharacters: number
  /** The server has made a task of the call, whose client asks for its result: `task` of the gate is called. */
  readonly task: boolean
}

/**
 * The end of a call that became a task of its client. `over`: it does not run any more, as far as the hub knows: its server, its time
 * or its connection has ended it, or its client has not asked for it for ten minutes. `result`: the client got it, in most cases after that.
 */
export type TaskEvent =
  | { readonly kind: 'over' }
  | { readonly kind: 'result'; readonly failed: boolean; readonly resultCharacters: number }

/**
 * Decides whether a tools/call is sent to its server. Gates are asked in their order, each once the one before has let the call
 * pass. When a decision has taken time, rights and the tool's definition are checked again; if tool or arguments are others by
 * now, all gates are asked again. A gate that throws refuses the call with its error.
 */
export interface CallGate {
  /** Lower is asked first. Default 0. */
  readonly order?: number
  /** False while it would let every call pass: it is not asked then, and `ended` is not called. Default true. */
  readonly active?: boolean
  decide(call: GatedCall): Decision | Promise<Decision>
  /** Called once for each call that it let pass. */
  ended?(call: GatedCall, end: GatedEnd): void
  /**
   * Called after `ended` for a call that became a task of its client. The function that it returns is called once when the task is
   * over, and at most once with its result. The hub keeps it as long as the task, so it must not hold the call with its arguments.
   */
  task?(call: GatedCall): (event: TaskEvent) => void
}
