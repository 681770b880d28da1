/**
 * A server of 2025-11-25 over stdio with a user interface (MCP Apps): `show` has the view `ui://board/page.html`, which calls
 * `refresh` by its own name. Tools with a view are listed only to clients that declare the extension, as its specification says.
 * `NAME` is in all answers.
 */
import { createInterface } from 'node:readline'

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: {
    readonly name?: string
    readonly uri?: string
    readonly capabilities?: { readonly extensions?: Readonly<Record<string, unknown>> }
  }
}

const NAME = process.env.NAME ?? 'apps'
const MIME = process.env.MIME ?? 'text/html;profile=mcp-app'
const EXTENSION = 'io.modelcontextprotocol/ui'
const PAGE = 'ui://board/page.html'
/** Passed on unchanged by whatever is between server and client. */
const UI = { csp: { connectDomains: ['https://example.com'] }, permissions: { camera: {} }, prefersBorder: true }
let apps: unknown

const tool = (name: string, _meta?: object): object => ({
  name,
  inputSchema: { type: 'object' },
  ...(_meta ? { _meta } : {}),
})

const VIEW_TOOLS = [
  tool('show', { ui: { resourceUri: PAGE }, 'ui/resourceUri': PAGE, 'openai/outputTemplate': PAGE }),
  tool('refresh', { ui: { visibility: ['app'] } }),
  tool('advise', { ui: { visibility: ['model'] } }),
]
const PLAIN_TOOLS = [tool(`declared_${NAME}`), tool('private', { 'openai/visibility': 'private' })]

/** A view without any library: it shows what its own tool answers. */
const HTML = `<!doctype html><title>${NAME}</title><p id="said">waiting</p><script>
const send = message => parent.postMessage({ jsonrpc: '2.0', ...message }, '*')
const show = text => { document.getElementById('said').textContent = text }
addEventListener('message', ({ data }) => {
  if (data.id === 1) {
    send({ method: 'ui/notifications/initialized', params: {} })
    send({ id: 2, method: 'tools/call', params: { name: 'refresh', arguments: {} } })
  }
  if (data.id === 2) show(data.result ? data.result.content[0].text : data.error.message)
})
const appInfo = { name: '${NAME}', version: '1.0.0' }
send({ id: 1, method: 'ui/initialize', params: { appInfo, appCapabilities: {}, protocolVersion: '2026-01-26' } })
</script>`

function called(name: string): object {
  const text = { type: 'text', text: name.startsWith('declared') ? JSON.stringify(apps ?? null) : `${NAME} ${name}` }
  if (name !== 'show') return { content: [text] }
  const link = { type: 'resource_link', name: 'page', uri: PAGE }
  return { content: [text, link], structuredContent: { uri: PAGE }, _meta: { ui: { resourceUri: PAGE } } }
}

function read(uri: string): object {
  return { contents: [{ uri, mimeType: MIME, text: uri === PAGE ? HTML : `${NAME} ${uri}`, _meta: { ui: UI } }] }
}

function answer({ method, params }: Message): object | undefined {
  switch (method) {
    case 'initialize': {
      apps = params?.capabilities?.extensions?.[EXTENSION]
      const extensions = { [EXTENSION]: { mimeTypes: [MIME, 'text/x-common'], name: NAME } }
      const capabilities = { tools: {}, resources: {}, extensions }
      return { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: NAME, version: '1' } }
    }
    case 'tools/list':
      return { tools: apps ? [...VIEW_TOOLS, ...PLAIN_TOOLS] : PLAIN_TOOLS }
    case 'tools/call':
      return called(params?.name ?? '')
    case 'resources/list':
      return { resources: [{ uri: PAGE, name: 'page', mimeType: MIME, _meta: { ui: UI } }] }
    case 'resources/templates/list':
      return { resourceTemplates: [{ uriTemplate: 'ui://board/{id}/part.html', name: 'part', mimeType: MIME }] }
    case 'resources/read':
      return read(params?.uri ?? '')
    case 'ping':
      return {}
    default:
      return undefined
  }
}

createInterface({ input: process.stdin }).on('line', line => {
  const message = JSON.parse(line) as Message
  if (message.id === undefined) return
  const result = answer(message)
  const reply = result ? { result } : { error: { code: -32601, message: 'no such method' } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...reply })}\n`)
})
