import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import type { Client } from './client.ts'
import { until } from './wait.ts'

export interface Status {
  readonly eras?: readonly string[]
  readonly connections?: { readonly shared: number; readonly session: number }
  readonly state: 'online' | 'connecting' | 'offline'
  readonly since: string
  readonly reason?: { readonly code: string; readonly message: string }
  readonly pid?: number
  readonly nextAttemptAt?: string
  readonly starting?: { readonly forMs: number; readonly line?: string }
  readonly transport?: string
  readonly session?: { readonly probing?: true; readonly kind: string }
  readonly counts: { readonly tools: number; readonly prompts: number; readonly resources: number }
}

export async function statusOf(client: Client, ref: string): Promise<Status> {
  return (await client.ok('GET', `/api/servers/${encodeURIComponent(ref)}`)).status
}

/** Time for which tests wait for checks of servers, in milliseconds; a longer one does not belong to the test. */
const LOOK_MS = 5_000

/** True when it is online, and not only because the time for its first lists was over: on a stalled machine they arrive later. */
function isOnline({ state, reason }: Status): boolean {
  return state === 'online' && reason?.code !== 'upstream_timeout'
}

/** Waits until these servers are online with their lists and were checked, with one request at a time. */
export async function online(client: Client, refs: readonly string[], timeoutMs = 60_000): Promise<void> {
  for (const ref of refs) {
    await until(async () => isOnline(await statusOf(client, ref)), {
      timeoutMs,
      intervalMs: 50,
      what: `server "${ref}" to be online`,
    })
  }
  // The processes and connections of looks would be in the way of tests that count such.
  const endMs = performance.now() + LOOK_MS
  for (const ref of refs)
    await until(async () => performance.now() > endMs || !(await statusOf(client, ref)).session?.probing, {
      timeoutMs: LOOK_MS * 2,
      what: `server "${ref}" to be looked at`,
    })
}

/** The text of the first content block. A result with `isError` throws. */
export async function callText(client: McpClient, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const result = await client.callTool({ name, arguments: args })
  const [block] = result.content as { readonly text?: string }[]
  if (result.isError) throw new Error(`${name} failed: ${block?.text}`)
  return block?.text ?? ''
}

/** Waits until the hub has all begun calls of this user, through any endpoint. */
export async function inFlight(client: Client, calls = 1): Promise<void> {
  await until(
    async () => {
      const { items } = await client.ok('GET', '/api/limits')
      const limit = items.find(({ name }: { readonly name: string }) => name === 'callsPerUser')
      return limit.used >= calls
    },
    { intervalMs: 50, what: `${calls} calls in flight` },
  )
}

/**
 * Waits until the call that was just begun has reached its server. Two requests of one client may arrive in any order; when the
 * hub has the first, the server reads it before later ones. `quick`: a tool of that server that answers at once.
 */
export async function atWork(admin: Client, client: McpClient, quick = 'quick'): Promise<void> {
  await until(
    async () => {
      const { items } = await admin.ok('GET', '/api/admin/sessions')
      return items.some((session: { readonly callsInFlight: number }) => session.callsInFlight > 0)
    },
    { what: 'a call in flight' },
  )
  await callText(client, quick)
}

export interface RpcFailure {
  readonly code: number
  readonly message: string
  readonly data?: { readonly code?: string; readonly requestId?: string; readonly retryAfter?: number }
}

/** The JSON-RPC error that the work ends with. */
export async function failureOf(work: Promise<unknown>): Promise<RpcFailure> {
  const outcome = await work.then(
    value => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in outcome) return outcome.error as RpcFailure
  throw new Error(`Expected an error and got ${JSON.stringify(outcome.value)}`)
}

/** The names of all tools that a client sees, page after page. */
export async function toolNames(client: McpClient): Promise<string[]> {
  const names: string[] = []
  let cursor: string | undefined
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor })
    names.push(...page.tools.map(tool => tool.name))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return names
}

/** Tools as a client of one server sees them: one that must be a task may be called directly, since the hub creates the task. */
export function throughHub<Tool extends { readonly execution?: object | undefined }>(tools: readonly Tool[]): Tool[] {
  return tools.map(tool =>
    tool.execution && 'taskSupport' in tool.execution && tool.execution.taskSupport === 'required'
      ? { ...tool, execution: { ...tool.execution, taskSupport: 'optional' } }
      : tool,
  )
}
