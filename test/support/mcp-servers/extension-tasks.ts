/**
 * A server of 2026-07-28 made with the official package of version 2, with the tasks extension: its tools are those that the
 * conformance suite asks of such a server, `odd_job` ends as its argument `end` describes it, `failing_job` cannot be called without a task, and `seen` lists what was asked of each
 * task. `WIRE=stdio` speaks over the standard streams; else `PORT` (0 takes a free one) is served and printed as `listening on
 * URL`. With `TASKS_FILE`, tasks are kept in that file, so that they outlive the process. `POLL` is the poll interval (100).
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  inputRequired,
  inputResponse,
  ProtocolError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const EXTENSION = 'io.modelcontextprotocol/tasks'
const file = process.env.TASKS_FILE

interface Kept {
  readonly tool: string
  readonly createdAt: string
  readonly ttlMs: number
  readonly endsAtMs: number
  readonly result?: object
  readonly error?: object
  readonly label: string
  /** Members that replace those of the description. */
  readonly odd?: object
  questions: Record<string, object>
  answers: Record<string, { readonly content?: Record<string, unknown> }>
  cancelled?: boolean
}

const kept: Record<string, Kept> = file && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
const seen: string[] = []

function keep(): void {
  if (file) writeFileSync(file, JSON.stringify(kept))
}

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] })

function question(message: string, property: string, type: 'boolean' | 'string'): object {
  const requestedSchema = { type: 'object', properties: { [property]: { type } }, required: [property] }
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } }
}

function create(tool: string, seconds: number, more: Partial<Kept> = {}) {
  const id = `task-${Object.keys(kept).length + 1}`
  const now = Date.now()
  kept[id] = {
    ...{ tool, createdAt: new Date(now).toISOString(), ttlMs: 60_000, endsAtMs: now + seconds * 1_000, label: '' },
    ...{ questions: {}, answers: {}, ...more },
  }
  keep()
  const { result: _, error: __, inputRequests: ___, ...task } = described(id)
  return { ...task, resultType: 'task' }
}

function described(id: string): Record<string, unknown> {
  const task = kept[id]
  if (!task) throw new ProtocolError(-32602, 'Failed to retrieve task: Task not found')
  const common = {
    ...{ resultType: 'complete', taskId: id, createdAt: task.createdAt, lastUpdatedAt: new Date().toISOString() },
    ...{ ttlMs: task.ttlMs, pollIntervalMs: Number(process.env.POLL ?? 100) },
  }
  if (task.odd) return { ...common, ...task.odd }
  const open = Object.keys(task.questions).filter(key => !task.answers[key])
  if (task.cancelled) return { ...common, status: 'cancelled' }
  if (open.length > 0) {
    const inputRequests = Object.fromEntries(open.map(key => [key, task.questions[key]]))
    return { ...common, status: 'input_required', statusMessage: 'asks', inputRequests }
  }
  if (Date.now() < task.endsAtMs) return { ...common, status: 'working', statusMessage: `works on ${task.label}` }
  if (task.error) return { ...common, status: 'failed', statusMessage: 'it broke', error: task.error }
  const answers = Object.values(task.answers).map(({ content }) => JSON.stringify(content ?? null))
  const said = answers.length > 0 ? text(`answered ${answers.join(' ')}`) : text(`${task.tool} ${task.label} done`)
  return { ...common, status: 'completed', result: task.result ?? said }
}

const TOOLS: Record<string, object> = {
  greet: { name: { type: 'string' } },
  slow_compute: { seconds: { type: 'number' }, label: { type: 'string' } },
  failing_job: {},
  protocol_error_job: {},
  confirm_delete: { filename: { type: 'string' } },
  multi_input: {},
  linked: {},
  odd_job: { end: { type: 'object' } },
  test_tool_with_task: {},
  seen: {},
}

interface Arguments {
  readonly name?: string
  readonly seconds?: number
  readonly label?: string
  readonly filename?: string
  readonly end?: object
}

