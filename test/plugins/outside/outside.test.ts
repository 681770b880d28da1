import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, ROOT } from '../../support/hub.ts'
import { startOnline } from '../../support/online-hub.ts'
import { type Author, startAuthor } from '../../support/plugins/author.ts'
import { type Program, startProgram } from '../../support/program.ts'
import { callText, toolNames } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

const middleware = (mark: string) => `
import { definePlugin, isJsonObject } from 'patchbay/contract'
export default definePlugin({
  name: 'mark',
  contract: 1,
  setup(context) {
    context.contribute('mcpMiddleware', 'mark', {
      method: 'tools/call',
      timeoutMs: 1_000,
      onError: 'closed',
      async handle(message, next) {
        const result = await next(message)
        if (!isJsonObject(result) || !Array.isArray(result.content)) return result
        return { ...result, content: [...result.content, { type: 'text', text: '${mark}' }] }
      },
    })
    return undefined
  },
})
`
const headers = (version: string) => `
import { definePlugin } from 'patchbay/contract'
import type { HeaderProvider } from 'patchbay/features'
const provider: HeaderProvider = {
  async headersFor(server) {
    return { 'x-plugin': \`${version} \${server.transport}\` }
  },
}
export default definePlugin({
  name: 'keys',
  contract: 1,
  setup(context) {
    context.contribute('headerProvider', 'keys', provider)
    return undefined
  },
})
`
const tools = (name: string) => `
import { definePlugin } from 'patchbay/contract'
import type { ToolSet } from 'patchbay/features'
const set: ToolSet = {
  applies: ({ group }) => (group.name === 'g' ? 'beside' : undefined),
  tools: () => [{ name: '${name}', inputSchema: { type: 'object' } }, { name: 'again', inputSchema: { type: 'object' } }],
  inner: ({ tool, arguments: given }) => (tool === 'again' ? { tool: 'echo', arguments: given } : undefined),
  async call(call, scope) {
    const text = [call.tool, scope.actor.name, ...scope.tools.map(tool => tool.name)].join(' ')
    return { result: { content: [{ type: 'text', text }] } }
  },
}
export default definePlugin({
  name: 'own-tools',
  contract: 1,
  setup(context) {
    context.contribute('tools', 'own', set)
    return undefined
  },
})
`

const sink = (url: string, mark: string) => `
import { definePlugin } from 'patchbay/contract'
import type { LogSink } from 'patchbay/features'
const own: LogSink = {
  takes: 'lines',
  maxBatch: 50,
  async write(batch, signal) {
    const { status } = await fetch('${url}?${mark}', { method: 'POST', body: batch.join('\\n'), signal })
    if (status !== 200) throw new Error('answered ' + status)
    return { rejected: batch.filter(line => line.includes('no such tool')).length }
  },
}
export default definePlugin({
  name: 'own-sink',
  contract: 1,
  setup(context) {
    context.contribute('logSink', 'own', own)
    return undefined
  },
})
`

const logged: { readonly mark: string; readonly line: string }[] = []
let refusing = false
const collector = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    if (refusing) return new Response(null, { status: 503 })
    for (const line of (await request.text()).split('\n')) logged.push({ mark: new URL(request.url).search, line })
    return new Response()
  },
})

let author: Author
let upstream: Program
let hub: Hub
let admin: Client

beforeAll(async () => {
  author = await startAuthor()
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  const plugins = [
    { use: await author.write('mark.ts', middleware('one')) },
    { use: await author.write('keys.ts', headers('1')), isolate: false },
    { use: await author.write('own-tools.ts', tools('first')), isolate: false },
    { use: await author.write('own-sink.ts', sink(String(collector.url), 'one')) },
  ]
  const settings = { plugins, mcpServers: { far: { url: upstream.url } }, groups: [{ name: 'g', members: ['far'] }] }
  ;({ hub, admin } = await startOnline({ settings, env: LOOPBACK }))
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await upstream?.stop()
  await author?.[Symbol.asyncDispose]()
  await collector.stop(true)
}, 120_000)

