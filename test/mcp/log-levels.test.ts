import { beforeAll, describe, expect, test } from 'bun:test'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { type Client, stdioFixture } from '../support/hub.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { callText, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { LOGGING, seenBy, useGroups } from './group-members.ts'

const groups = useGroups()

describe('P-21 log levels', () => {
  interface Ear {
    readonly client: McpClient
    readonly heard: string[]
  }
  async function ear(path: string): Promise<Ear> {
    const heard: string[] = []
    const client = await groups.admin.mcp(path, {
      prepare: one =>
        one.setNotificationHandler(
          LoggingMessageNotificationSchema,
          ({ params }) => void heard.push(`${params.level} ${(params.data as { text: string }).text}`),
        ),
    })
    return { client, heard }
  }
  const emit = ({ client }: Ear, log: string, text: string) => callText(client, 'emit', { count: 1, log, text })

  test('P-21 are of one session: a message of one’s call never reaches another, whatever the levels', async () => {
    const [a, b] = [await ear('/mcp/two'), await ear('/mcp/alone')]
    await a.client.setLoggingLevel('debug')
    await b.client.setLoggingLevel('error')
    for (const level of ['debug', 'info', 'error']) {
      await emit(a, level, 'of a')
      await emit(b, level, 'of b')
    }
    await until(() => a.heard.length >= 3 && b.heard.length >= 1, { what: 'the messages' })
    expect(a.heard).toEqual(['debug of a', 'info of a', 'error of a'])
    expect(b.heard).toEqual(['error of b'])
    await a.client.close()
    await b.client.close()
  })

  test('P-21 of calls that run at once on one shared pipe reach nobody else, nor do those of a call that was given up', async () => {
    const [a, b] = [await ear('/mcp/two'), await ear('/mcp/two')]
    const talk = (one: Ear, text: string, signal?: AbortSignal) =>
      one.client.callTool(
        { name: 'emit', arguments: { count: 12, gapMs: 40, log: 'error', text } },
        undefined,
        signal ? { signal } : {},
      )
    await Promise.all([talk(a, 'of a'), talk(b, 'of b')])
    expect(a.heard.filter(text => text.includes('of b'))).toEqual([])
    expect(b.heard.filter(text => text.includes('of a'))).toEqual([])
    // The upstream pays no attention to the cancellation and goes on talking.
    const leaving = new AbortController()
    const given = talk(a, 'a secret of a', leaving.signal).catch(() => undefined)
    await until(() => a.heard.includes('error a secret of a'), { what: 'the first message' })
    leaving.abort()
    await given
    await b.client.callTool({ name: 'emit', arguments: { count: 15, gapMs: 40 } })
    expect(b.heard.filter(text => text.includes('secret'))).toEqual([])
  })

  // Somebody whose servers no other session of these tests has among all of its owner's.
  let lena: Client
  beforeAll(async () => {
    lena = await groups.hub.user('lena', 'admin')
  }, 120_000)
  const raw = async (path: string) => new RawClient(groups.hub, path, await lena.mcpKey()).open()
  const levels = async (server: string) =>
    (await seenBy(lena, server))
      .filter(({ method }) => method === 'logging/setLevel')
      .map(({ params }) => params?.level)

  test('P-21 the upstream hears the most verbose of all: also when a session comes, and when one ends', async () => {
    await lena.ok('POST', '/api/servers', { name: 'levelled', ...stdioFixture('varied', { CAPABILITIES: LOGGING }) })
    await online(lena, ['levelled'])
    const told = (level: string) =>
      until(async () => (await levels('levelled')).at(-1) === level, { what: `the upstream to be told ${level}` })
    const strict = await raw('/mcp/levelled')
    await strict.call('logging/setLevel', { level: 'error' })
    await told('error')
    // A session that never set a level gets what is usual, whatever another one wants.
    const plain = await raw('/mcp/levelled')
    await told('info')
    const loud = await raw('/mcp/levelled')
    await loud.call('logging/setLevel', { level: 'debug' })
    await told('debug')
    await loud.delete()
    await told('info')
    await plain.delete()
    await strict.call('logging/setLevel', { level: 'warning' })
    await told('warning')
    await strict.delete()
    await told('info')
  })

  test('P-21 reach a member that joins the group later, and one that restarts', async () => {
    for (const name of ['early', 'joining'])
      await lena.ok('POST', '/api/servers', { name, ...stdioFixture('varied', { CAPABILITIES: LOGGING }) })
    await online(lena, ['early', 'joining'])
    await lena.ok('POST', '/api/groups', { name: 'growing', members: ['early'] })
    const client = await raw('/mcp/growing')
    await client.call('logging/setLevel', { level: 'debug' })
    expect(await levels('joining')).toEqual([])
    await lena.ok('PUT', '/api/groups/growing/members/joining', {})
    await until(async () => (await levels('joining')).length > 0, { what: 'the new member to be told' })
    await lena.ok('POST', '/api/servers/joining/restart?wait=10s')
    await until(async () => (await levels('joining')).length > 0, { what: 'the restarted member to be told' })
    expect(await levels('joining')).toEqual(['debug'])
    await client.delete()
  })
})
