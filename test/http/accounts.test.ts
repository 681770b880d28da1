import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Answer } from '../support/client.ts'
import { beyondCore } from '../support/extent.ts'
import { Client, type Hub, LOOPBACK, PASSWORD, ROOT, send, startHub, stdioFixture } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { atMost } from '../support/pace.ts'
import { alive } from '../support/processes.ts'
import { type Program, startProgram } from '../support/program.ts'
import { failureOf, online, statusOf } from '../support/servers.ts'
import { timed, until } from '../support/wait.ts'
import { patient } from './rows.ts'

/** Longest time that open work may outlive the credential that it was begun with. */
const ENDS_WITHIN_MS = 5_000
let upstream: Program
let hub: Hub
let admin: Client
let hal: Client
let lea: Client

beforeAll(async () => {
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  hub = await startHub({ env: { ...LOOPBACK, STDIO_POLICY: 'admin' } })
  admin = await hub.setup()
  hal = await hub.user('hal')
  lea = await hub.user('lea')
  await admin.ok('POST', '/api/servers', { name: 'slow', visibility: 'public', ...stdioFixture('slow') })
  await online(admin, ['slow'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await upstream?.stop()
}, 120_000)

const codes = (answers: readonly Answer[]) => answers.map(answer => answer.status).sort()

/** Opens everything that a user may have open, with one credential, and returns how each ends. */
async function openAll(who: Client, credential: string) {
  const other = new Client(hub.url, who.name, credential)
  const stream = await openStream(other)
  const mcp = await other.mcp('/mcp/@admin/slow', { credential })
  const call = failureOf(mcp.callTool({ name: 'wait', arguments: { ms: 30_000 } }))
  const rest = other.request('POST', '/api/servers/admin~slow/tools/wait/call', { arguments: { ms: 30_000 } })
  const sse = other.request(
    'POST',
    '/api/servers/admin~slow/tools/wait/call',
    { arguments: { ms: 30_000 } },
    { accept: 'text/event-stream' },
  )
  await until(
    async () =>
      (await admin.ok('GET', '/api/admin/sessions')).items.some(
        (session: { userName: string; callsInFlight: number }) =>
          session.userName === who.name && session.callsInFlight > 0,
      ),
    { what: 'the call to be in flight' },
  )
  return { other, stream, mcp, call, rest, sse }
}

async function expectEnded({ other, stream, mcp, call, rest, sse }: Awaited<ReturnType<typeof openAll>>) {
  const { ms } = await timed(async () => {
    await until(() => stream.ended(), { what: 'the stream to end', timeoutMs: ENDS_WITHIN_MS })
    await call
    await Promise.all([rest, sse])
  })
  expect(ms).toBeLessThan(atMost(ENDS_WITHIN_MS))
  expect(stream.events.at(-1)).toMatchObject({ event: 'stream.end', data: { code: 'token_revoked' } })
  const restAnswer = await rest
  expect([restAnswer.status, restAnswer.json.code]).toEqual([401, 'token_revoked'])
  expect((await sse).text).toContain('token_revoked')
  expect((await other.request('GET', '/api/servers')).json.code).toBe('token_revoked')
  const next = await mcp.listTools().catch(error => error)
  expect(next).toBeInstanceOf(Error)
  await stream.close()
}

describe('open work ends within 5 s', () => {
  test('when a key is deleted', async () => {
    const ann = await hub.user('ann')
    const { id, secret } = await ann.ok('POST', '/api/keys', { label: 'k', scopes: ['api', 'mcp'] })
    const open = await openAll(ann, secret)
    await ann.ok('DELETE', `/api/keys/${id}`)
    await expectEnded(open)
  }, 120_000)

  beyondCore(() => {
    test('when the password is changed: with every other token, and not with a key', async () => {
      const ben = await hub.user('ben')
      const open = await openAll(ben, ben.token)
      const { secret } = await ben.ok('POST', '/api/keys', { label: 'k', scopes: ['api'] })
      const changing = await hub.signIn('ben')
      const changed = await changing.ok('POST', '/api/auth/password', {
        currentPassword: PASSWORD,
        newPassword: `${PASSWORD} and more`,
      })
      await expectEnded(open)
      expect((await changing.request('GET', '/api/auth/me')).json.code).toBe('token_revoked')
      for (const token of [changed.token, secret])
        expect((await new Client(hub.url, 'ben', token).request('GET', '/api/auth/me')).status).toBe(200)
    }, 120_000)
  })

  test('when the account is shut', async () => {
    const cid = await hub.user('cid')
    const open = await openAll(cid, cid.token)
    await admin.ok('PATCH', '/api/admin/users/cid', { disabled: true })
    await expectEnded(open)
  }, 120_000)

  test('when the user is removed, with servers, groups and keys by cascade', async () => {
    const dan = await hub.user('dan')
    await dan.ok('POST', '/api/servers', { name: 'mine', url: upstream.url })
    await dan.ok('POST', '/api/groups', { name: 'g', members: ['mine'] })
    await online(dan, ['mine'])
    const watching = await openStream(admin)
    const open = await openAll(dan, dan.token)
    expect((await admin.request('DELETE', '/api/admin/users/dan')).json.code).toBe('user_owns_resources')
    await admin.ok('DELETE', '/api/admin/users/dan?cascade=true')
    await expectEnded(open)
    expect((await admin.request('GET', '/api/servers/dan~mine')).status).toBe(404)
    const { items } = await admin.ok('GET', '/api/admin/processes')
    expect(items.filter((item: { owner: string }) => item.owner === 'dan')).toEqual([])
    for (const name of ['server.removed', 'group.removed']) await watching.next(({ event }) => event === name, name)
    await watching.close()
    const again = await send(hub.url, 'POST', '/api/auth/login', { username: 'dan', password: PASSWORD })
    expect(again.json.code).toBe('login_failed')
  }, 120_000)
})

describe('a user who is removed for an heir', () => {
  beyondCore(() => {
    test('leaves servers that stay online, groups that stay whole, and nothing that is named twice', async () => {
      const eve = await hub.user('eve')
      const flo = await hub.user('flo')
      await eve.ok('POST', '/api/servers', {
        name: 'kept',
        url: upstream.url,
        headers: { 'x-api-key': 'a secret of eve' },
      })
      await eve.ok('POST', '/api/groups', { name: 'g', members: ['kept'] })
      await flo.ok('POST', '/api/servers', { name: 'Kept', url: upstream.url })
      await online(eve, ['kept'])
      const twin = await admin.request('DELETE', '/api/admin/users/eve?transferTo=flo')
      expect([twin.status, twin.json.code]).toEqual([409, 'server_name_taken'])
      expect((await eve.request('GET', '/api/servers/kept')).status).toBe(200)
      await flo.ok('DELETE', '/api/servers/Kept')
      const watching = await openStream(flo)
      await admin.ok('DELETE', '/api/admin/users/eve?transferTo=flo')
      await watching.next(({ event, data }) => event === 'server.updated' && data.owner === 'flo')
      await watching.close()
      await online(flo, ['kept'])
      expect(await flo.ok('GET', '/api/servers/kept')).toMatchObject({
        ref: 'flo~kept',
        headers: { 'x-api-key': '•••• eve' },
      })
      expect((await flo.ok('GET', '/api/groups/g')).members).toMatchObject([{ server: 'flo~kept' }])
      expect(JSON.stringify(await flo.ok('POST', '/api/servers/kept/tools/whoami/call', {}))).toContain(
        'a secret of eve',
      )
      expect((await eve.request('GET', '/api/auth/me')).json.code).toBe('token_revoked')
    }, 120_000)
  })
})

describe('an administrator who becomes a user', () => {
  test('keeps servers, whose commands are ended', async () => {
    const gus = await hub.user('gus', 'admin')
    await gus.ok('POST', '/api/servers', { name: 'echo', ...stdioFixture('echo') })
    await online(gus, ['echo'])
    const { pid } = await statusOf(gus, 'echo')
    await admin.ok('PATCH', '/api/admin/users/gus', { role: 'user' })
    expect((await gus.request('GET', '/api/servers')).json.code).toBe('token_revoked')
    await until(() => !alive(pid ?? 0), { what: 'the process to end' })
    const again = await hub.signIn('gus')
    await until(async () => (await statusOf(again, 'echo')).reason?.code === 'stdio_not_permitted', {
      what: 'the reason',
    })
    expect((await again.request('GET', '/api/admin/users')).json.code).toBe('admin_only')
    const refused = async (verb: string): Promise<void> =>
      expect((await again.request('POST', `/api/servers/echo/${verb}`)).json.code).toBe('stdio_not_permitted')
    await refused('start')
    await refused('restart')
    expect((await statusOf(again, 'echo')).state).toBe('offline')
    expect((await again.request('POST', '/api/servers/echo/stop')).status).toBe(202)
    await refused('start')
  }, 120_000)
})

describe('at the same moment', () => {
  beyondCore(() => {
    test('when several create one name, one succeeds: servers, groups and users', async () => {
      const bodies = [
        ['/api/servers', { name: 'one', url: upstream.url, enabled: false }, 20],
        ['/api/groups', { name: 'one' }, 20],
        // For users, each request hashes a password.
        ['/api/admin/users', { username: 'one', password: PASSWORD }, 20],
      ] as const
      for (const [path, body, count] of bodies) {
        const caller = path.startsWith('/api/admin') ? admin : hal
        const answers = await Promise.all(
          Array.from({ length: count }, () => patient(() => caller.request('POST', path, body))),
        )
        expect(codes(answers)).toEqual([201, ...Array(count - 1).fill(409)])
      }
    }, 120_000)
  })

  test('patches of different fields are all kept, and of those that saw one revision one is', async () => {
    const { revision } = await hal.ok('POST', '/api/servers', { name: 's', url: upstream.url, enabled: false })
    const patches = Array.from({ length: 6 }, (_, at) => ({ variables: { [`V${at}`]: String(at) } }))
    const answers = await Promise.all(patches.map(patch => hal.request('PATCH', '/api/servers/s', patch)))
    expect(codes(answers)).toEqual(Array(6).fill(200))
    expect(Object.keys((await hal.ok('GET', '/api/servers/s')).variables).sort()).toEqual([
      'V0',
      'V1',
      'V2',
      'V3',
      'V4',
      'V5',
    ])
    const now = revision + 6
    const races = await Promise.all(
      patches.map((_, at) =>
        hal.request('PATCH', '/api/servers/s', { description: `${at}` }, { 'if-match': `"${now}"` }),
      ),
    )
    expect(codes(races)).toEqual([200, ...Array(5).fill(412)])
  })

  test('two administrators cannot both demote each other', async () => {
    const one = await hub.user('jan', 'admin')
    await admin.ok('POST', '/api/servers', { name: 'keeps-admin', url: 'https://mcp.example/', enabled: false })
    const answers = await Promise.all([
      one.request('PATCH', '/api/admin/users/admin', { role: 'user' }),
      admin.request('PATCH', '/api/admin/users/jan', { role: 'user' }),
    ])
    const left = (await Promise.all([admin, one].map(who => who.request('GET', '/api/admin/users')))).filter(
      ({ status }) => status === 200,
    )
    expect(codes(answers).filter(status => status === 200)).toHaveLength(1)
    expect(left).toHaveLength(1)
    if (answers[0]?.status !== 200) return
    // The first administrator gets the role back, for the tests that follow.
    await one.ok('PATCH', '/api/admin/users/admin', { role: 'admin' })
    const again = await hub.signIn('admin')
    await again.ok('PATCH', '/api/admin/users/jan', { role: 'user' })
    admin = again
  })

  beyondCore(() => {
    test('a server that is deleted while it starts leaves no process and no record', async () => {
      await admin.ok('POST', '/api/servers', { name: 'starting', ...stdioFixture('deaf') })
      const pid = await until(
        async () =>
          (await admin.ok('GET', '/api/admin/processes')).items.find(
            (item: { server: string }) => item.server === 'admin~starting',
          )?.pid,
        { what: 'its process' },
      )
      expect((await admin.request('DELETE', '/api/servers/starting')).status).toBe(204)
      expect((await admin.request('DELETE', '/api/servers/starting')).status).toBe(404)
      await until(() => !alive(pid), { what: 'the process to end' })
      await admin.ok('POST', '/api/servers', { name: 'starting', ...stdioFixture('echo') })
      await online(admin, ['starting'])
    }, 120_000)
  })
})

test('a fresh server is connecting, a switched-off one offline, in the answer that makes it', async () => {
  // It takes connections and says nothing: another server could be online before the answer is written.
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  try {
    const url = `http://127.0.0.1:${silent.port}/mcp`
    const on = await admin.ok('POST', '/api/servers', { name: 'fresh', url })
    expect(on.status.state).toBe('connecting')
    const off = await admin.ok('POST', '/api/servers', { name: 'fresh off', url, enabled: false })
    expect(off.status).toMatchObject({ state: 'offline', reason: { code: 'stopped' } })
    expect((await admin.ok('PATCH', '/api/servers/fresh off', { enabled: true })).status.state).toBe('connecting')
    for (const name of ['fresh', 'fresh off']) await admin.ok('DELETE', `/api/servers/${name}`)
  } finally {
    silent.stop(true)
  }
})

test('a server that an administrator gives away is gone for who had it, and told so', async () => {
  await hal.ok('POST', '/api/servers', { name: 'given', url: upstream.url, enabled: false })
  const [hals, leas] = await Promise.all([hal, lea].map(who => openStream(who)))
  await admin.ok('PATCH', '/api/servers/hal~given', { owner: 'lea' })
  await hals?.next(({ event, data }) => event === 'server.removed' && data.data.name === 'given')
  await leas?.next(({ event, data }) => event === 'server.updated' && data.owner === 'lea')
  expect(leas?.events.some(({ event }) => event === 'server.removed')).toBe(false)
  expect((await hal.request('GET', '/api/servers/given')).status).toBe(404)
  expect((await lea.request('GET', '/api/servers/given')).status).toBe(200)
  await hals?.close()
  await leas?.close()
})
