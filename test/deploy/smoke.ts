import { expect } from 'bun:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type Hub, startHub } from '../support/hub.ts'
import { callText, online } from '../support/servers.ts'
import { shutIn } from '../support/shut-in.ts'
import { until } from '../support/wait.ts'

/** A PATH without Bun and without anything of this repository. */
const BARE = '/usr/bin:/bin'

/** A hub that is started by `program` in an empty folder, with an empty home, does what a new hub does. */
export async function smoke(program: readonly string[]): Promise<void> {
  const env = { PATH: BARE, SETTINGS_FILE: '' }
  const hub = await startHub({ program, env, timeoutMs: 60_000 })
  try {
    await use(hub)
  } catch (error) {
    await hub.stop().catch(() => undefined)
    throw error
  }
  expect(await hub.stop()).toBe(0)
}

async function use(hub: Hub): Promise<void> {
  const health = await fetch(`${hub.url}/health`)
  expect([health.status, await health.json()]).toEqual([200, expect.objectContaining({ status: 'ok' })])
  await consoleOf(hub.url)

  const admin = await hub.setup()
  await online(admin, ['sample'])
  const sample = await admin.mcp('/mcp/sample')
  expect(await callText(sample, 'echo', { text: 'of the sample' })).toContain('of the sample')
  await sample.close()
  // A thread of a plugin stores it.
  await until(async () => (await admin.ok('GET', '/api/logs/search?tool=echo')).total > 0, {
    what: 'the record of the call',
  })

  // The hub's own runtime, for commands of administrators on a machine without one.
  await admin.ok('POST', '/api/servers', await shutIn('open'))
  await online(admin, ['open'], 60_000)

  const ann = await hub.user('ann')
  // With the helper that carries its connections, which the hub's own runtime runs inside.
  await admin.ok('PATCH', '/api/admin/users/ann', { grants: { network: 'proxy' } })
  await ann.ok('POST', '/api/servers', await shutIn('shut', { network: 'proxy' }))
  await online(ann, ['shut'], 60_000)
  const client = new Client({ name: 'smoke', version: '1.0.0' })
  const headers = { authorization: `Bearer ${await ann.mcpKey()}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp/shut`), { requestInit: { headers } }))
  const ask = async (name: string, args: Record<string, unknown> = {}) => JSON.parse(await callText(client, name, args))
  expect(await ask('self')).toMatchObject({ capabilities: expect.stringMatching(/^0+$/), noNewPrivileges: '1' })
  const request = 'CONNECT 127.0.0.1:9 HTTP/1.1'
  expect(await ask('proxy', { request })).toStartWith('HTTP/1.1 403')
  // The program's own children find Bun too.
  const command = ['/bin/sh', '-c', 'bun --version && bunx --version']
  expect(await ask('run', { command })).toMatchObject({ status: 0, out: expect.stringMatching(/^1\.\S+\n1\.\S+\n$/) })
  await client.close()
}

/** The page of the console, and all that its head names. */
export async function consoleOf(url: string): Promise<void> {
  const page = await fetch(`${url}/`, { headers: { accept: 'text/html' } })
  const text = await page.text()
  expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-cache'])
  const named = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)
  expect(named.filter(path => /\/assets\/main-\w+\.js$/.test(path))).toHaveLength(1)
  for (const path of named) {
    for (const coding of ['identity', 'br']) {
      const file = await fetch(new URL(path, url), { headers: { 'accept-encoding': coding } })
      expect([path, file.status, (await file.bytes()).length > 0]).toEqual([path, 200, true])
      expect(file.headers.get('cache-control')).toContain('immutable')
    }
  }
}
