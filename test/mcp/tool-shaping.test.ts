import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { callText, failureOf, online, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { sharedFixture } from './shared-fixture.ts'

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({
    settings: {
      mcpServers: {
        pinned: { ...sharedFixture('changing'), definitionPolicy: 'pin', visibility: 'public' },
        loose: sharedFixture('changing'),
        sealed: {
          ...sharedFixture('changing'),
          visibility: 'public',
          variables: { API_TOKEN: 'first-hidden-value', REGION: 'north' },
          tools: { deploy: { arguments: { target: { pin: `${'$'}{REGION}/${'$'}{API_TOKEN}` } } } },
        },
        shaped: {
          ...sharedFixture('changing'),
          visibility: 'public',
          tools: { deploy: { arguments: { target: { pin: 'staging' } } } },
        },
      },
      groups: [
        {
          name: 'g',
          servers: [{ name: 'shaped', tools: [{ name: 'deploy', arguments: { dry: { default: true } } }] }],
        },
      ],
    },
  })
  admin = await hub.setup()
  await online(admin, ['pinned', 'loose', 'sealed', 'shaped'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

const toolOf = async (who: Client, server: string, name = 'deploy') => {
  const { items } = await who.ok('GET', `/api/servers/${server}/tools`)
  return items.find((item: { name: string }) => item.name === name)
}

test('arguments are shaped alike for groups, servers, REST and others who use a public server', async () => {
  const target = { target: 'production' }
  const group = await admin.mcp('/mcp/g')
  expect(JSON.parse(await callText(group, 'deploy', target))).toEqual({ target: 'staging', dry: true })
  expect((await group.listTools()).tools[0]?.inputSchema.properties).toEqual({
    dry: { type: 'boolean', default: true },
  })
  const alone = await admin.mcp('/mcp/shaped')
  expect(JSON.parse(await callText(alone, 'deploy', target))).toEqual({ target: 'staging' })
  const bob = await hub.user('bob')
  const answer = await bob.ok('POST', '/api/servers/admin~shaped/tools/deploy/call', { arguments: target })
  expect(JSON.parse(answer.result.content[0].text)).toEqual({ target: 'staging' })
  expect(JSON.stringify(await bob.ok('GET', '/api/servers/admin~shaped/tools'))).not.toMatch(/staging|target/)
  const theirs = await bob.mcp('/mcp/@admin/shaped')
  expect(JSON.parse(await callText(theirs, 'deploy', target))).toEqual({ target: 'staging' })
})

test('a pinned argument takes variables of its server, and a sealed one is shown nowhere', async () => {
  const client = await admin.mcp('/mcp/sealed')
  const target = async () => JSON.parse(await callText(client, 'deploy', { target: 'mine' })).target
  expect(await target()).toBe('north/first-hidden-value')
  const shown = await Promise.all([
    admin.ok('GET', '/api/servers/sealed'),
    admin.ok('GET', '/api/servers/sealed/tools'),
    admin.ok('GET', '/api/servers'),
    client.listTools(),
  ])
  expect(JSON.stringify(shown)).not.toContain('hidden-value')
  expect(shown[0].tools.deploy.arguments.target.pin).toBe(`${'$'}{REGION}/${'$'}{API_TOKEN}`)
  await admin.ok('PATCH', '/api/servers/sealed', { variables: { API_TOKEN: 'second-hidden-value', REGION: 'north' } })
  await until(async () => (await target().catch(() => '')) === 'north/second-hidden-value', { what: 'the new value' })
  const eve = await hub.user('eve')
  const pin = `${'$'}{API_TOKEN}`
  const members = [{ server: 'admin~sealed', tools: [{ name: 'deploy', arguments: { dry: { pin } } }] }]
  await eve.ok('POST', '/api/groups', { name: 'spying', members })
  const spied = JSON.parse(await callText(await eve.mcp('/mcp/spying'), 'deploy', {}))
  expect(spied.dry).toBe(pin)
  const unknown = { arguments: { target: { pin: `${'$'}{GONE}` } } }
  const refused = await admin.request('PATCH', '/api/servers/sealed/tools/deploy', unknown)
  expect(refused.json.errors).toMatchObject([
    { pointer: '#/tools/deploy/arguments/target/pin', code: 'variable_unknown' },
  ])
})

test('a group with a limit cuts a long result, and its client reads on', async () => {
  await admin.ok('POST', '/api/groups', { name: 'short', members: ['loose'], resultLimit: 200 })
  const client = await admin.mcp('/sse/short', { sse: true })
  const target = 'ü'.repeat(150)
  const { content } = (await client.callTool({ name: 'deploy', arguments: { target } })) as {
    content: { text: string }[]
  }
  const handle = /read on by ([\w-]+)/.exec(content[1]?.text ?? '')?.[1]
  const rest = await callText(client, 'patchbay_read_result', { handle })
  expect(JSON.parse(`${content[0]?.text}${rest}`)).toEqual({ target })
  const { items } = await admin.ok('GET', '/api/groups/short/tools')
  expect(items.map((item: { name: string }) => item.name)).toEqual(['deploy', 'change'])
  await admin.ok('PATCH', '/api/groups/short', { resultLimit: null })
  const whole = () => callText(client, 'deploy', { target })
  await until(async () => (await whole()) === JSON.stringify({ target }), { what: 'the limit to go' })
})

test('an edit of the rules over REST holds from the next list and call on, and null takes it back', async () => {
  const client = await admin.mcp('/mcp/loose')
  const rules = { target: { pin: 'test', description: 'never seen' }, dry: { hidden: true } }
  await admin.ok('PATCH', '/api/servers/loose/tools/deploy', { arguments: rules })
  await until(async () => (await callText(client, 'deploy', { dry: true })) === '{"target":"test"}', {
    what: 'the rules',
  })
  expect((await toolOf(admin, 'loose')).inputSchema.properties).toEqual({})
  await admin.ok('PATCH', '/api/servers/loose/tools/deploy', { arguments: { target: null } })
  await until(async () => (await callText(client, 'deploy', { target: 'mine' })) === '{"target":"mine"}', {
    what: 'less',
  })
  await admin.ok('PATCH', '/api/servers/loose/tools/deploy', { arguments: null })
  const bad = await admin.request('PATCH', '/api/servers/loose/tools/deploy', { arguments: { target: { pn: 1 } } })
  expect(bad.json.errors).toMatchObject([{ pointer: '#/tools/deploy/arguments/target/pn', code: 'unknown_field' }])
})

test('a changed definition is blocked where pinned until the very hash is approved, over a restart too', async () => {
  const client = await admin.mcp('/mcp/pinned')
  const first = await toolOf(admin, 'pinned')
  expect(await callText(client, 'deploy', { dry: true })).toBe('{"dry":true}')
  await callText(client, 'change', { to: 'Deploys, and sends your keys along' })
  await until(async () => (await toolOf(admin, 'pinned')).changed, { what: 'the change to be seen' })
  const changed = await toolOf(admin, 'pinned')
  expect(changed).toMatchObject({ changed: true, waiting: true, description: 'Deploys, and sends your keys along' })
  expect(changed.hash).not.toBe(first.hash)
  expect(await toolNames(client)).toEqual(['change'])
  expect(await failureOf(client.callTool({ name: 'deploy', arguments: {} }))).toMatchObject({
    code: -32603,
    data: { code: 'approval_required' },
  })
  const rest = await admin.request('POST', '/api/servers/pinned/tools/deploy/call', { arguments: {} })
  expect([rest.status, rest.json.code]).toEqual([409, 'approval_required'])
  const carol = await hub.user('carol')
  expect(await toolOf(carol, 'admin~pinned')).toBeUndefined()
  const approve = (who: Client, hash: string) =>
    who.request('POST', '/api/servers/admin~pinned/tools/deploy/approve', { hash })
  expect((await approve(carol, changed.hash)).status).toBe(403)
  expect((await approve(admin, first.hash)).json).toMatchObject({ code: 'version_conflict', hash: changed.hash })
  const approved = await approve(admin, changed.hash)
  expect(approved.json).toMatchObject({ name: 'deploy', hash: changed.hash })
  expect(approved.json.changed).toBeUndefined()
  expect(await callText(client, 'deploy', {})).toBe('{}')
  expect(await toolNames(client)).toContain('deploy')

  await callText(client, 'change', { to: 'Another one' })
  await until(async () => (await toolOf(admin, 'pinned')).changed, { what: 'the second change' })
  await hub.stop({ keep: true })
  hub = await startHub({ folder: hub.folder })
  admin = await hub.signIn('admin')
  await online(admin, ['pinned'])
  // The new process starts with the first definition, which is not the one approved last.
  await until(async () => (await toolOf(admin, 'pinned')).hash === first.hash, { what: 'the lists to be read' })
  expect(await toolOf(admin, 'pinned')).toMatchObject({ changed: true, waiting: true })
  await approve(admin, first.hash)
  expect(await callText(await admin.mcp('/mcp/pinned'), 'deploy', {})).toBe('{}')
}, 120_000)

test('a changed definition is an event and a mark where it is not pinned, and blocks nothing', async () => {
  await online(admin, ['loose'])
  const headers = { authorization: `Bearer ${admin.token}`, accept: 'text/event-stream' }
  const abort = new AbortController()
  const stream = await fetch(`${hub.url}/api/stream?topics=servers`, { headers, signal: abort.signal })
  const reader = stream.body?.getReader()
  let heard = ''
  const reading = (async () => {
    for (;;) {
      const part = await reader?.read()
      if (!part || part.done) return
      heard += new TextDecoder().decode(part.value)
    }
  })().catch(() => undefined)
  const client = await admin.mcp('/mcp/loose')
  await callText(client, 'change', { to: 'Deploys elsewhere' })
  await until(() => heard.includes('tool.definition_changed'), { what: 'the event' })
  const told = heard.slice(heard.indexOf('tool.definition_changed'))
  expect(told).toContain('"tool":"deploy"')
  expect(told).toContain('"blocked":false')
  expect(await toolOf(admin, 'loose')).toMatchObject({ changed: true, waiting: false })
  expect(await callText(client, 'deploy', {})).toBe('{}')
  abort.abort()
  await reading
})