function call(name: string, given: Arguments, ctx: ServerContext): object {
  const declared = declares(ctx)
  switch (name) {
    case 'greet':
      return text(`Hello, ${given.name}!`)
    case 'seen':
      return text(JSON.stringify(seen))
    case 'slow_compute':
      if (!declared) return text('computed at once')
      return create(name, given.seconds ?? 0, { label: given.label ?? '' })
    case 'failing_job':
      if (!declared)
        throw new ProtocolError(-32021, 'Missing required client capability', {
          requiredCapabilities: { extensions: { [EXTENSION]: {} } },
        })
      return create(name, 0.3, { result: { ...text('the job failed'), isError: true } })
    case 'protocol_error_job':
      return create(name, 0.1, { error: { code: -32603, message: 'the job broke' } })
    case 'confirm_delete':
      return create(name, 0, { questions: { confirm: question(`Delete ${given.filename}?`, 'confirm', 'boolean') } })
    case 'multi_input':
      return create(name, 0, {
        questions: { one: question('First?', 'first', 'string'), two: question('Second?', 'second', 'string') },
      })
    case 'odd_job':
      return { ...create(name, 0, { odd: given.end ?? {} }), status: 'working' }
    case 'linked': {
      const link = { type: 'resource_link', uri: 'notes://one', name: 'one' }
      return create(name, 0, { result: { content: [link], structuredContent: null } })
    }
    case 'test_tool_with_task': {
      const view = inputResponse(ctx.mcpReq.inputResponses, 'user_name')
      if (view.kind === 'elicit')
        return create(name, 0, { label: `for ${String((view.content as { name?: unknown } | undefined)?.name)}` })
      const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } }
      return inputRequired({
        inputRequests: { user_name: inputRequired.elicit({ message: 'Who?', requestedSchema }) },
      })
    }
    default:
      throw new ProtocolError(-32602, `There is no tool ${name}`)
  }
}

function declares(ctx: ServerContext): boolean {
  const envelope = ctx.mcpReq.envelope as Record<string, { extensions?: object } | undefined> | undefined
  return Object.hasOwn(envelope?.[CLIENT_CAPABILITIES_META_KEY]?.extensions ?? {}, EXTENSION)
}

function requireDeclared(ctx: ServerContext): void {
  if (declares(ctx)) return
  const data = { requiredCapabilities: { extensions: { [EXTENSION]: {} } } }
  throw new ProtocolError(-32021, 'Missing required client capability', data)
}

const ofTask = z.looseObject({ taskId: z.string() })

function build(): Server {
  const capabilities = { tools: {}, resources: {}, extensions: { [EXTENSION]: {} } }
  const server = new Server({ name: 'extension-tasks', version: '1.0.0' }, { capabilities })
  server.setRequestHandler('tools/list', () => ({
    tools: Object.entries(TOOLS).map(([name, properties]) => ({
      name,
      inputSchema: { type: 'object' as const, properties: properties as Record<string, { type: string }> },
    })),
  }))
  server.setRequestHandler('resources/list', () => ({ resources: [{ uri: 'notes://one', name: 'one' }] }))
  server.setRequestHandler(
    'tools/call',
    ({ params }, ctx) => call(params.name, (params.arguments ?? {}) as Arguments, ctx) as ReturnType<typeof text>,
  )
  server.setRequestHandler('tasks/get', { params: ofTask }, ({ taskId }, ctx) => {
    requireDeclared(ctx)
    seen.push(`get ${taskId}`)
    return described(taskId)
  })
  server.setRequestHandler('tasks/cancel', { params: ofTask }, ({ taskId }, ctx) => {
    requireDeclared(ctx)
    seen.push(`cancel ${taskId}`)
    described(taskId)
    const task = kept[taskId]
    if (task) task.cancelled = true
    keep()
    return {}
  })
  server.setRequestHandler('tasks/update', { params: ofTask }, ({ taskId }, ctx) => {
    requireDeclared(ctx)
    // The package takes them out of the parameters of every request.
    const inputResponses = (ctx.mcpReq.inputResponses ?? {}) as Kept['answers']
    seen.push(`update ${taskId} ${Object.keys(inputResponses).join(' ')}`)
    described(taskId)
    const task = kept[taskId]
    for (const [key, answer] of Object.entries(inputResponses)) if (task?.questions[key]) task.answers[key] = answer
    keep()
    return {}
  })
  return server
}

if (process.env.WIRE === 'stdio') serveStdio(() => build())
else {
  const handler = createMcpHandler(() => build(), { legacy: 'reject' })
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: Number(process.env.PORT ?? 0),
    fetch(request, serving) {
      serving.timeout(request, 0)
      return handler.fetch(request)
    },
  })
  console.log(`listening on http://127.0.0.1:${server.port}/mcp`)
}
