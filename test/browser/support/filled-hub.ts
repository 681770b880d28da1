import { join } from 'node:path'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Client } from '../../support/client.ts'
import { type Hub, startHub, stdioFixture } from '../../support/hub.ts'
import { online } from '../../support/servers.ts'

const ROOT = join(import.meta.dir, '../../..')

/** A program of npm, as it lies in the packages of the tests. */
function npmServer(name: string, ...args: string[]): object {
  return {
    command: process.execPath,
    args: [join(ROOT, 'node_modules/@modelcontextprotocol', name, 'dist/index.js'), ...args],
  }
}

/**
 * A hub as somebody would have it after a week: servers of several kinds that run, one that cannot be reached, one that is
 * stopped, groups with a clash of names, a second user, keys, rules, and calls by a real client.
 */
export async function startFilledHub(): Promise<{ readonly hub: Hub; readonly admin: Client; readonly other: Client }> {
  const hub = await startHub({
    env: { OUTBOUND_ALLOW: '127.0.0.0/8' },
    settings: { mcpServers: { sample: stdioFixture('echo') } },
  })
  const admin = await hub.setup()
  const servers: readonly object[] = [
    { name: 'everything', ...npmServer('server-everything'), description: 'Every feature of MCP, for trying clients' },
    { name: 'memory', ...npmServer('server-memory') },
    { name: 'files', ...npmServer('server-filesystem', join(ROOT, 'docs')) },
    { name: 'thinking', ...npmServer('server-sequential-thinking'), visibility: 'public' },
    { name: 'echo', ...stdioFixture('echo') },
    { name: 'intranet', url: 'http://127.0.0.1:9/mcp', headers: { Authorization: 'Bearer 0123456789abcdef' } },
    { name: 'weather', openapi: { schema: WEATHER } },
    { name: 'archive', ...stdioFixture('echo'), enabled: false },
  ]
  for (const server of servers) await admin.ok('POST', '/api/servers', server)
  const groups: readonly object[] = [
    { name: 'coding', members: ['everything', 'files', 'memory'], description: 'For editors' },
    { name: 'research', members: ['thinking', 'sample', 'echo', 'intranet'] },
  ]
  for (const group of groups) await admin.ok('POST', '/api/groups', group)
  await admin.ok('POST', '/api/keys', { label: 'laptop', scopes: ['mcp'] })
  await admin
    .ok('POST', '/api/monitoring/channels', {
      name: 'ops',
      type: 'webhook',
      config: { url: 'http://127.0.0.1:9/hook' },
    })
    .catch(() => {})
  await admin.ok('POST', '/api/monitoring/rules', {
    name: 'Server offline',
    condition: 'server_status == offline',
    duration: '1m',
    severity: 'critical',
  })
  const other = await hub.user('li.wei')
  await online(admin, ['sample', 'everything', 'memory', 'files', 'echo', 'thinking'], 60_000)
  await call(hub, admin)
  return { hub, admin, other }
}

/** Calls that give figures, records and links: two clients with names, some failures among them. */
async function call(hub: Hub, admin: Client): Promise<void> {
  const { secret } = await admin.ok('POST', '/api/keys', { label: 'calls', scopes: ['mcp'] })
  for (const [name, group, calls] of [
    ['Claude Code', 'coding', 40],
    ['Cursor', 'research', 12],
  ] as const) {
    const client = new McpClient({ name, version: '1.0.0' })
    const requestInit = { headers: { authorization: `Bearer ${secret}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp/${group}`), { requestInit }))
    const { tools } = await client.listTools()
    const echo = tools.find(tool => /(?:^|_)echo$/.test(tool.name))?.name ?? ''
    for (let number = 0; number < calls; number += 1)
      await client
        .callTool({ name: echo, arguments: { message: `call ${number}`, text: `call ${number}` } })
        .catch(() => {})
    const read = tools.find(tool => /read_text_file$/.test(tool.name))?.name
    if (read) await client.callTool({ name: read, arguments: { path: '/etc/shadow' } }).catch(() => {})
    await client.close()
  }
}

const WEATHER = {
  openapi: '3.1.0',
  info: { title: 'Weather', version: '1' },
  servers: [{ url: 'http://127.0.0.1:9' }],
  paths: {
    '/forecast': {
      get: {
        operationId: 'get_forecast',
        summary: 'The forecast of a place',
        parameters: [{ name: 'place', in: 'query', required: true, schema: { type: 'string' } }],
        responses: { 200: { description: 'ok' } },
      },
    },
    '/history': {
      get: { operationId: 'get_history', summary: 'Past weather', responses: { 200: { description: 'ok' } } },
    },
  },
}
