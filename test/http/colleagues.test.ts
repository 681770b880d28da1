/** Colleagues with the role `change`: members of a group of which they do not know, and what others do at a server. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, ROOT, startHub } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { online } from '../support/servers.ts'

setDefaultTimeout(120_000)

const BOX = '/api/groups/bob~box'
let upstream: Program
let hub: Hub
let bob: Client
let carl: Client
let nora: Client

beforeAll(async () => {
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  hub = await startHub({ env: LOOPBACK })
  await hub.setup()
  bob = await hub.user('bob')
  carl = await hub.user('carl')
  nora = await hub.user('nora')
  for (const name of ['inner', 'west']) await bob.ok('POST', '/api/servers', { name, url: upstream.url })
  for (const name of ['hers', 'other']) await nora.ok('POST', '/api/servers', { name, url: upstream.url })
  await online(bob, ['inner', 'west'])
  await online(nora, ['hers'])
  await nora.ok('PUT', '/api/servers/hers/shares/user:bob', { role: 'use' })
  const members = { eu: 'west', hidden: 'nora~hers' }
  const selector = { argument: 'region', members, default: 'hidden' }
  await bob.ok('POST', '/api/groups', { name: 'box', members: ['inner'], selector })
  await bob.ok('PUT', '/api/groups/box/shares/user:carl', { role: 'change' })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await upstream?.stop()
}, 120_000)

const stored = async () => {
  const { members, selector } = await bob.ok('GET', BOX)
  return [members.map(({ server }: { server: string }) => server), selector]
}

describe('a member that a colleague does not know of', () => {
  test('is answered as a missing one by every change that names it', async () => {
    const asks = (server: string) =>
      [
        ['PATCH', BOX, { members: ['bob~inner', server] }],
        ['PATCH', BOX, { selector: { members: { x: server } } }],
        ['PUT', BOX, { name: 'box', members: [server] }],
        ['PUT', `${BOX}/members/${server}`, { alias: 'guessed' }],
        ['DELETE', `${BOX}/members/${server}`, undefined],
      ] as const
    const before = await stored()
    const answers = async (server: string) =>
      Promise.all(
        asks(server).map(async ([method, path, body]) => {
          const { status, text } = await carl.request(method, path, body)
          return `${status} ${text.replace(/"requestId":"\w+"/, '').replaceAll(server, '?')}`
        }),
      )
    const hidden = await answers('nora~hers')
    expect(hidden).toEqual(await answers('nora~other'))
    expect(hidden).toEqual(await answers('nora~none'))
    expect(hidden.every(text => text.startsWith('4'))).toBe(true)
    expect(await stored()).toEqual(before)
  })

  test('stays with its value when the colleague changes what it sees', async () => {
    const shown = await carl.ok('GET', BOX)
    expect(JSON.stringify(shown)).not.toMatch(/nora|hidden/)
    const { members, selector } = shown
    const before = await stored()
    await carl.ok('PATCH', BOX, { description: 'by carl' })
    expect(await stored()).toEqual(before)
    await carl.ok('PATCH', BOX, { members, selector })
    expect(await stored()).toEqual(before)
    await carl.ok('PUT', BOX, { name: 'box', members, selector })
    expect((await stored())[0]).toEqual(['bob~inner', 'bob~west', 'nora~hers'])
    await carl.ok('DELETE', `${BOX}/members/bob~inner`)
    await carl.ok('PATCH', BOX, { members: ['bob~west'] })
    expect((await stored())[0]).toEqual(['bob~west', 'nora~hers'])
    await bob.ok('PATCH', BOX, { members: ['bob~west'] })
    expect((await stored())[0]).toEqual(['bob~west'])
  })
})

test('an import puts nothing into a group of somebody else', async () => {
  await carl.ok('POST', '/api/servers', { name: 'own', url: upstream.url })
  await carl.ok('PUT', '/api/servers/own/shares/user:bob', { role: 'use' })
  const document = JSON.stringify({ mcpServers: { own: { url: upstream.url } } })
  const before = await stored()
  const { planHash } = await carl.ok('POST', '/api/import?dryRun=true', { document, group: 'bob~box' })
  const { items } = await carl.ok('POST', '/api/import', { document, group: 'bob~box', planHash })
  const [{ verdict }] = items.filter(({ kind }: { kind: string }) => kind === 'group')
  expect([verdict, await stored()]).toEqual(['invalid', before])
})

test('calls of others at a server are its owner’s to look at, for each role', async () => {
  await bob.ok('POST', '/api/servers/west/tools/echo/call', { arguments: { text: 'of bob' } })
  await bob.ok('PUT', '/api/servers/west/quota', { quota: { perDay: 100 } })
  for (const role of ['use', 'see', 'change']) {
    await bob.ok('PUT', '/api/servers/west/shares/user:carl', { role })
    const found = await carl.ok('GET', '/api/logs/search?q=tools/call')
    const usage = await carl.request('GET', '/api/usage?server=bob~west&by=user')
    const { items } = await carl.ok('GET', '/api/quotas')
    const { calls, topUsers } = await carl.ok('GET', '/api/monitoring/overview')
    expect([role, found.total, usage.json.code, items, calls.total, topUsers]).toEqual([
      ...[role, 0, 'not_owner', [], 0, []],
    ])
  }
})
