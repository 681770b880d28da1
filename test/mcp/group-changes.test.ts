import { describe, expect, test } from 'bun:test'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { beyondCore } from '../support/extent.ts'
import { atMost } from '../support/pace.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { callText, failureOf, inFlight, online, toolNames } from '../support/servers.ts'
import { timed, until } from '../support/wait.ts'
import { type Kind, listening, useGroups } from './group-members.ts'
import { sharedFixture } from './shared-fixture.ts'

const groups = useGroups({ slow: sharedFixture('slow') })

describe('P-20 list_changed', () => {
  test('P-20 of an upstream is one notice of that kind to each session that has it, and none to others', async () => {
    const paths = ['/mcp/pair', '/mcp/pair', '/mcp/one', '/mcp']
    const affected = await Promise.all(paths.map(path => listening(groups.admin, path)))
    const others = await Promise.all(['/mcp/alone', '/mcp/bare'].map(path => listening(groups.admin, path)))
    const quiet = await listening(groups.admin, '/mcp/bare')
    for (const { client } of [...affected, ...others, quiet]) await client.listTools()
    const say = (kind: Kind, replace: object) =>
      callText(affected[2]?.client as McpClient, 'say', { method: `notifications/${kind}/list_changed`, replace })
    await say('prompts', { prompts: [{ name: 'hello' }, { name: 'only_one' }, { name: 'fresh' }] })
    await until(() => affected.every(({ heard }) => heard.prompts === 1), { what: 'each to hear' })
    for (const { client } of affected)
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('fresh')
    // Five within the window are one, a second allows one more, and nothing is announced twice.
    const begunMs = performance.now()
    for (let round = 0; round < 5; round += 1) await say('resources', {})
    await until(() => affected.every(({ heard }) => heard.resources >= 1), { what: 'each to hear' })
    const seconds = Math.floor((performance.now() - begunMs) / 1_000)
    // The test claims silence: a superfluous notice would come within this time.
    await Bun.sleep(1_500)
    for (const { heard } of affected) {
      expect([heard.tools, heard.prompts]).toEqual([0, 1])
      expect(heard.resources).toBeLessThanOrEqual(2 + seconds)
    }
    for (const { heard } of [...others, quiet]) expect(heard).toEqual({ tools: 0, prompts: 0, resources: 0 })
  }, 120_000)

  test('P-20 follows edits of the group, its members and their overrides, and the next list shows it', async () => {
    await groups.admin.ok('POST', '/api/groups', { name: 'edited', members: ['bare'] })
    const { client, heard } = await listening(groups.admin, '/mcp/edited')
    const other = await listening(groups.admin, '/mcp/alone')
    const once = async (what: string, kinds: Partial<Record<Kind, number>>, deed: () => Promise<unknown>) => {
      const before = { ...heard }
      await deed()
      for (const [kind, count] of Object.entries(kinds))
        await until(() => heard[kind as Kind] === before[kind as Kind] + count, { what: `${what}: ${kind}` })
      // The test claims silence: a superfluous notice would come within this time.
      await Bun.sleep(1_100)
      const told = Object.fromEntries((Object.keys(heard) as Kind[]).map(kind => [kind, heard[kind] - before[kind]]))
      expect([what, told]).toEqual([what, { tools: 0, prompts: 0, resources: 0, ...kinds }])
    }
    await once('a member comes', { tools: 1, prompts: 1, resources: 1 }, () =>
      groups.admin.ok('PUT', '/api/groups/edited/members/two', {}),
    )
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['hello'])
    await once('a tool is hidden in the group', { tools: 1 }, () =>
      groups.admin.ok('PUT', '/api/groups/edited/members/two', { tools: ['raw', { name: 'big', as: 'large' }] }),
    )
    expect(await toolNames(client)).toContain('large')
    await once('a description of the group is no change of a list', {}, () =>
      groups.admin.ok('PATCH', '/api/groups/edited', { description: 'Edited' }),
    )
    await once('a tool is renamed at its server', { tools: 1 }, () =>
      groups.admin.ok('PATCH', '/api/servers/bare/tools/link', { name: 'connect' }),
    )
    expect(await toolNames(client)).toContain('connect')
    // The old name works for a while, since a client may be about to use it.
    expect(await callText(client, 'name')).toContain('bare')
    await once('a member is stopped', { tools: 1, prompts: 1, resources: 1 }, () =>
      groups.admin.ok('POST', '/api/servers/two/stop?wait=30s'),
    )
    expect((await client.listPrompts()).prompts).toEqual([])
    await groups.admin.ok('POST', '/api/servers/two/start?wait=30s')
    await until(async () => (await client.listPrompts()).prompts.length === 1, { what: 'the member to be back' })
    await groups.admin.ok('PATCH', '/api/servers/bare/tools/link', { name: null })
    const tools = other.heard.tools
    await until(() => other.heard.tools > 0, { what: 'the group of the stopped server to hear too' })
    expect(tools).toBeLessThanOrEqual(2)
  }, 120_000)
})

