/**
 * Colleagues: unknown members of a group, other people's deeds at a server, the live stream, and edits that use rights or secrets
 * of the owner.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, ROOT, startHub } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { expectRefusal, refusalOfRecords } from '../support/plugins-off.ts'
import { type Program, startProgram } from '../support/program.ts'
import { online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

setDefaultTimeout(120_000)

const BOX = '/api/groups/bob~box'
let upstream: Program
let hub: Hub
let admin: Client
let bob: Client
let carl: Client
let nora: Client

beforeAll(async () => {
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
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
    const found = await carl.request('GET', '/api/logs/search?q=tools/call')
    const usage = await carl.request('GET', '/api/usage?server=bob~west&by=user')
    const { items } = await carl.ok('GET', '/api/quotas')
    const overview = await carl.request('GET', '/api/monitoring/overview')
    expect([role, usage.json.code]).toEqual([role, 'not_owner'])
    const unread = refusalOfRecords()
    if (unread) {
      for (const answer of [found, overview]) expectRefusal(answer, unread, role)
    } else {
      const { calls, topUsers } = overview.json
      expect([role, found.json.total, calls.total, topUsers]).toEqual([...[role, 0, 0, []]])
    }
    // The quota counts for carl too, who sees the use of nobody else.
    expect(items).toEqual([
      {
        ...{ of: 'server', id: expect.any(String), name: 'west', owner: 'bob', quota: { perDay: 100 } },
        used: { perDay: 0, resultTokensPerDay: 0 },
      },
    ])
  }
})

describe('an edit by a colleague', () => {
  const PATH = '/api/servers/bob~held'
  const answer = async (patch: object) => {
    const { status, json } = await carl.request('PATCH', PATH, patch)
    const errors = (json.errors ?? []).map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code])
    return [status, json.code, json.role, errors]
  }
  beforeAll(async () => {
    const headers = { Authorization: 'Bearer of-bob-4711' }
    await bob.ok('POST', '/api/servers', { name: 'held', url: upstream.url, headers, enabled: false })
    await bob.ok('PUT', '/api/servers/held/shares/user:carl', { role: 'change' })
  })

  test('sends the secrets of its owner to no other path by a health check', async () => {
    const required = [400, 'validation_failed', undefined, [['#/headers/Authorization', 'secret_required']]]
    expect(await answer({ healthCheck: { endpoints: { ping: '/account/export?all=1' } } })).toEqual(required)
    expect(await answer({ healthCheck: { endpoints: { tools: '/account' } } })).toEqual(required)
    expect((await answer({ healthCheck: { interval: 60_000 } }))[0]).toBe(200)
    await bob.ok('PATCH', PATH, { healthCheck: { endpoints: { ping: '/health' } } })
    expect((await answer({ healthCheck: { interval: 70_000 } }))[0]).toBe(200)
    const own = { headers: { Authorization: 'Bearer of-carl' }, healthCheck: { endpoints: { ping: '/other' } } }
    expect((await answer(own))[0]).toBe(200)
  })

  test('sends the headers that callers pass on nowhere else, and no further ones', async () => {
    const server = { name: 'passing', url: upstream.url, passthroughHeaders: ['X-Mine'], enabled: false }
    await bob.ok('POST', '/api/servers', server)
    await bob.ok('PUT', '/api/servers/passing/shares/user:carl', { role: 'change' })
    const change = async (patch: object) => {
      const { status, json } = await carl.request('PATCH', '/api/servers/bob~passing', patch)
      return status === 200 ? status : [status, json.code, json.role]
    }
    const needed = [403, 'owner_rights_needed', 'change']
    const elsewhere = new URL('/elsewhere', upstream.url).href
    expect(await change({ url: elsewhere })).toEqual(needed)
    expect(await change({ passthroughHeaders: ['X-Mine', 'X-More'] })).toEqual(needed)
    expect(await change({ description: 'by carl' })).toBe(200)
    expect(await change({ url: elsewhere, passthroughHeaders: [] })).toBe(200)
    expect(await change({ passthroughHeaders: ['X-Mine'] })).toEqual(needed)
  })

  test('of whose credentials are used is refused as its owner’s to decide, with the role', async () => {
    await bob.ok('PATCH', PATH, { headers: { Authorization: 'Bearer of-bob-4712' } })
    expect(await answer({ credentials: 'caller' })).toEqual([403, 'not_owner', 'change', []])
  })
})

test('a colleague renames nothing: the name is an address, and another one could be that of something else of the owner', async () => {
  await bob.ok('POST', '/api/servers', { name: 'ours', url: upstream.url, enabled: false })
  await bob.ok('POST', '/api/groups', { name: 'shelf', members: [] })
  for (const thing of ['servers/ours', 'groups/shelf'])
    await bob.ok('PUT', `/api/${thing}/shares/user:carl`, { role: 'change' })
  const rename = async (thing: string, name: string) => {
    const { status, json } = await carl.request('PATCH', `/api/${thing}`, { name })
    return [status, json.code, json.role]
  }
  // Names of private things of the owner are answered as free ones.
  for (const thing of ['servers/bob~ours', 'groups/bob~shelf'])
    for (const name of ['inner', 'box', 'free']) expect(await rename(thing, name)).toEqual([403, 'not_owner', 'change'])
  for (const thing of ['servers/bob~ours', 'groups/bob~shelf'])
    expect((await rename(thing, thing.endsWith('ours') ? 'ours' : 'shelf'))[0]).toBe(200)
})

test('who waits for a start gets nothing of it when the share ends meanwhile', async () => {
  const begun = Promise.withResolvers<void>()
  const held = Promise.withResolvers<Response>()
  using silent = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    fetch: async () => {
      begun.resolve()
      return (await held.promise).clone()
    },
  })
  await bob.ok('POST', '/api/servers', { name: 'silent', url: silent.url.href, enabled: false })
  await bob.ok('PUT', '/api/servers/silent/shares/user:carl', { role: 'change' })
  const waiting = carl.request('POST', '/api/servers/bob~silent/start?wait=60s')
  await begun.promise
  await bob.ok('DELETE', '/api/servers/silent/shares/user:carl')
  held.resolve(new Response('none', { status: 500 }))
  const { status, json } = await waiting
  expect([status, json.code]).toEqual([404, 'server_not_found'])
  await bob.ok('DELETE', '/api/servers/silent')
})

describe('the live stream', () => {
  /** The events about the server west that each reader gets, until a later one of its own. */
  const eventsOf = async (readers: Readonly<Record<string, Client>>, act: () => Promise<unknown>) => {
    const streams = await Promise.all(Object.values(readers).map(who => openStream(who, '?topics=servers')))
    await act()
    await Promise.all(
      streams.map(async (stream, at) => {
        const [name, who] = Object.entries(readers)[at] as [string, Client]
        await who.ok('POST', '/api/groups', { name: `last-of-${name}` })
        await stream.next(({ data }) => data?.data?.name === `last-of-${name}`)
      }),
    )
    const seen = streams.map(stream => [...stream.text().matchAll(/^data: (\{.*\})$/gm)].map(([, text]) => text ?? ''))
    await Promise.all(streams.map(stream => stream.close()))
    for (const [name, who] of Object.entries(readers)) await who.ok('DELETE', `/api/groups/last-of-${name}`)
    return Object.fromEntries(
      Object.keys(readers).map((name, at) => [
        name,
        (seen[at] ?? []).map(text => JSON.parse(text)).filter(({ data }) => ['west', 'box'].includes(data.name)),
      ]),
    )
  }
  const short = (events: readonly { event: string; data: { reason?: object } }[] = []) => [
    ...new Set(events.map(({ event, data }) => `${event}${data.reason ? ' with its reason' : ''}`)),
  ]

  test('follows shared things in each role, without the reason of a failure for `use`', async () => {
    const [ulla, sean] = [await hub.user('ulla'), await hub.user('sean')]
    await bob.ok('PUT', '/api/servers/west/shares', {
      shares: [
        { subject: 'user:ulla', role: 'use' },
        { subject: 'user:sean', role: 'see' },
        { subject: 'user:carl', role: 'change' },
      ],
    })
    const events = await eventsOf({ ulla, sean, carl, nora }, async () => {
      await bob.ok('POST', '/api/servers/west/stop?wait=30s')
      await bob.ok('PATCH', BOX, { description: 'said to carl alone' })
    })
    const stopped = ['server.updated', 'connection.state with its reason']
    expect(short(events.sean)).toEqual(stopped)
    expect(short(events.carl)).toEqual([...stopped, 'group.updated'])
    expect(short(events.ulla)).toEqual(['server.updated', 'connection.state'])
    expect(events.nora).toEqual([])
    await bob.ok('DELETE', '/api/servers/west/shares/user:sean')
    const later = await eventsOf({ sean, carl }, () => bob.ok('POST', '/api/servers/west/start?wait=30s'))
    expect(later.sean).toEqual([])
    expect(short(later.carl)).toContain('connection.state')
    const removed = await eventsOf({ carl, nora }, () => bob.ok('DELETE', '/api/servers/west'))
    expect([short(removed.carl).includes('server.removed'), removed.nora]).toEqual([true, []])
  })

  test('ends with the account of the owner: what an administrator changes there is for administrators', async () => {
    const olga = await hub.user('olga')
    await olga.ok('POST', '/api/servers', { name: 'west', url: upstream.url })
    await olga.ok('POST', '/api/groups', { name: 'box', visibility: 'public', members: ['west'] })
    await online(olga, ['west'])
    await olga.ok('PUT', '/api/servers/west/shares/user:carl', { role: 'change' })
    const ended = await eventsOf({ carl }, async () => {
      await admin.ok('PATCH', '/api/admin/users/olga', { disabled: true })
      await until(async () => (await statusOf(admin, 'olga~west')).state === 'offline')
    })
    expect(short(ended.carl)).toEqual(['connection.state'])
    const edit = (description: string) => async () => {
      await admin.ok('PATCH', '/api/servers/olga~west', { description })
      await admin.ok('PATCH', '/api/groups/olga~box', { description })
    }
    const edited = await eventsOf({ carl, nora, admin }, edit('of a disabled owner'))
    expect([edited.carl, edited.nora]).toEqual([[], []])
    expect(short(edited.admin)).toEqual(['server.updated', 'group.updated'])
    await admin.ok('PATCH', '/api/admin/users/olga', { disabled: false })
    const again = await eventsOf({ carl, nora }, edit('of an owner again'))
    expect(short(again.carl)).toEqual(expect.arrayContaining(['server.updated', 'group.updated']))
    expect(short(again.nora)).toEqual(['group.updated'])
  })
})
