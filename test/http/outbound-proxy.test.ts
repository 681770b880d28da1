/** A hub whose only way out is an HTTP proxy: servers, an API's document, the market and a channel are reached through it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Authority } from '../support/certificates.ts'
import { type ForwardProxy, startForwardProxy } from '../support/forward-proxy.ts'
import { type Client, type Hub, ROOT, startHub } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { startReceiver } from '../support/receiver.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const PASSWORD = 'canary-of-the-proxy'
const receiver = startReceiver(({ path }) =>
  path === '/openapi.json' ? Response.json(DOCUMENT) : Response.json({ ok: true, servers: [] }),
)
const port = new URL(receiver.url).port
const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'API', version: '1' },
  servers: [{ url: `http://api.example.test:${port}` }],
  paths: { '/things': { get: { operationId: 'things', responses: { 200: { description: 'ok' } } } } },
}
let folder = ''
let proxy: ForwardProxy
let program: Program
let tls: ReturnType<typeof Bun.serve>
let hub: Hub
let admin: Client

beforeAll(async () => {
  folder = await makeTemp('proxied')
  const authority = new Authority(folder)
  program = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  tls = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0, tls: authority.issue('mcp', 'DNS:mcp.example.test') },
    fetch: request => fetch(new Request(new URL(new URL(request.url).pathname, program.url), request)),
  })
  proxy = await startForwardProxy(`hub:${PASSWORD}`)
  const file = join(folder, 'proxy-url')
  await writeFile(file, `http://hub:${PASSWORD}@${proxy.authority}\n`)
  hub = await startHub({
    env: {
      ...{ HTTP_PROXY_FILE: file, HTTPS_PROXY_FILE: file, NO_PROXY: 'direct.example.test,127.0.0.1' },
      NODE_EXTRA_CA_CERTS: authority.file,
    },
  })
  admin = await hub.setup()
}, 60_000)

afterAll(async () => {
  await hub?.stop()
  await program?.stop()
  await tls?.stop(true)
  receiver.stop()
  await proxy?.[Symbol.asyncDispose]()
  await removeTemp(folder)
})

test('servers over http and https, an API and its document, and a channel are reached through the proxy', async () => {
  const httpPort = new URL(program.url).port
  await admin.ok('POST', '/api/servers', { name: 'plain', url: `http://mcp.example.test:${httpPort}/mcp` })
  await admin.ok('POST', '/api/servers', { name: 'secure', url: `https://mcp.example.test:${tls.port}/mcp` })
  await admin.ok('POST', '/api/servers', {
    ...{ name: 'api', transport: 'openapi', openapi: { url: `http://docs.example.test:${port}/openapi.json` } },
  })
  await online(admin, ['plain', 'secure', 'api'])
  expect(await callText(await admin.mcp('/mcp/plain'), 'echo', { text: 'through' })).toBe('through')
  expect(await callText(await admin.mcp('/mcp/secure'), 'echo', { text: 'both ways' })).toBe('both ways')
  expect(await callText(await admin.mcp('/mcp/api'), 'things')).toContain('"ok":true')
  await admin.ok('POST', '/api/monitoring/channels', {
    ...{ name: 'hook', type: 'webhook', config: { url: `http://hook.example.test:${port}/alert` } },
  })
  await admin.ok('POST', '/api/monitoring/channels/hook/test')
  const catalogues = { team: { url: `http://market.example.test:${port}/market.json` } }
  await admin.ok('PATCH', '/api/admin/plugins/market-json', { config: { catalogues } })
  await admin.ok('GET', '/api/market/templates')
  const market = `GET http://market.example.test:${port}/market.json`
  await until(() => proxy.asked.includes(market), { what: 'the market to be read' })
  for (const asked of [
    `POST http://mcp.example.test:${httpPort}/mcp`,
    `CONNECT mcp.example.test:${tls.port}`,
    `GET http://docs.example.test:${port}/openapi.json`,
    `GET http://api.example.test:${port}/things`,
    `POST http://hook.example.test:${port}/alert`,
  ])
    expect(proxy.asked).toContain(asked)
})

test('a proxy that refuses the password is named as the reason, and nothing reaches the server', async () => {
  await using strict = await startForwardProxy('hub:another password')
  const behind = await startHub({ env: { HTTPS_PROXY: `http://hub:${PASSWORD}@${strict.authority}` } })
  try {
    const own = await behind.setup()
    await own.ok('POST', '/api/servers', { name: 'refused', url: `https://mcp.example.test:${tls.port}/mcp` })
    const reason = await until(async () => (await statusOf(own, 'refused')).reason, { what: 'the reason of refused' })
    expect(reason.code).toBe('proxy_failed')
    expect(reason.message).toContain('407')
    expect(reason.message).not.toContain(PASSWORD)
    expect(strict.asked).toContain(`CONNECT mcp.example.test:${tls.port}`)
  } finally {
    await behind.stop()
  }
})

test('addresses in NO_PROXY are reached directly, and ordinary users’ addresses are checked as without a proxy', async () => {
  const before = proxy.asked.length
  await admin.ok('POST', '/api/servers', { name: 'near', url: new URL('/mcp', program.url).href })
  await online(admin, ['near'])
  const user = await hub.user('una')
  expect((await user.request('POST', '/api/servers', { name: 'inside', url: 'http://10.0.0.1/mcp' })).status).toBe(403)
  await user.ok('POST', '/api/servers', { name: 'named', url: `http://mcp.example.test:${tls.port}/mcp` })
  const status = await until(async () => (await statusOf(user, 'named')).reason, { what: 'the reason of named' })
  expect(status.code).toBe('url_address_blocked')
  expect(proxy.asked.slice(before)).toEqual([])
})

test('the password of the proxy is in no log, answer or setting', async () => {
  expect(proxy.asked.length).toBeGreaterThan(0)
  const answers = ['/api/settings/system', '/api/servers', '/api/logs/search?limit=500', '/api/monitoring/config']
  for (const path of answers) expect((await admin.request('GET', path)).text).not.toContain(PASSWORD)
  expect(hub.log()).not.toContain(PASSWORD)
})
