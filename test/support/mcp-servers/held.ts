/**
 * Stdio without an SDK, so that it starts quickly: `held` answers with its key once `url` has answered, `key` at once with the
 * variable KEY, `folders` with the roots that its client told it, or `everything` before. A client with roots is asked for them
 * after `initialized` and when they have changed, unless ASKS is `never`; they are looked at for `TAKES` milliseconds.
 * With BUSY, it does nothing for that many milliseconds before it asks. PORT is bound before the start. `touch` tells
 * of the resource `held:///it`, where that is subscribed to.
 */
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'

const { KEY = 'none', PORT, TAKES = '5', ASKS, BUSY } = process.env
let folders: unknown = 'everything'
let hasRoots = false
let asked = 0
let isSubscribed = false

const say = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] })

function askRoots(): void {
  asked += 1
  if (hasRoots && BUSY) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(BUSY))
  if (hasRoots && ASKS !== 'never') say({ id: `roots-${asked}`, method: 'roots/list' })
}

const IT = 'held:///it'
const TOOLS = [
  { name: 'held', inputSchema: { type: 'object', properties: { url: { type: 'string' } } } },
  { name: 'key', inputSchema: { type: 'object' } },
  { name: 'folders', inputSchema: { type: 'object' } },
  { name: 'touch', inputSchema: { type: 'object' } },
]

interface Params {
  readonly protocolVersion?: string
  readonly capabilities?: { readonly roots?: object }
  readonly name?: string
  readonly arguments?: { readonly url?: string }
}

async function answer(method: string, params: Params): Promise<object> {
  if (method === 'initialize') {
    hasRoots = params.capabilities?.roots !== undefined
    const { protocolVersion } = params
    return {
      protocolVersion,
      capabilities: { tools: {}, resources: { subscribe: true } },
      serverInfo: { name: 'held', version: '1' },
    }
  }
  if (method === 'tools/list') return { tools: TOOLS }
  if (method === 'resources/list') return { resources: [{ name: 'it', uri: IT }] }
  if (method === 'resources/subscribe') isSubscribed = true
  if (method !== 'tools/call') return {}
  if (params.name === 'touch' && isSubscribed) say({ method: 'notifications/resources/updated', params: { uri: IT } })
  if (params.name === 'folders') return text(folders)
  if (params.name === 'held') await fetch(params.arguments?.url ?? '')
  return text(KEY)
}

function serve(): void {
  createInterface({ input: process.stdin }).on('line', line => {
    const { id, method, params, result } = JSON.parse(line)
    if (method === 'notifications/initialized' || method === 'notifications/roots/list_changed') askRoots()
    else if (id !== undefined && method !== undefined)
      void answer(method, params ?? {}).then(answered => say({ id, result: answered }))
    else if (result?.roots)
      setTimeout(() => {
        folders = result.roots.map(({ uri }: { uri: string }) => uri)
      }, Number(TAKES))
  })
}

if (PORT === undefined) serve()
else
  createServer()
    .on('error', () => {
      console.error('the port is taken')
      process.exit(4)
    })
    .listen(Number(PORT), '127.0.0.1', serve)
