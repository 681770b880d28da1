/**
 * A server of 2025-11-25 over stdio whose tool `required` is a task that ends after `polls` polls, `optional` may be one. Names
 * of tasks are `t-1`, `t-2` and so on. `seen` returns the requests for each task.
 */
import { createInterface } from 'node:readline'

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: {
    readonly name?: string
    readonly taskId?: string
    readonly task?: { readonly ttl?: number }
    readonly arguments?: { readonly polls?: number; readonly fail?: boolean }
  }
}

interface Task {
  readonly taskId: string
  status: string
  statusMessage: string
  readonly createdAt: string
  readonly lastUpdatedAt: string
  readonly ttl: number | null
  readonly pollInterval: number
}

const NOW = new Date().toISOString()
const tasks = new Map<string, { readonly task: Task; readonly polls: number; looks: number; readonly fail: boolean }>()
const seen: string[] = []

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

function text(value: string): object {
  return { content: [{ type: 'text', text: value }] }
}

const tool = (name: string, taskSupport?: string): object => ({
  name,
  inputSchema: { type: 'object' },
  ...(taskSupport ? { execution: { taskSupport } } : {}),
})

function create({ task: wish, arguments: given }: NonNullable<Message['params']>): object {
  const taskId = `t-${tasks.size + 1}`
  const task: Task = {
    ...{ taskId, status: 'working', statusMessage: 'begun', createdAt: NOW, lastUpdatedAt: NOW },
    ...{ ttl: wish?.ttl ?? null, pollInterval: 1 },
  }
  tasks.set(taskId, { task, polls: given?.polls ?? 1, looks: 0, fail: given?.fail ?? false })
  return { task }
}

function look(taskId: string): Task | undefined {
  const known = tasks.get(taskId)
  if (!known) return undefined
  const { task } = known
  known.looks += 1
  if (task.status !== 'working') return task
  task.statusMessage = `look ${known.looks}`
  if (known.looks < known.polls) return task
  task.status = known.fail ? 'failed' : 'completed'
  write({ method: 'notifications/tasks/status', params: task })
  return task
}

function answer({ id, method, params = {} }: Message): void {
  const { taskId = '' } = params
  const result = (value: object): void => write({ id, result: value })
  const error = (code: number, message: string): void => write({ id, error: { code, message } })
  if (method?.startsWith('tasks/')) seen.push(`${method} ${taskId}`)
  switch (method) {
    case 'initialize':
      return result({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
        serverInfo: { name: 'tasks', version: '1' },
      })
    case 'tools/list':
      return result({ tools: [tool('required', 'required'), tool('optional', 'optional'), tool('seen')] })
    case 'tools/call':
      if (params.name === 'seen') return result(text(JSON.stringify(seen)))
      if (params.task) return result(create(params))
      return params.name === 'required' ? error(-32601, 'a task is required') : result(text('without a task'))
    case 'tasks/get': {
      const task = look(taskId)
      return task ? result(task) : error(-32602, 'no such task')
    }
    case 'tasks/cancel': {
      const task = tasks.get(taskId)?.task
      if (task) task.status = 'cancelled'
      return task ? result(task) : error(-32602, 'no such task')
    }
    case 'tasks/list':
      return result({ tasks: [...tasks.values()].map(({ task }) => task) })
    case 'tasks/result': {
      const known = tasks.get(taskId)
      if (!known) return error(-32602, 'no such task')
      const _meta = { 'io.modelcontextprotocol/related-task': { taskId } }
      return result({ ...text(`result of ${taskId}`), _meta, ...(known.fail ? { isError: true } : {}) })
    }
    default:
      if (id !== undefined) result({})
  }
}

createInterface({ input: process.stdin }).on('line', line => answer(JSON.parse(line) as Message))
