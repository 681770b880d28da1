/** A whole hub behind a real nginx, below a path, configured as the install guide says. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { below, Client } from '../support/client.ts'
import { type Hub, PASSWORD, ROOT, startHub } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { type Nginx, startNginx } from '../support/nginx.ts'
import { callText, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

let trusting: Hub
let wary: Hub
let nginx: Nginx
let outside: Client

beforeAll(async () => {
  const settings = {
    mcpServers: { echo: known('echo'), slow: known('slow') },
    groups: [{ name: 'g', servers: ['echo', 'slow'] }],
  }
  const person = { ADMIN_USERNAME: 'root', ADMIN_PASSWORD: PASSWORD }
  const env = { ...person, BASE_PATH: '/hub', ADMIN_ADDRESSES: '192.0.2.0/24,127.0.0.1', ALLOWED_HOSTS: '127.0.0.1' }
  // Both hubs are behind the same proxy: one trusts it, the other does not.
  trusting = await startHub({ settings, env: { ...env, TRUSTED_PROXIES: '127.0.0.1' } })
  wary = await startHub({ env: { ...env, BASE_PATH: '/wary' } })
  const guide = documented()
  nginx = await startNginx(`
    location /hub { proxy_pass ${new URL(trusting.url).origin}; ${guide} }
    location /wary { proxy_pass ${new URL(wary.url).origin}; ${guide} }
    location /gone { proxy_pass http://127.0.0.1:9; }
    location ~ ^/hub/api/servers/slow/tools/wait/ {
      proxy_pass ${new URL(trusting.url).origin}; ${guide.replaceAll(/proxy_(read|send)_timeout[^;]*;/g, '')}
      proxy_read_timeout 1s;
    }`)
  outside = await signIn(`${nginx.url}/hub`)
  await online(outside, ['echo', 'slow'])
}, 120_000)

afterAll(async () => {
  await outside?.close()
  await nginx?.[Symbol.asyncDispose]()
  await Promise.all([trusting?.stop(), wary?.stop()])
}, 120_000)

/** The lines of the install guide, but for where it leads. */
function documented(): string {
  const text = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')
  const block = /```nginx\nlocation \/ \{\n([^}]*)\}/.exec(text)?.[1] ?? ''
  expect(block).toContain('proxy_buffering off')
  return block.replace(/proxy_pass[^;]*;/, '')
}

async function signIn(url: string): Promise<Client> {
  const response = await fetch(below(url, '/api/auth/login'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'root', password: PASSWORD }),
  })
  return new Client(url, 'root', (await response.json()).token)
}

const people = async (url: string, client: Client, forwarded: string): Promise<number> => {
  const headers = { authorization: `Bearer ${client.token}`, 'x-forwarded-for': forwarded }
  return (await fetch(below(url, '/api/admin/users'), { headers })).status
}

test('addresses in answers are those of the proxy, with its path', async () => {
  const { endpoint } = await outside.ok('GET', '/api/groups/g')
  expect(endpoint).toBe(`${nginx.url}/hub/mcp/g`)
  const config = await outside.ok('GET', '/api/groups/g/client-config?client=cursor')
  expect(JSON.stringify(config)).toContain(`${nginx.url}/hub/mcp/g`)
})

test('the client address is the one that a trusted proxy adds last, never one that the client sends', async () => {
  // nginx appends the address that it saw, 127.0.0.1. That is a proxy itself, so the address before it counts.
  expect(await people(`${nginx.url}/hub`, outside, '192.0.2.9')).toBe(200)
  expect(await people(`${nginx.url}/hub`, outside, '203.0.113.9')).toBe(403)
  expect(await people(`${nginx.url}/hub`, outside, '192.0.2.9, 203.0.113.9')).toBe(403)
  const elsewhere = await signIn(`${nginx.url}/wary`)
  // The wary hub believes no header, and does not take a forwarded request for a local one.
  for (const said of ['192.0.2.9', '127.0.0.1']) expect(await people(`${nginx.url}/wary`, elsewhere, said)).toBe(403)
  expect(await people(wary.url, elsewhere, '')).toBe(403)
  const direct = await fetch(below(wary.url, '/api/admin/users'), {
    headers: { authorization: `Bearer ${elsewhere.token}` },
  })
  expect(direct.status).toBe(200)
})

test('MCP by both transports, with its streams, goes through', async () => {
  for (const options of [{}, { sse: true }]) {
    const client = await outside.mcp(`/${options.sse ? 'sse' : 'mcp'}/g`, options)
    expect(await callText(client, 'echo', { text: 'through' })).toBe('through')
  }
})

test('a stream is not held back by the proxy, and a WebSocket is upgraded', async () => {
  const events = await openStream(outside)
  const socket = new WebSocket(`${nginx.url.replace('http', 'ws')}/hub/api/stream`, {
    headers: { authorization: `Bearer ${outside.token}` },
  } as unknown as string[])
  const said: string[] = []
  socket.onmessage = event => said.push(String(event.data))
  await until(() => said.length > 0, { what: 'a word over the WebSocket' })
  await outside.ok('POST', '/api/groups', { name: 'told', members: ['echo'] })
  await events.next(({ event }) => event.startsWith('group.'))
  await until(() => said.some(text => text.includes('group.')))
  socket.close()
  await events.close()
})

test('a call that outlasts the proxy’s patience is its 504, a hub that is gone its 502; neither harms the hub', async () => {
  const late = await outside.request('POST', '/api/servers/slow/tools/wait/call', { arguments: { ms: 4_000 } })
  expect(late.status).toBe(504)
  expect((await fetch(`${nginx.url}/gone`)).status).toBe(502)
  const quick = await outside.request('POST', '/api/servers/slow/tools/quick/call', { arguments: {} })
  expect(quick.status).toBe(200)
  expect((await fetch(`${nginx.url}/hub/health`)).status).toBe(200)
  // The call whose client had gone was cancelled.
  await until(async () => {
    const { items } = await outside.ok('GET', '/api/admin/sessions')
    return items.every((one: { callsInFlight: number }) => one.callsInFlight === 0)
  })
})

test('the path stays the path: what the proxy does not cut is checked as it comes', async () => {
  for (const path of ['/hub//api/servers', '/hub/api%2Fservers', '/hub/api/servers/..%2f..']) {
    const answer = await fetch(nginx.url + path, { headers: { authorization: `Bearer ${outside.token}` } })
    expect([path, answer.status]).toEqual([path, 400])
  }
})
