/**
 * Stdio: has resources that can be subscribed to, and floods with notifications when `flood` is called; `mode` selects them:
 * `updates` (of one subscribed resource), `others` (of resources without subscribers), `lists` (all lists changed),
 * `elicitations` (completions of unknown ones), `progress` (of unknown calls), `logs`, or `all`. `burst` sends updates with
 * these params and answers.
 */
import { handleBasics, onMessages, say, sendResult, sendText, tool } from './lines.ts'

const TOOLS = [
  tool('flood', 'Floods from now on', { mode: { type: 'string' } }),
  tool('calm', 'Floods no more'),
  tool('burst', 'Sends these updates', { updates: { type: 'array' } }),
]
const URI = 'test://resource'
const RESOURCES = [{ uri: URI, name: 'resource' }]
const AT_ONCE = 50

const NOTICES: Record<string, (count: number) => [method: string, params?: object][]> = {
  updates: () => [['resources/updated', { uri: URI }]],
  others: count => [['resources/updated', { uri: `test://nobody/${count}` }]],
  lists: () => [['tools/list_changed'], ['resources/list_changed'], ['prompts/list_changed']],
  elicitations: count => [['elicitation/complete', { elicitationId: `unknown-${count}` }]],
  logs: () => [['message', { level: 'info', data: 'x'.repeat(200) }]],
  progress: count => [['progress', { progressToken: `unknown-${count}`, progress: count }]],
}

function line([method, params]: readonly [string, object?]): string {
  return JSON.stringify({ jsonrpc: '2.0', method: `notifications/${method}`, ...(params ? { params } : {}) })
}

let count = 0
let turn = 0

function flood(mode: string): void {
  const modes = mode === 'all' ? Object.keys(NOTICES) : [mode]
  turn += 1
  const mine = turn
  const push = (): void => {
    if (mine !== turn) return
    const lines: string[] = []
    for (let n = 0; n < AT_ONCE; n += 1) {
      count += 1
      for (const each of modes) lines.push(...(NOTICES[each]?.(count) ?? []).map(line))
    }
    say(lines.join('\n'))
    setImmediate(push)
  }
  push()
}

onMessages(message => {
  const { id, method, params } = message
  if (method === 'initialize') {
    const capabilities = {
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      logging: {},
    }
    const serverInfo = { name: 'announcing', version: '1.0.0' }
    sendResult(id, { protocolVersion: params?.protocolVersion ?? '2025-11-25', capabilities, serverInfo })
  } else if (method === 'resources/list') sendResult(id, { resources: RESOURCES })
  else if (method === 'resources/templates/list') sendResult(id, { resourceTemplates: [] })
  else if (method === 'prompts/list') sendResult(id, { prompts: [] })
  else if (method?.startsWith('resources/') || method === 'logging/setLevel') sendResult(id, {})
  else if (!handleBasics(message, 'announcing', TOOLS)) {
    const { name, arguments: args } = params
    if (name === 'flood') flood(args.mode)
    if (name === 'calm') turn += 1
    if (name === 'burst') for (const update of args.updates) say(line(['resources/updated', update]))
    sendText(id, name)
  }
})
