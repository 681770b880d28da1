/** Sharing of servers and groups over HTTP and MCP: what each role may do, and that nothing rises. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { LIMITS } from '../../core/config/limits.ts'
import { Client, type Hub, LOOPBACK, PASSWORD, ROOT, startHub } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { oldSession } from '../support/old-session.ts'
import { refusedWithout } from '../support/plugins-off.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, failureOf, online, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const SECRET = 'Bearer of-bob-alone-4711'
let upstream: Program
let hub: Hub
let ada: Client
let bob: Client
let cleo: Client
let dora: Client

const give = (path: string, subject: string, role: string, by = bob) =>
  by.request('PUT', `/api/${path}/shares/${subject}`, { role })
const end = (path: string, subject: string, by = bob) => by.request('DELETE', `/api/${path}/shares/${subject}`)
const refused = ({ status, json }: { status: number; json: { code: string; role?: string } }) => [
  ...[status, json.code, json.role],
]

beforeAll(async () => {
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  hub = await startHub({ env: LOOPBACK })
  ada = await hub.setup()
  bob = await hub.user('bob')
  cleo = await hub.user('cleo')
  dora = await hub.user('dora')
  const headers = { Authorization: SECRET, 'X-Plain': 'seen' }
  for (const name of ['notes', 'inner']) await bob.ok('POST', '/api/servers', { name, url: upstream.url, headers })
  await dora.ok('POST', '/api/servers', { name: 'others', url: upstream.url })
  await online(bob, ['notes', 'inner'])
  await online(dora, ['others'])
  await dora.ok('PUT', '/api/servers/others/shares/user:bob', { role: 'use' })
  await bob.ok('POST', '/api/groups', {
    name: 'daily',
    members: [
      { server: 'inner', tools: ['echo'] },
      { server: 'dora~others', tools: ['whoami'] },
    ],
  })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await upstream?.stop()
}, 120_000)

describe('a share', () => {
  test('opens a private server to its subject alone, and its end closes it', async () => {
    expect((await cleo.request('GET', '/api/servers/bob~notes')).status).toBe(404)
    const put = await give('servers/notes', 'user:cleo', 'use')
    expect([put.status, put.json.subject, put.json.role, put.json.grantedBy]).toEqual([200, 'user:cleo', 'use', 'bob'])
    const seen = await cleo.request('GET', '/api/servers/notes')
    expect([seen.status, seen.json.role, seen.json.url, seen.json.headers]).toEqual([200, 'use', undefined, undefined])
    expect((await dora.request('GET', '/api/servers/bob~notes')).status).toBe(404)
    const listed = await cleo.ok('GET', '/api/servers?shared=me')
    expect(listed.items.map(({ name, role }: { name: string; role: string }) => [name, role])).toEqual([
      ['notes', 'use'],
    ])
    expect((await end('servers/notes', 'user:cleo')).status).toBe(204)
    expect((await cleo.request('GET', '/api/servers/bob~notes')).status).toBe(404)
    expect((await cleo.ok('GET', '/api/servers?shared=me')).items).toEqual([])
  })

  test('is left by its subject, who cannot end those of others', async () => {
    await give('servers/notes', 'user:cleo', 'change')
    await give('servers/notes', 'user:dora', 'use')
    expect(refused(await end('servers/bob~notes', 'user:dora', cleo))).toEqual([403, 'not_owner', 'change'])
    expect(refused(await end('servers/bob~notes', 'user:nobody', cleo))).toEqual([403, 'not_owner', 'change'])
    expect((await end('servers/bob~notes', 'user:cleo', cleo)).status).toBe(204)
    expect((await end('servers/bob~notes', 'user:cleo', cleo)).status).toBe(404)
    expect((await end('servers/notes', 'user:dora')).status).toBe(204)
    expect((await end('servers/notes', 'user:dora')).json.code).toBe('share_not_found')
  })

  test('needs a subject that exists, and is not the owner', async () => {
    expect((await give('servers/notes', 'user:nobody', 'use')).json.code).toBe('user_not_found')
    expect((await give('servers/notes', 'team:nobody', 'use')).json.code).toBe('team_not_found')
    expect((await give('servers/notes', 'nobody', 'use')).json.code).toBe('share_not_found')
    expect((await give('servers/notes', 'user:bob', 'use')).json.errors[0].pointer).toBe('#/subject')
    expect((await give('servers/notes', 'user:cleo', 'owner')).json.code).toBe('validation_failed')
    const twice = [1, 2].map(() => ({ subject: 'user:cleo', role: 'use' }))
    const all = await bob.request('PUT', '/api/servers/notes/shares', {
      shares: [...twice, { subject: 'user:x', role: 'use' }],
    })
    expect(all.json.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code])).toEqual([
      ['#/shares/1/subject', 'duplicate'],
      ['#/shares/2/subject', 'enum'],
    ])
  })

  test('of a team holds for its members, and ends when one leaves or the team is deleted', async () => {
    const made = await ada.ok('POST', '/api/admin/teams', { name: 'crew', members: ['cleo', 'dora'] })
    expect([made.name, made.members]).toEqual(['crew', ['cleo', 'dora']])
    expect((await ada.request('POST', '/api/admin/teams', { name: 'Crew' })).json.code).toBe('name_taken')
    expect((await bob.request('POST', '/api/admin/teams', { name: 'mine' })).status).toBe(403)
    expect((await bob.ok('GET', '/api/teams/crew')).members).toBeUndefined()
    expect((await cleo.ok('GET', '/api/teams')).items[0].members).toEqual(['cleo', 'dora'])
    await give('servers/notes', 'team:crew', 'see')
    await give('servers/notes', 'user:cleo', 'use')
    const role = async (who: Client) => (await who.request('GET', '/api/servers/bob~notes')).json.role
    expect([await role(cleo), await role(dora)]).toEqual(['see', 'see'])
    await ada.ok('PATCH', '/api/admin/teams/crew', { members: ['dora'] })
    expect([await role(cleo), await role(dora)]).toEqual(['use', 'see'])
    await ada.ok('DELETE', '/api/admin/teams/crew')
    expect([await role(cleo), await role(dora)]).toEqual(['use', undefined])
    expect((await bob.ok('GET', '/api/servers/notes/shares')).items.length).toBe(1)
    await end('servers/notes', 'user:cleo')
  })

  test('is announced to its owner and its subject alone, and audited', async () => {
    const streams = await Promise.all([bob, cleo, dora].map(who => openStream(who, '?topics=shares')))
    const [ofBob, ofCleo, ofDora] = streams
    await give('servers/notes', 'user:cleo', 'see')
    const about = { kind: 'server', ref: 'bob~notes', subject: 'user:cleo', role: 'see' }
    for (const stream of [ofBob, ofCleo]) {
      const { data } = (await stream?.next(({ event }) => event === 'share.changed')) ?? {}
      expect(data.data).toMatchObject(about)
    }
    await end('servers/notes', 'user:cleo')
    await ofCleo?.next(({ data }) => data?.data?.role === null)
    // An event of dora's own, after which those before it would have come.
    await dora.ok('PUT', '/api/servers/others/shares/user:cleo', { role: 'use' })
    await ofDora?.next(({ event }) => event === 'share.changed')
    expect(ofDora?.text()).not.toContain('bob~notes')
    await dora.ok('DELETE', '/api/servers/others/shares/user:cleo')
    await Promise.all(streams.map(stream => stream.close()))
    const { items } = await ada.ok('GET', '/api/admin/audit?action=server.share&limit=4')
    expect(items.map(({ target }: { target: string }) => target)).toContain('bob~notes')
  })

  test('ends with the account of either side, and rests while the owner is disabled', async () => {
    const [eve, finn] = [await hub.user('eve'), await hub.user('finn')]
    await eve.ok('POST', '/api/servers', { name: 'hers', url: upstream.url })
    await eve.ok('PUT', '/api/servers/hers/shares/user:finn', { role: 'see' })
    await eve.ok('PUT', '/api/servers/hers/shares/user:cleo', { role: 'see' })
    const status = async () => (await cleo.request('GET', '/api/servers/eve~hers')).status
    expect(await status()).toBe(200)
    await ada.ok('DELETE', '/api/admin/users/finn')
    expect((await finn.request('GET', '/api/servers/eve~hers')).status).toBe(401)
    expect((await eve.ok('GET', '/api/servers/hers/shares')).items.length).toBe(1)
    await ada.ok('PATCH', '/api/admin/users/eve', { disabled: true })
    expect(await status()).toBe(404)
    await ada.ok('PATCH', '/api/admin/users/eve', { disabled: false })
    expect(await status()).toBe(200)
    // A transfer keeps the shares, but for the new owner's own.
    await ada.ok('PATCH', '/api/servers/eve~hers', { owner: 'cleo' })
    expect((await cleo.ok('GET', '/api/servers/hers')).role).toBe('owner')
    expect((await cleo.ok('GET', '/api/servers/hers/shares')).items).toEqual([])
    await ada.ok('DELETE', '/api/admin/users/eve')
    await cleo.ok('DELETE', '/api/servers/hers')
  })

  test('is opened by a key of its group alone, until it ends', async () => {
    await give('groups/daily', 'user:cleo', 'use')
    const scopes = [{ group: 'bob~daily' }]
    const { secret: credential, id } = await cleo.ok('POST', '/api/keys', { label: 'one', scopes })
    const listed = async () => (await cleo.ok('GET', '/api/keys')).items.find((key: { id: string }) => key.id === id)
    expect((await listed()).scopes).toEqual(scopes)
    const client = await cleo.mcp('/mcp/@bob/daily', { credential })
    expect(await toolNames(client)).toEqual(['echo'])
    expect((await failureOf(cleo.mcp('/mcp/@bob/inner', { credential }))).message).toContain('no group or server')
    await end('groups/daily', 'user:cleo')
    expect((await failureOf(client.callTool({ name: 'echo', arguments: {} }))).message).toBeTruthy()
    expect((await failureOf(cleo.mcp('/mcp/@bob/daily', { credential }))).message).toContain('no group or server')
    // Neither its present name nor that it is still there.
    expect((await listed()).scopes).toEqual([])
    expect((await cleo.ok('POST', `/api/keys/${id}/rotate`)).scopes).toEqual([])
    await client.close()
  })

  test('is in the owner’s export, and given again by an import to whom it names', async () => {
    await give('servers/notes', 'user:cleo', 'see')
    const document = await bob.ok('POST', '/api/export', {})
    expect(document.shares).toEqual({ servers: { notes: [{ subject: 'user:cleo', role: 'see' }] } })
    expect((await cleo.ok('POST', '/api/export', {})).shares).toBeUndefined()
    const plan = await bob.ok('POST', '/api/import?dryRun=true', { document: JSON.stringify(document) })
    const planned = plan.items.find(({ kind }: { kind: string }) => kind === 'shares')
    expect([planned.name, planned.of, planned.verdict]).toEqual(['notes', 'server', 'same'])
    await end('servers/notes', 'user:cleo')
  })

  test('is no more than its limits', async () => {
    ada.patient = true
    const shares = Array.from({ length: LIMITS.sharesPerThing + 1 }, (_, at) => ({
      subject: `user:u${at}`,
      role: 'use',
    }))
    expect((await bob.request('PUT', '/api/servers/notes/shares', { shares })).status).toBe(400)
    const members = Array.from({ length: LIMITS.teamMembers + 1 }, (_, at) => `u${at}`)
    expect((await ada.request('POST', '/api/admin/teams', { name: 'large', members })).status).toBe(400)
    for (let at = 0; at < LIMITS.teams; at += 1) await ada.ok('POST', '/api/admin/teams', { name: `t${at}` })
    const more = await ada.request('POST', '/api/admin/teams', { name: 'more' })
    expect([more.status, more.json.code]).toEqual([409, 'quota_shares'])
    for (let at = 0; at < LIMITS.teams; at += 1) await ada.ok('DELETE', `/api/admin/teams/t${at}`)
  })
})

describe('each role', () => {
  const path = '/api/servers/bob~notes'
  const asks: readonly (readonly [string, string, object | undefined])[] = [
    ['GET', `${path}/tools`, undefined],
    ['GET', `${path}/logs`, undefined],
    ['POST', `${path}/refresh`, {}],
    ['PATCH', path, { description: 'by a colleague' }],
    ['PATCH', path, { visibility: 'public' }],
    ['GET', `${path}/shares`, undefined],
    ['PUT', `${path}/shares/user:dora`, { role: 'use' }],
    ['PUT', `${path}/shares/user:cleo`, { role: 'change' }],
    ['PUT', `${path}/shares`, { shares: [] }],
    ['DELETE', path, undefined],
  ]
  test.each([
    ['use', [200, 403, 403, 403, 403, 403, 403, 403, 403, 403]],
    ['see', [200, 200, 403, 403, 403, 403, 403, 403, 403, 403]],
    ['change', [200, 200, 202, 200, 403, 403, 403, 403, 403, 403]],
  ])('%s may do what it says, and gets its role with each refusal', async (role, expected) => {
    await give('servers/notes', 'user:cleo', role)
    for (const [index, [method, where, body]] of asks.entries()) {
      const answer = await cleo.request(method, where, body)
      expect([method, where, answer.status]).toEqual([method, where, expected[index] ?? 0])
      if (answer.status === 403) expect([answer.json.code, answer.json.role]).toEqual(['not_owner', role])
    }
    const seen = await cleo.ok('GET', path)
    expect(seen.headers?.['X-Plain']).toBe(role === 'use' ? undefined : 'seen')
    expect(JSON.stringify(seen)).not.toContain('of-bob-alone')
    await end('servers/notes', 'user:cleo')
  })
})

describe('under /mcp', () => {
  test('a shared server is at its owner’s path, never at the caller’s own, nor among all servers', async () => {
    await give('servers/notes', 'user:cleo', 'use')
    const client = await cleo.mcp('/mcp/@bob/notes')
    expect(await toolNames(client)).toContain('echo')
    expect(await callText(client, 'echo', { text: 'hi' })).toBe('hi')
    await client.close()
    expect((await failureOf(cleo.mcp('/mcp/notes'))).message).toContain('no group or server')
    const all = await cleo.mcp('/mcp')
    expect(await toolNames(all)).toEqual([])
    await all.close()
    await end('servers/notes', 'user:cleo')
    expect((await failureOf(cleo.mcp('/mcp/@bob/notes'))).message).toContain('no group or server')
  })

  test('a shared group brings its owner’s private members alone, in its selection', async () => {
    await give('groups/daily', 'user:cleo', 'use')
    const client = await cleo.mcp('/mcp/@bob/daily')
    expect(await toolNames(client)).toEqual(['echo'])
    expect(await callText(client, 'echo', { text: 'hi' })).toBe('hi')
    expect((await failureOf(client.callTool({ name: 'whoami', arguments: {} }))).message).toBeTruthy()
    expect((await cleo.request('GET', '/api/servers/bob~inner')).status).toBe(404)
    expect((await failureOf(cleo.mcp('/mcp/@bob/inner'))).message).toContain('no group or server')
    expect((await cleo.request('POST', '/api/groups/bob~daily/tools/echo', { text: 'hi' })).status).toBe(200)
    await dora.ok('PUT', '/api/servers/others/shares/user:cleo', { role: 'use' })
    const both = await cleo.mcp('/mcp/@bob/daily')
    expect((await toolNames(both)).toSorted()).toEqual(['echo', 'whoami'])
    await dora.ok('DELETE', '/api/servers/others/shares/user:cleo')
    await end('groups/daily', 'user:cleo')
    expect((await failureOf(cleo.mcp('/mcp/@bob/daily'))).message).toContain('no group or server')
    await client.close()
    await both.close()
  })
})

test('the sums of a server are for the role see and above', async () => {
  const path = '/api/monitoring/metrics?server=bob~notes&range=1h'
  await bob.ok('POST', '/api/servers/notes/tools/echo/call', { arguments: { text: 'x' } })
  const total = async (who: Client) => (await who.ok('GET', path)).metrics.requests.total
  await give('servers/notes', 'user:cleo', 'use')
  expect(refused(await cleo.request('GET', path))).toEqual([403, 'not_owner', 'use'])
  await give('servers/notes', 'user:cleo', 'see')
  const asks = [cleo, bob].map(who => () => who.request('GET', path))
  if (!(await refusedWithout(path, asks))) {
    expect(await total(cleo)).toBeGreaterThan(0)
    expect(await total(cleo)).toBe(await total(bob))
  }
  await end('servers/notes', 'user:cleo')
  expect((await cleo.request('GET', path)).status).toBe(404)
})

test('the reason of a failure is for the role see and above', async () => {
  const url = 'http://127.0.0.1:9/of-bob-alone'
  await bob.ok('POST', '/api/servers', { name: 'dead', url })
  const failed = async (role: string) => {
    await give('servers/dead', 'user:cleo', role)
    const seen = await until(
      async () => {
        const answer = await cleo.ok('GET', '/api/servers/bob~dead')
        return answer.status.state === 'offline' && answer
      },
      { what: 'the server to be offline' },
    )
    const call = await cleo.request('POST', '/api/servers/bob~dead/tools/echo/call', { arguments: {} })
    return JSON.stringify([seen, call.json])
  }
  expect(await failed('use')).not.toContain('127.0.0.1:9')
  expect(await failed('see')).toContain('127.0.0.1:9')
  await bob.ok('DELETE', '/api/servers/dead')
})

test('a group is previewed as somebody, and warns of members that others do not get', async () => {
  const path = '/api/groups/daily'
  const warned = async (who = bob) =>
    (await who.ok('GET', '/api/groups/bob~daily')).warnings
      .filter(({ code }: { code: string }) => code === 'others_get_less')
      .map(({ server }: { server: string }) => server)
  const names = (answer: { items: { name: string }[] }) => answer.items.map(({ name }) => name).toSorted()
  expect(await warned()).toEqual([])
  expect(names(await bob.ok('GET', `${path}/tools?as=cleo`))).toEqual(['echo'])
  expect(names(await bob.ok('GET', `${path}/tools?as=dora`))).toEqual(['echo', 'whoami'])
  expect((await bob.request('GET', `${path}/tools?as=nobody`)).json.code).toBe('user_not_found')
  await give('groups/daily', 'user:cleo', 'see')
  expect(await warned()).toEqual(['others'])
  expect(await warned(cleo)).toEqual([])
  expect(refused(await cleo.request('GET', '/api/groups/bob~daily/tools?as=dora'))).toEqual([403, 'not_owner', 'see'])
  await dora.ok('PUT', '/api/servers/others/shares/user:cleo', { role: 'use' })
  expect(await warned()).toEqual([])
  await dora.ok('DELETE', '/api/servers/others/shares/user:cleo')
  await bob.ok('PATCH', path, { visibility: 'public' })
  expect(await warned()).toEqual(['inner', 'others'])
  await bob.ok('PATCH', path, { visibility: 'private' })
  await end('groups/daily', 'user:cleo')
})

describe('a colleague with the role change', () => {
  const errors = ({ json }: { json: { errors?: { code: string }[] } }) => json.errors?.map(({ code }) => code)

  test('sends no secret of the owner elsewhere, and shows none', async () => {
    await give('servers/notes', 'user:cleo', 'change')
    const path = '/api/servers/bob~notes'
    const { headers } = await cleo.ok('GET', path)
    const elsewhere = { url: `${upstream.url}?for=cleo`, headers }
    expect(errors(await cleo.request('PATCH', path, elsewhere))).toContain('secret_required')
    const trial = { name: 'notes', ...elsewhere, owner: 'bob' }
    expect((await cleo.request('POST', '/api/servers/test', trial)).status).toBe(400)
    await cleo.request('PATCH', path, { secrets: [] })
    await cleo.request('PATCH', path, { headers: { ...headers, 'X-Copy': headers.Authorization } })
    await cleo.request('PATCH', path, { description: headers.Authorization })
    for (const who of [cleo, bob]) expect(JSON.stringify(await who.ok('GET', path))).not.toContain('of-bob-alone')
    expect((await cleo.request('PATCH', path, { headers: { ...headers, 'X-More': 'plain' } })).status).toBe(200)
    await end('servers/notes', 'user:cleo')
  })

  test('moves no server to a host that could get a key of the owner’s', async () => {
    await bob.ok('POST', '/api/servers', { name: 'bare', url: upstream.url })
    await give('servers/bare', 'user:cleo', 'change')
    const move = (url: string) => cleo.request('PATCH', '/api/servers/bob~bare', { url })
    expect((await move('https://one.example/mcp')).status).toBe(200)
    await bob.ok('PATCH', '/api/settings', { hostedKeys: { platform: 'of-bob-alone-key' } })
    expect(refused(await move('https://two.example/mcp'))).toEqual([403, 'owner_rights_needed', 'change'])
    expect((await move('https://one.example/other')).status).toBe(200)
    // By a variable, too.
    const variables = { PLACE: 'one.example' }
    await bob.ok('PATCH', '/api/servers/bare', { url: `https://\${PLACE}/mcp`, variables, secrets: [] })
    const elsewhere = { variables: { PLACE: 'two.example' } }
    expect(refused(await cleo.request('PATCH', '/api/servers/bob~bare', elsewhere))).toEqual([
      ...[403, 'owner_rights_needed', 'change'],
    ])
    await bob.ok('PATCH', '/api/settings', { hostedKeys: { platform: null } })
    await bob.ok('DELETE', '/api/servers/bare')
  })

  test('uses no variable of the owner in another place, where a server could repeat it', async () => {
    const variables = { TOKEN: 'of-bob-alone-too' }
    await bob.ok('POST', '/api/servers', { name: 'vars', url: upstream.url, variables, secrets: ['/variables/TOKEN'] })
    await online(bob, ['vars'])
    await bob.ok('POST', '/api/groups', { name: 'pinned', members: ['vars'] })
    await give('servers/vars', 'user:cleo', 'change')
    await give('groups/pinned', 'user:cleo', 'change')
    const pin = { arguments: { text: { pin: `\${TOKEN}` } } }
    const needed = [403, 'owner_rights_needed', 'change']
    const path = '/api/servers/bob~vars'
    expect(refused(await cleo.request('PATCH', `${path}/tools/echo`, pin))).toEqual(needed)
    const copied = await cleo.request('PATCH', path, { headers: { 'X-Copy': `\${TOKEN}` } })
    expect(refused(copied)).toEqual(needed)
    const members = [{ server: 'bob~vars', tools: [{ name: 'echo', ...pin }] }]
    const group = '/api/groups/bob~pinned'
    expect(refused(await cleo.request('PATCH', group, { members }))).toEqual([403, 'not_owner', 'change'])
    await bob.ok('PATCH', '/api/servers/vars', { visibility: 'public' })
    expect(refused(await cleo.request('PATCH', group, { members }))).toEqual([403, 'not_owner', 'change'])
    expect((await cleo.request('PATCH', group, { members: [{ server: 'bob~vars', tools: ['echo'] }] })).status).toBe(
      200,
    )
    expect((await cleo.request('PATCH', `${path}/tools/echo`, { description: 'x' })).status).toBe(200)
    await bob.ok('DELETE', '/api/groups/pinned')
    await bob.ok('DELETE', '/api/servers/vars')
  })

  test('changes no program of an administrator, and all else of it', async () => {
    const program = { command: 'patchbay', args: ['sample-server'] }
    await ada.ok('POST', '/api/servers', { name: 'plain', ...program, enabled: false })
    await give('servers/plain', 'user:cleo', 'change', ada)
    const path = '/api/servers/admin~plain'
    const programs = [{ args: ['-c', 'id'] }, { command: 'sh' }, { env: { A: 'b' } }, { variables: { A: 'b' } }]
    for (const change of [...programs, { cwd: '/tmp' }, { url: upstream.url, command: null, args: null }])
      expect([change, ...refused(await cleo.request('PATCH', path, change))]).toEqual([
        ...[change, 403, 'owner_rights_needed', 'change'],
      ])
    expect((await cleo.request('PATCH', path, { description: 'by cleo', timeout: 30_000 })).status).toBe(200)
    const shown = await ada.ok('GET', path)
    expect([shown.description, shown.review, shown.args]).toEqual(['by cleo', undefined, ['sample-server']])
    expect((await cleo.request('POST', `${path}/start`, {})).status).toBe(202)
    expect((await cleo.request('POST', `${path}/stop`, {})).status).toBe(202)
    const trial = { name: 'plain', command: 'sh', args: ['-c', 'id'], owner: 'admin' }
    expect((await cleo.request('POST', '/api/servers/test', trial)).json.code).not.toBe('ok')
    expect((await cleo.request('POST', '/api/servers/test', trial)).status).toBe(403)
  })

  test('gives nobody more through a group than its owner does', async () => {
    await give('groups/daily', 'user:cleo', 'change')
    await give('groups/daily', 'user:dora', 'use')
    const path = '/api/groups/bob~daily'
    const tools = (names: readonly string[] | 'all') => ({ members: [{ server: 'bob~inner', tools: names }] })
    expect(refused(await cleo.request('PATCH', path, tools('all')))).toEqual([403, 'not_owner', 'change'])
    expect(refused(await cleo.request('PATCH', path, tools(['echo', 'emit'])))).toEqual([403, 'not_owner', 'change'])
    const whole = { name: 'daily', ...tools('all') }
    expect(refused(await cleo.request('PUT', path, whole))).toEqual([403, 'not_owner', 'change'])
    const member = await cleo.request('PUT', `${path}/members/bob~inner`, { tools: 'all' })
    expect(refused(member)).toEqual([403, 'not_owner', 'change'])
    expect((await cleo.request('PUT', `${path}/members/bob~notes`, { tools: 'all' })).json.code).toBe(
      'server_not_found',
    )
    const hidden = await cleo.request('PATCH', path, { members: ['bob~notes'] })
    const missing = await cleo.request('PATCH', path, { members: ['bob~nothing'] })
    expect([errors(hidden), errors(missing)]).toEqual([['member_not_found'], ['member_not_found']])
    expect(hidden.text.replaceAll('notes', 'nothing').replace(hidden.json.requestId, '')).toBe(
      missing.text.replace(missing.json.requestId, ''),
    )
    await give('servers/notes', 'user:cleo', 'change')
    const added = await cleo.request('PUT', `${path}/members/bob~notes`, { tools: 'all' })
    expect(refused(added)).toEqual([403, 'not_owner', 'change'])
    await end('servers/notes', 'user:cleo')
    expect(refused(await cleo.request('PATCH', path, { visibility: 'public' }))).toEqual([403, 'not_owner', 'change'])
    expect(refused(await cleo.request('DELETE', path))).toEqual([403, 'not_owner', 'change'])
    expect((await cleo.request('PATCH', path, { description: 'by cleo' })).status).toBe(200)
    expect((await bob.ok('GET', path)).members.length).toBe(2)
    expect((await cleo.request('PATCH', path, tools(['echo']))).status).toBe(200)
    for (const name of ['cleo', 'dora']) await end('groups/daily', `user:${name}`)
  })
})

test('a session shares within ten minutes after a proof; what takes rights away needs none, and keys have no session', async () => {
  await give('servers/notes', 'user:dora', 'use')
  const old = await oldSession(hub, bob)
  const writes = [
    ['PUT', '/api/servers/notes/shares', { shares: [{ subject: 'user:cleo', role: 'change' }] }],
    ['PUT', '/api/servers/notes/shares/user:cleo', { role: 'change' }],
    ['PUT', '/api/groups/daily/shares/user:cleo', { role: 'use' }],
    ['POST', '/api/invitations', { things: [{ kind: 'server', ref: 'notes' }], role: 'use' }],
  ] as const
  for (const [method, path, body] of writes) {
    const { status, json } = await old.request(method, path, body)
    expect([path, status, json.code]).toEqual([path, 403, 'reauth_required'])
  }
  expect((await end('servers/notes', 'user:dora', old)).status).toBe(204)
  expect((await bob.ok('GET', '/api/servers/notes/shares')).items).toEqual([])
  const key = new Client(hub.url, 'bob', (await bob.ok('POST', '/api/keys', { label: 'k', scopes: ['api'] })).secret)
  expect((await give('servers/notes', 'user:cleo', 'use', key)).status).toBe(200)
  await old.ok('POST', '/api/auth/reauth', { password: PASSWORD })
  for (const [method, path, body] of writes) await old.ok(method, path, body)
  for (const { id } of (await bob.ok('GET', '/api/invitations')).items) await bob.ok('DELETE', `/api/invitations/${id}`)
  await bob.ok('PUT', '/api/servers/notes/shares', { shares: [] })
  await bob.ok('PUT', '/api/groups/daily/shares', { shares: [] })
})

test('an old session of an administrator lists no client, and may block one', async () => {
  const old = await oldSession(hub, ada)
  const body = { name: 'Desk', redirectUris: ['https://desk.example/callback'] }
  const code = async (method: string, path: string, change: object) =>
    (await old.request(method, path, change)).json.code
  expect(await code('POST', '/api/admin/oauth/clients', body)).toBe('reauth_required')
  const path = `/api/admin/oauth/clients/${(await ada.ok('POST', '/api/admin/oauth/clients', body)).id}`
  const redirectUris = ['https://other.example/callback']
  expect(await code('PATCH', path, { redirectUris })).toBe('reauth_required')
  expect((await old.ok('PATCH', path, { blocked: true })).blocked).toBe(true)
  expect(await code('PATCH', path, { blocked: false })).toBe('reauth_required')
  await old.ok('DELETE', path)
})
