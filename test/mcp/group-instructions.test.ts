import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '../support/client.ts'
import type { Hub } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { until } from '../support/wait.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'
import { sharedFixture } from './shared-fixture.ts'

setDefaultTimeout(20_000)
const SAYS = '## said\nSaid by it.'
const FILED = {
  name: 'filed',
  servers: ['said'],
  instructions: { text: 'From the file.', members: 'instead' },
  tags: ['Team A', 'eu'],
}
let hub: Hub
let admin: Client

beforeAll(async () => {
  const mcpServers = {
    said: { ...sharedFixture('varied', { NAME: 'said', INSTRUCTIONS: 'Said by it.' }), tags: ['EU', 'crm'] },
    plain: sharedFixture('varied', { NAME: 'plain' }),
  }
  ;({ hub, admin } = await startOnline({ settings: { mcpServers, groups: [FILED] } }))
  await admin.ok('POST', '/api/groups', { name: 'own', description: 'For people', members: ['said', 'plain'] })
}, 60_000)
afterAll(() => hub?.stop())

/** The instructions that clients of both eras read; both must read the same. */
async function instructions(path: string): Promise<string | undefined> {
  const legacy = (await admin.mcp(path)).getInstructions()
  const { result } = await new RawModern(hub, path, await admin.mcpKey()).call('server/discover')
  expect(result.instructions).toEqual(legacy)
  return legacy
}

describe('instructions of a group', () => {
  test('are its description and those of its members where it has none of its own', async () => {
    expect(await instructions('/mcp/own')).toBe(`For people\n\n${SAYS}`)
  })

  test('of its own stand before those of its members, or instead of them', async () => {
    const { instructions: shown } = await admin.ok('PATCH', '/api/groups/own', { instructions: 'Ask first.' })
    expect(shown).toEqual({ text: 'Ask first.', members: 'beside' })
    expect(await instructions('/mcp/own')).toBe(`Ask first.\n\n${SAYS}`)
    await admin.ok('PATCH', '/api/groups/own', { instructions: { members: 'instead' } })
    expect(await instructions('/mcp/own')).toBe('Ask first.')
    const smart = await instructions('/mcp/$smart/own')
    expect(smart).toStartWith('The tools here are found by search_tools')
    expect(smart).toEndWith('\n\nAsk first.')
    await admin.ok('PATCH', '/api/groups/own', { instructions: 'Ask\u202e\u001b[31m\nfirst.' })
    for (const path of ['/mcp/own', '/mcp/$smart/own'])
      expect(await instructions(path)).toContain('Ask⟨U+202E⟩⟨U+001B⟩[31m\nfirst.')
    await admin.ok('PATCH', '/api/groups/own', { instructions: null })
    expect(await instructions('/mcp/own')).toBe(`For people\n\n${SAYS}`)
  })

  test('come from the settings file, and a change is written there', async () => {
    expect(await instructions('/mcp/filed')).toBe('From the file.')
    await admin.ok('PATCH', '/api/groups/filed', { instructions: { text: 'Changed.' }, tags: ['eu'] })
    const { groups } = JSON.parse(await readFile(join(hub.folder, 'mcp_settings.json'), 'utf8'))
    expect(groups).toEqual([{ ...FILED, instructions: { text: 'Changed.', members: 'instead' }, tags: ['eu'] }])
    expect(await instructions('/mcp/filed')).toBe('Changed.')
  })
})

describe('tags', () => {
  const named = async (path: string) => (await admin.ok('GET', path)).items.map(({ name }: { name: string }) => name)

  test('of servers and groups filter their lists, in any letter case, and all of them', async () => {
    await admin.ok('PATCH', '/api/servers/plain', { tags: ['eu', 'Straße'] })
    await admin.ok('PATCH', '/api/groups/own', { tags: ['crm', 'eu'] })
    expect(await named('/api/servers?tag=Eu')).toEqual(['plain', 'said'])
    expect(await named('/api/servers?tag=eu&tag=CRM')).toEqual(['said'])
    expect(await named(`/api/servers?tag=${encodeURIComponent('STRASSE')}`)).toEqual(['plain'])
    expect(await named('/api/groups?tag=crm')).toEqual(['own'])
    expect(await named('/api/groups?tag=none')).toEqual([])
    expect((await admin.ok('GET', '/api/servers/said')).tags).toEqual(['EU', 'crm'])
  })

  test('of a public server are seen by others', async () => {
    await admin.ok('PATCH', '/api/servers/plain', { visibility: 'public' })
    const bob = await hub.user('bob')
    const { items } = await bob.ok('GET', '/api/servers?scope=visible&tag=eu')
    expect(items).toMatchObject([{ name: 'plain', tags: ['eu', 'Straße'] }])
  })

  test('go with an export', async () => {
    const exported = await admin.ok('POST', '/api/export', {})
    expect(exported.groups.own).toMatchObject({ tags: ['crm', 'eu'] })
    expect(exported.servers.said).toMatchObject({ tags: ['EU', 'crm'] })
  })
})

test('alert rules select servers by a tag, in any letter case', async () => {
  const subjects = async (tag: string): Promise<string[]> => {
    const rule = { name: 'tagged', condition: `request_count{${tag}}[5m] >= 0` }
    const { now } = await admin.ok('POST', '/api/monitoring/rule-preview', rule)
    return now.map(({ subject }: { subject: string }) => subject).sort()
  }
  for (const server of ['said', 'plain'])
    await admin.ok('POST', `/api/servers/${server}/tools/name/call`, { arguments: {} })
  await until(async () => (await subjects('tag!="none"')).length === 2)
  expect(await subjects('tag="CRM"')).toEqual(['admin~said'])
  expect(await subjects('tag="eu"')).toEqual(['admin~plain', 'admin~said'])
  expect(await subjects('tag!="crm", tag="eu"')).toEqual(['admin~plain'])
})
