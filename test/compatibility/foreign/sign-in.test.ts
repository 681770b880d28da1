/** Programs of other makers sign in to a hub below a path and behind nginx, without help but the consent of its user. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { type Place, startPlace } from '../../plugins/oauth-server/behind-nginx.ts'
import { extent } from '../../support/extent.ts'
import { consent } from '../../support/oauth.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'

const MCP_REMOTE = join(import.meta.dir, 'node_modules/mcp-remote/dist/proxy.js')

let place: Place
let home: string

beforeAll(async () => {
  home = await makeTemp('sign-in')
  place = await startPlace('/hub', true)
}, 120_000)

afterAll(async () => {
  await place?.[Symbol.asyncDispose]()
  await removeTemp(home)
}, 60_000)

/** mcp-remote between an official client and an address. `asks`: it shows its user an address, which is opened. */
async function remote(path: string, asks: boolean) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MCP_REMOTE, place.url + path, '--allow-http'],
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      MCP_REMOTE_CONFIG_DIR: join(home, 'mcp-auth'),
      BROWSER: '/bin/true',
    },
    stderr: 'pipe',
  })
  let said = ''
  transport.stderr?.on('data', chunk => {
    said += chunk
  })
  const client = new Client({ name: 'desktop', version: '1' })
  const connected = client.connect(transport)
  if (asks) {
    const url = await until(() => /visiting:\s+(http\S+)/.exec(said)?.[1], { what: 'an address to open' })
    await (await fetch(await consent(place.ada, url))).text()
  }
  await connected.catch(error => {
    throw new Error(`${error}: ${said}`)
  })
  return { client, asked: /visiting:/.test(said) }
}

test.each(extent(['/mcp/work'], ['/mcp/work', '/mcp']))(
  'mcp-remote signs in to %s, and again without its user',
  async path => {
    const { client } = await remote(path, true)
    const { tools } = await client.listTools()
    const name = path === '/mcp' ? 'one_echo' : 'echo'
    expect(tools.map(tool => tool.name)).toContain(name)
    expect(await client.callTool({ name, arguments: { text: 'hello' } })).toMatchObject({ content: [{}] })
    await client.close()
    const again = await remote(path, false)
    expect(again.asked).toBe(false)
    await again.client.close()
  },
  120_000,
)