const set = (name: string, enabled: boolean) => admin.ok('PATCH', `/api/admin/plugins/${name}`, { enabled })
/** Loads a new file of a running plugin. */
async function upgrade(name: string, source: string): Promise<void> {
  await author.write(`${name}.ts`, source)
  await set(name, false)
  expect(await set(name, true)).toMatchObject({ name, state: 'running', bundled: false })
}
const overRest = async (tool: string, args: object = {}): Promise<string[]> => {
  const { result } = await admin.ok('POST', `/api/servers/far/tools/${tool}/call`, { arguments: args })
  return result.content.map((block: { text: string }) => block.text)
}
const tokens = async (): Promise<number> => (await admin.ok('GET', '/api/groups/g')).tokens

test('plugins outside of the repository type-check against the exported types, which refuse what is wrong', async () => {
  await author.write('wrong.ts', `${tools('x').replace("'beside'", "'above'")}`)
  const said = await author.typeCheck()
  expect(said).toMatch(/wrong\.ts.*\n?.*above/)
  // Further lines of an error are indented.
  expect(said.split('\n').filter(line => /^\S/.test(line) && !line.includes('/wrong.ts('))).toEqual([])
})

test('a middleware runs round calls over REST and MCP, is upgraded without a restart, and withdrawn', async () => {
  const client = await admin.mcp('/mcp/g')
  const both = async () => [await overRest('echo', { text: 'a' }), (await client.callTool(echo)).content]
  const echo = { name: 'echo', arguments: { text: 'a' } }
  const marked = (...texts: string[]) => [texts, texts.map(text => ({ type: 'text', text }))]
  expect(await both()).toEqual(marked('a', 'one'))
  await upgrade('mark', middleware('two'))
  expect(await both()).toEqual(marked('a', 'two'))
  await set('mark', false)
  expect(await both()).toEqual(marked('a'))
})

test('a header provider adds its header to connections, is upgraded without a restart, and withdrawn', async () => {
  const sent = async (): Promise<string | undefined> => {
    await admin.ok('POST', '/api/servers/far/restart')
    const said = await until(async () => (await overRest('whoami').catch(() => []))[0], { what: 'the server' })
    return JSON.parse(said).headers['x-plugin']
  }
  expect(await sent()).toBe('1 streamable-http')
  await upgrade('keys', headers('2'))
  expect(await sent()).toBe('2 streamable-http')
  await set('keys', false)
  expect(await sent()).toBeUndefined()
})

test('tools of a plugin are listed, called and counted, are upgraded without a restart, and withdrawn', async () => {
  const client = await admin.mcp('/mcp/g')
  const withThem = await tokens()
  expect(await toolNames(client)).toEqual(['echo', 'whoami', 'emit', 'first', 'again'])
  expect(await callText(client, 'first')).toBe('first admin echo whoami emit')
  expect(await callText(client, 'again', { text: 'b' })).toBe('b')
  await upgrade('own-tools', tools('second'))
  expect(await callText(client, 'second')).toStartWith('second admin')
  await set('own-tools', false)
  expect(await toolNames(client)).toEqual(['echo', 'whoami', 'emit'])
  expect(await tokens()).toBeLessThan(withThem)
  const { items } = await admin.ok('GET', '/api/admin/plugins')
  const found = items.find((item: { name: string }) => item.name === 'own-tools')
  expect(found).toMatchObject({ state: 'disabled', contributions: [] })
})

test('a sink gets each record once over a time of failure, is upgraded without a restart, and withdrawn', async () => {
  const calls = (mark: string) =>
    logged.filter(one => one.mark === `?${mark}` && JSON.parse(one.line).message === 'tools/call').length
  const state = async () => {
    const { sinks } = await admin.ok('GET', '/api/admin/logging')
    return sinks.find(({ id }: { id: string }) => id === 'own')
  }
  await until(async () => (await state()).waiting === 0)
  const before = calls('one')
  for (let n = 0; n < 5; n += 1) await overRest('echo', { text: 'x' })
  await until(() => calls('one') === before + 5)
  refusing = true
  for (let n = 0; n < 5; n += 1) await overRest('echo', { text: 'x' })
  await until(async () => (await state()).state === 'failing')
  refusing = false
  await until(async () => (await state()).state === 'up', { timeoutMs: 60_000 })
  await until(() => calls('one') === before + 10)
  await upgrade('own-sink', sink(String(collector.url), 'two'))
  await overRest('echo', { text: 'x' })
  await until(() => calls('two') === 1)
  expect(calls('one')).toBe(before + 10)
  await set('own-sink', false)
  expect(await state()).toBeUndefined()
  await overRest('echo', { text: 'x' })
  expect(calls('two')).toBe(1)
}, 120_000)
