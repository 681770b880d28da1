import { problemOf, segment, send } from '../../api/client.ts'
import { eventsOf, McpSession, RpcError } from '../../api/mcp.ts'
import { ApiError, asApiError } from '../../api/problem.ts'
import { refOf } from '../../api/servers.ts'
import type { GroupRecord, ServerRecord } from '../../api/types.ts'

/** The server or group at whose address tools are called. */
export interface CallTarget {
  readonly kind: 'server' | 'group'
  readonly owner: string
  readonly name: string
  readonly ref?: string
  /** The transport of a server. */
  readonly transport?: string
}

/** Outcome of a call. `upstream`: the server failed or was not available; `hub`: the hub rejected it. */
export type Outcome =
  | { readonly kind: 'result'; readonly result: ToolResult; readonly text: string }
  | { readonly kind: 'rpc'; readonly code: number; readonly message: string; readonly data: unknown }
  | { readonly kind: 'upstream' | 'hub'; readonly error: ApiError }
  | { readonly kind: 'cancelled' }

/** A tool's result, as far as the console shows it. */
export interface ToolResult {
  readonly content?: readonly Readonly<Record<string, unknown>>[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly [field: string]: unknown
}

/** Progress of a call. */
export interface Progress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/** A request of the server that waits for an answer. */
export interface Question {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  readonly answer: (result: unknown) => void
  readonly refuse: (reason: string) => void
}

/** One call and all that is known of it. */
export interface Run {
  readonly id: number
  readonly tool: string
  readonly input: unknown
  readonly startedMs: number
  durationMs?: number
  requestId?: string
  progress?: Progress
  /** The newest first, at most 100. */
  notifications: readonly { readonly atMs: number; readonly text: string }[]
  question?: Question | undefined
  outcome?: Outcome
}

const MOST_NOTIFICATIONS = 100
let runs = 0

/** Calls a tool and calls `changed` with every news; `abort` cancels it at the server. Never rejects. */
export function startCall(
  target: CallTarget,
  tool: string,
  input: unknown,
  changed: (run: Run) => void,
  asClient: boolean,
): { readonly run: Run; readonly abort: () => void } {
  const run: Run = { id: ++runs, tool, input, startedMs: Date.now(), notifications: [] }
  const cancel = new AbortController()
  const began = performance.now()
  const perform = asClient ? callAsClient : callByApi
  void perform(target, run, cancel.signal, () => changed(run))
    .catch(error => outcomeOf(error, cancel.signal))
    .then(outcome => {
      run.outcome = outcome
      run.durationMs ??= Math.round(performance.now() - began)
      run.question = undefined
      changed(run)
    })
  return { run, abort: () => cancel.abort() }
}

/**
 * True when calls use MCP, by which the server can send requests and notifications. Tools of HTTP APIs send neither, and their
 * failures are results there. False if a group of the same owner and name has the server's address.
 */
export function canBeClient(
  server: Pick<ServerRecord, 'transport' | 'owner' | 'name'>,
  groups: readonly GroupRecord[] | undefined,
): boolean {
  if (server.transport === 'openapi' || groups === undefined) return false
  return !groups.some(({ owner, name }) => owner === server.owner && name === server.name)
}

function outcomeOf(error: unknown, signal: AbortSignal): Outcome {
  if (signal.aborted) return { kind: 'cancelled' }
  if (error instanceof RpcError) return { kind: 'rpc', code: error.code, message: error.message, data: error.data }
  const problem = asApiError(error)
  return { kind: UPSTREAM_FAULT.test(problem.code) ? 'upstream' : 'hub', error: problem }
}

/** Codes of errors of a server that failed or is not available; all others are rejections by the hub. */
const UPSTREAM_FAULT =
  /^(upstream_.*|connection_lost|server_offline|stopped|idle|authorization_required|crash_loop|command_not_found|command_not_executable|cwd_not_found|spawn_failed|sandbox_lost|redirect_blocked|result_too_large)$/

async function callByApi(target: CallTarget, run: Run, signal: AbortSignal, changed: () => void): Promise<Outcome> {
  const path = toolPath(target, run.tool)
  const headers = { accept: 'text/event-stream' }
  const response = await send('POST', path, { body: { arguments: run.input ?? {} }, headers, signal })
  if (!response.ok) throw await problemOf(response)
  note(run, response.headers.get('x-request-id') ?? undefined, changed)
  for await (const { event, data } of eventsOf(response)) {
    if (event === 'progress') {
      run.progress = JSON.parse(data) as Progress
      changed()
    } else if (event === 'result' || event === 'error') return finished(run, event, data)
  }
  throw new ApiError(502, { code: 'connection_lost', detail: 'The connection ended before the answer came' })
}

function finished(run: Run, event: string, data: string): Outcome {
  const body = JSON.parse(data) as {
    readonly result?: ToolResult
    readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
    readonly durationMs?: number
    readonly status?: number
  }
  if (body.durationMs !== undefined) run.durationMs = body.durationMs
  if (event === 'error') {
    const error = new ApiError(body.status ?? 500, body as Record<string, unknown>)
    return { kind: UPSTREAM_FAULT.test(error.code) ? 'upstream' : 'hub', error }
  }
  if (body.error) return { kind: 'rpc', code: body.error.code, message: body.error.message, data: body.error.data }
  return { kind: 'result', result: body.result ?? {}, text: data }
}

function note(run: Run, requestId: string | undefined, changed: () => void): void {
  if (requestId === undefined) return
  run.requestId = requestId
  changed()
}

async function callAsClient(target: CallTarget, run: Run, signal: AbortSignal, changed: () => void): Promise<Outcome> {
  const session = new McpSession(target.owner, target.name, {
    notification: (method, params) => {
      if (method === 'notifications/progress') run.progress = params as unknown as Progress
      else if (method === 'notifications/message') noteMessage(run, params)
      else return
      changed()
    },
    request: (method, params) =>
      new Promise((resolve, reject) => {
        const done = (): void => {
          run.question = undefined
          changed()
        }
        run.question = {
          method,
          params,
          answer: result => {
            done()
            resolve(result)
          },
          refuse: reason => {
            done()
            reject(new Error(reason))
          },
        }
        changed()
      }),
  })
  try {
    await session.open()
    signal.throwIfAborted()
    const params = { name: run.tool, arguments: run.input ?? {}, _meta: { progressToken: run.id } }
    const started = (requestId: string | undefined): void => note(run, requestId, changed)
    const result = (await session.request('tools/call', params, { signal, started })) as ToolResult
    return { kind: 'result', result, text: JSON.stringify(result) }
  } finally {
    // A cancelled call must reach the server before its session ends.
    setTimeout(() => session.close(), signal.aborted ? 1000 : 0)
  }
}

function noteMessage(run: Run, { data, logger }: Readonly<Record<string, unknown>>): void {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  const entry = { atMs: Date.now(), text: `${typeof logger === 'string' ? `${logger}: ` : ''}${text.slice(0, 2000)}` }
  run.notifications = [entry, ...run.notifications].slice(0, MOST_NOTIFICATIONS)
}

/** The same call for a shell; the key is a variable, so that it is not copied. */
export function curlOf(target: CallTarget, tool: string, input: unknown): string {
  const url = `${location.origin}${document.documentElement.dataset.base ?? ''}${toolPath(target, tool)}`
  const body = target.kind === 'group' ? (input ?? {}) : { arguments: input ?? {} }
  const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`
  return [
    `curl -X POST ${quoted(url)}`,
    `  -H "Authorization: Bearer $PATCHBAY_TOKEN"`,
    `  -H 'Content-Type: application/json'`,
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join(' \\\n')
}

/** The route that calls a tool; the body of a server's has the arguments in `arguments`, a group's is the arguments. */
function toolPath({ kind, ...record }: CallTarget, tool: string): string {
  const path = `/api/${kind}s/${segment(refOf(record))}/tools/${segment(tool)}`
  return kind === 'group' ? path : `${path}/call`
}
