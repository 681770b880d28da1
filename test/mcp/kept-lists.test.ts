/** The official client of 2026-07-28 keeps the hub's lists as their hints say, and no path of discovery looks like a group. */
import { expect, test } from 'bun:test'
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'

test('the official client asks for a kept list once, and places of discovery are not there', async () => {
  const hub = await startHub({ settings: { mcpServers: { echo: stdioFixture('echo') } } })
  try {
    const admin = await hub.setup()
    await online(admin, ['echo'])
    const asked: string[] = []
    const client = new ModernClient(
      { name: 'patchbay-test', version: '1.0.0' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    )
    const authorization = `Bearer ${await admin.mcpKey()}`
    const noting = (input: string | URL, init?: RequestInit) => {
      const { method } = JSON.parse(String(init?.body ?? '{}'))
      if (method) asked.push(method)
      return fetch(input, init)
    }
    await client.connect(
      new StreamableHTTPClientTransport(new URL('/mcp/echo', hub.url), {
        requestInit: { headers: { authorization } },
        fetch: noting as typeof fetch,
      }),
    )
    const first = await client.listTools()
    expect(first).toMatchObject({ ttlMs: 60_000, cacheScope: 'private' })
    expect(await client.listTools()).toEqual(first)
    expect(asked.filter(method => method === 'tools/list')).toHaveLength(1)
    await client.close()
    for (const path of [
      '/.well-known/mcp/catalog.json',
      '/.well-known/mcp.json',
      '/.well-known/mcp/server-card.json',
    ]) {
      const response = await fetch(`${hub.url}${path}`)
      const { code } = (await response.json()) as { code?: string }
      expect([path, response.status, code]).toEqual([path, 404, 'route_not_found'])
    }
  } finally {
    await hub.stop()
  }
}, 60_000)