describe('a member that is removed', () => {
  test('in mid-call ends the call as one of a tool that is not there, and so is the next one', async () => {
    await groups.admin.ok('POST', '/api/groups', { name: 'shrinking', members: ['slow', 'bare'] })
    const client = await groups.admin.mcp('/mcp/shrinking')
    const running = failureOf(callText(client, 'wait', { ms: 20_000 }))
    await inFlight(groups.admin)
    await groups.admin.ok('DELETE', '/api/groups/shrinking/members/slow')
    expect((await failureOf(callText(client, 'quick'))).data?.code).toBe('tool_not_found')
    expect((await running).data?.code).toBe('tool_not_found')
  })

  test('with its server answers the call in flight with an error, and the session continues', async () => {
    await groups.admin.ok('POST', '/api/servers', { name: 'doomed', ...sharedFixture('slow') })
    await online(groups.admin, ['doomed'])
    await groups.admin.ok('POST', '/api/groups', { name: 'mixed', members: ['doomed', 'bare'] })
    const client = await groups.admin.mcp('/mcp/mixed')
    const running = failureOf(callText(client, 'wait', { ms: 20_000 }))
    await inFlight(groups.admin)
    const { ms } = await timed(() => groups.admin.ok('DELETE', '/api/servers/doomed'))
    expect((await running).data?.code).toBeOneOf(['tool_not_found', 'connection_lost'])
    expect(ms).toBeLessThan(atMost(5_000))
    expect(await toolNames(client)).not.toContain('wait')
    expect(await callText(client, 'name')).toContain('bare')
  }, 120_000)

  test('with the whole group ends its sessions: 404, and their calls are cancelled', async () => {
    await groups.admin.ok('POST', '/api/groups', { name: 'gone', members: ['slow'] })
    const client = await new RawClient(groups.hub, '/mcp/gone', await groups.admin.mcpKey()).open()
    const running = client.send('tools/call', { name: 'wait', arguments: { ms: 20_000 } })
    await inFlight(groups.admin)
    await groups.admin.ok('DELETE', '/api/groups/gone')
    const { value, ms } = await timed(async () => (await running).text())
    expect(value).not.toContain('waited')
    expect(ms).toBeLessThan(atMost(5_000))
    expect((await client.send('ping')).status).toBe(404)
  })
})

beyondCore(() => {
  describe('P-23 a member that is dead or slow', () => {
    test('P-23 delays tools/list by 2 s at most, and list_changed follows when it is there', async () => {
      await groups.admin.ok('POST', '/api/servers', { name: 'sleepy', ...sharedFixture('slow', { INIT_MS: '6000' }) })
      await groups.admin.ok('POST', '/api/servers', { name: 'missing', command: '/no/such/program' })
      await groups.admin.ok('POST', '/api/groups', { name: 'waiting', members: ['sleepy', 'missing', 'bare'] })
      const { client, heard } = await listening(groups.admin, '/mcp/waiting')
      const { value, ms } = await timed(() => toolNames(client))
      expect(ms).toBeLessThan(atMost(2_200))
      expect(value).toContain('raw')
      expect(value).not.toContain('wait')
      expect((await timed(() => toolNames(client))).ms).toBeLessThan(atMost(2_200))
      await until(() => heard.tools > 0, { what: 'the notice' })
      expect(await toolNames(client)).toContain('wait')
    }, 120_000)
  })
})
