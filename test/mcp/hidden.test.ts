import { describe, expect, test } from 'bun:test'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { callText, failureOf, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { methodsOf, seenBy, useGroups } from './group-members.ts'

const groups = useGroups()

describe('P-24 what is hidden', () => {
  const member = { tools: ['name', 'raw', 'say'], prompts: ['hello'], resources: ['one://a'] }

  test('P-24 is not callable, readable, completable or subscribable by name, and nothing of it goes upstream', async () => {
    await groups.admin.ok('POST', '/api/groups', { name: 'part', members: [{ server: 'one', ...member }] })
    const client = await groups.admin.mcp('/mcp/part')
    expect(await toolNames(client)).toEqual(['raw', 'say', 'name'])
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['hello'])
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(['one://a'])
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([])
    const before = (await seenBy(groups.admin, 'one')).length
    const argument = { name: 'x', value: '' }
    const refused = [
      client.callTool({ name: 'secret', arguments: {} }),
      client.callTool({ name: 'one_secret', arguments: {} }),
      client.getPrompt({ name: 'only_one' }),
      client.readResource({ uri: 'one://hidden' }),
      client.readResource({ uri: 'patchbay://one/one://hidden' }),
      client.readResource({ uri: 'one://item/1' }),
      client.subscribeResource({ uri: 'one://hidden' }),
      client.complete({ ref: { type: 'ref/prompt', name: 'only_one' }, argument }),
      client.complete({ ref: { type: 'ref/resource', uri: 'one://item/{id}' }, argument }),
    ]
    for (const work of refused) expect([-32602, -32002]).toContain((await failureOf(work)).code)
    expect((await client.readResource({ uri: 'one://a' })).contents).toMatchObject([{ text: 'one one://a' }])
    expect((await seenBy(groups.admin, 'one')).length - before).toBeLessThanOrEqual(3)
  })

  test('P-24 while a session is open is out of reach at once: tools, prompts, resources and subscriptions', async () => {
    await groups.admin.ok('POST', '/api/groups', { name: 'narrowed', members: ['one'] })
    const updated: string[] = []
    const client = await groups.admin.mcp('/mcp/narrowed', {
      prepare: one =>
        one.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri)),
    })
    await client.subscribeResource({ uri: 'one://hidden' })
    await client.subscribeResource({ uri: 'one://a' })
    expect(await callText(client, 'secret')).toContain('secret')
    await groups.admin.ok('PATCH', '/api/groups/narrowed', { members: [{ server: 'one', ...member }] })
    expect((await failureOf(callText(client, 'secret'))).code).toBe(-32602)
    expect((await failureOf(client.getPrompt({ name: 'only_one' }))).code).toBe(-32602)
    expect((await failureOf(client.readResource({ uri: 'one://hidden' }))).code).toBe(-32002)
    const say = (uri: string) => callText(client, 'say', { method: 'notifications/resources/updated', params: { uri } })
    await until(
      async () =>
        (await methodsOf(groups.admin, 'one')).filter(method => method === 'resources/unsubscribe').length > 0,
      {
        what: 'the upstream to hear that nobody is subscribed to what is hidden',
      },
    )
    await say('one://hidden')
    await say('one://a')
    await until(() => updated.length > 0, { what: 'the update' })
    expect(updated).toEqual(['one://a'])
  })

  test('P-24 a tool that is switched off at its server is gone everywhere, over REST too', async () => {
    const client = await groups.admin.mcp('/mcp/pair')
    const own = await groups.admin.mcp('/mcp/one')
    await groups.admin.ok('PATCH', '/api/servers/one/tools/secret', { enabled: false })
    for (const each of [client, own]) {
      expect(await toolNames(each)).not.toContain('secret')
      expect((await failureOf(callText(each, 'secret'))).code).toBe(-32602)
    }
    const answer = await groups.admin.request('POST', '/api/servers/one/tools/secret/call', {})
    expect([answer.status, answer.json.code]).toEqual([404, 'tool_not_found'])
    await groups.admin.ok('PATCH', '/api/servers/one/tools/secret', { enabled: true })
    expect(await callText(own, 'secret')).toContain('secret')
  })
})
