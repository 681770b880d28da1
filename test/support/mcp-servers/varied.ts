/**
 * Stdio: a server whose lists, answers and notices the test decides.
 * Environment: NAME (its name, `varied`), TOOLS (so many extra tools `tool_0001`…), PAGE (items a page), DESCRIPTION (characters of
 * each extra tool), NAMES (JSON list of further tools), PROMPTS and RESOURCES (JSON lists of names, of URIs),
 * TEMPLATES (JSON list of URI templates), CAPABILITIES (JSON, beside what the lists imply), SCHEMA (JSON text of one more property of
 * the schema of `name`, as it is written), INSTRUCTIONS.
 *
 * Tools: `raw` answers with its arguments as they were written on the wire, after a log message, or with an error, that has them too if
 * `how` is `log` or `error`; `big` with `bytes` bytes of text; `emit` sends `count`
 * progress notices or, with `log`, log messages of that level, `gapMs` apart, and then answers; `say` sends any notification;
 * `ask` sends the client a request and answers with what it answered; `seen` lists the methods and parameters that came; `link` answers with a link to `uri`.
 */
import { type Message, onMessages, say, sendError, sendResult, sendText, tool } from './lines.ts'

const { env } = process
const list = <T>(text: string | undefined): T[] => JSON.parse(text ?? '[]')
const name = env.NAME ?? 'varied'
const page = Number(env.PAGE ?? 1_000_000)
const names = list<string>(env.NAMES)
const extra = Array.from({ length: Number(env.TOOLS ?? 0) }, (_, index) =>
  tool(`tool_${String(index + 1).padStart(4, '0')}`, `${name} ${'d'.repeat(Number(env.DESCRIPTION ?? 0))}`),
)
const own = env.TOOLS === undefined ? ['raw', 'big', 'emit', 'say', 'ask', 'seen', 'link', 'name'] : []
const named = (each: string) => tool(each, `${each} of ${name}`, each === 'name' ? { it: 'SCHEMA' as never } : {})
const lists: Record<string, object[]> = {
  'tools/list': [...own, ...names].map(named).concat(extra),
  'prompts/list': list<string>(env.PROMPTS).map(each => ({ name: each })),
  'resources/list': list<string>(env.RESOURCES).map(uri => ({ uri, name: uri })),
  'resources/templates/list': list<string>(env.TEMPLATES).map(uriTemplate => ({ uriTemplate, name: uriTemplate })),
}
const MEMBERS: Record<string, string> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
}
const seen: { readonly method: string; readonly params: unknown }[] = []
/** Lists that later answers give instead: `{"tools": […]}`. */
const replaced: Record<string, object[]> = {}

/** Callbacks that wait for the answers to this server's requests, in order. */
const waiting: ((answer: object) => void)[] = []

const notify = (method: string, params: object): void => say(JSON.stringify({ jsonrpc: '2.0', method, params }))

function answerList({ id, method = '', params }: Message): void {
  const member = MEMBERS[method] ?? ''
  const items = replaced[member] ?? lists[method] ?? []
  const from = Number(params?.cursor ?? 0)
  const next = from + page < items.length ? { nextCursor: String(from + page) } : {}
  const result = JSON.stringify({ [member]: items.slice(from, from + page), ...next })
  say(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result.replace('"SCHEMA"', env.SCHEMA ?? '{}')}}`)
}

async function emit({ id, params }: Message): Promise<void> {
  const { count = 3, gapMs = 0, log, text = '' } = params.arguments
  for (let index = 1; index <= count; index += 1) {
    const at = Date.now()
    if (log !== undefined) notify('notifications/message', { level: log, logger: name, data: { text, index, at } })
    else if (params._meta?.progressToken !== undefined)
      notify('notifications/progress', {
        progressToken: params._meta.progressToken,
        progress: index,
        total: count,
        message: JSON.stringify({ text, at }),
      })
    if (gapMs > 0) await Bun.sleep(gapMs)
  }
  sendText(id, text)
}

function call(message: Message, line: string): void {
  const { id, params } = message
  const args = params.arguments ?? {}
  switch (params.name) {
    case 'raw': {
      const written = line.slice(line.indexOf('"arguments":') + 12)
      if (args.how === 'error')
        return say(
          `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32099,"message":"as wanted","data":${whole(written)}}}`,
        )
      if (args.how === 'log')
        say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":${whole(written)}}}`)
      return say(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":${whole(written)}}}`,
      )
    }
    case 'big':
      return sendText(id, 'é'.repeat(args.bytes / 2))
    case 'emit':
      return void emit(message)
    case 'say':
      if (args.replace !== undefined) Object.assign(replaced, args.replace)
      notify(args.method, args.params ?? {})
      return sendText(id, 'said')
    case 'ask':
      waiting.push(answer => sendText(id, JSON.stringify(answer)))
      return say(JSON.stringify({ jsonrpc: '2.0', id: `ask ${waiting.length}`, method: args.method ?? 'ping' }))
    case 'seen':
      return sendText(id, JSON.stringify(seen))
    case 'link':
      return sendResult(id, { content: [{ type: 'resource_link', uri: args.uri ?? 'none:', name: 'linked' }] })
    default:
      return sendText(id, JSON.stringify({ server: name, tool: params.name }))
  }
}

/** The JSON object at the beginning of a text. */
function whole(text: string): string {
  let depth = 0
  let inText = false
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (inText) {
      if (char === '\\') at += 1
      else if (char === '"') inText = false
    } else if (char === '"') inText = true
    else if (char === '{' || char === '[') depth += 1
    else if (char === '}' || char === ']') {
      depth -= 1
      if (depth === 0) return text.slice(0, at + 1)
    }
  }
  return 'null'
}

onMessages((message, line) => {
  const { id, method, params } = message
  if (method !== undefined) seen.push({ method, params })
  if (id === undefined) return
  if (method === undefined) {
    const { result, error } = message
    return waiting[Number(String(id).slice(4)) - 1]?.({ id, ...(error ? { error: error.code } : { result }) })
  }
  if (method === 'initialize') {
    sendResult(id, {
      protocolVersion: params.protocolVersion,
      capabilities: {
        tools: { listChanged: true },
        ...(env.PROMPTS === undefined ? {} : { prompts: {} }),
        ...(env.RESOURCES === undefined && env.TEMPLATES === undefined ? {} : { resources: { subscribe: true } }),
        ...JSON.parse(env.CAPABILITIES ?? '{}'),
      },
      serverInfo: { name, version: '1.0.0' },
      ...(env.INSTRUCTIONS === undefined ? {} : { instructions: env.INSTRUCTIONS }),
    })
  } else if (method in MEMBERS) answerList(message)
  else if (method === 'tools/call') call(message, line)
  else if (method === 'prompts/get')
    sendResult(id, { messages: [{ role: 'user', content: { type: 'text', text: `${name} ${params.name}` } }] })
  else if (method === 'resources/read')
    sendResult(id, { contents: [{ uri: params.uri, text: `${name} ${params.uri}` }] })
  else if (method === 'completion/complete') sendResult(id, { completion: { values: [name] } })
  else if (['ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'].includes(method))
    sendResult(id, {})
  else sendError(id, -32601, `Method not found: ${method}`)
})
