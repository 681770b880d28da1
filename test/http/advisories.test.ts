import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, ROOT, startHub, stdioFixture } from '../support/hub.ts'
import { processStat } from '../support/processes.ts'
import { type Program, startProgram } from '../support/program.ts'
import { rawRequest, rawText } from '../support/raw-http.ts'
import { online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { expectWell, patient } from './rows.ts'

// The table of docs/reference/advisories.md names each id's test; a test of its own holds both together.

const JWT_SECRET = 'one secret of forty characters for both'
let upstream: Program
let hub: Hub
let admin: Client
let alice: Client

beforeAll(async () => {
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  hub = await startHub({ env: { ...LOOPBACK, JWT_SECRET } })
  admin = await hub.setup()
  alice = await hub.user('alice')
  await admin.ok('POST', '/api/servers', { name: 'varied', ...stdioFixture('varied') })
  await alice.ok('POST', '/api/servers', { name: 'remote', url: upstream.url, passthroughHeaders: ['x-listed'] })
  await alice.ok('POST', '/api/servers', { name: 'other', url: upstream.url })
  await alice.ok('POST', '/api/groups', { name: 'g', members: ['remote'] })
  await alice.ok('POST', '/api/groups', { name: 'none', members: [{ server: 'remote', tools: [] }] })
  const members = [{ server: 'varied', tools: ['raw', 'seen'] }]
  await admin.ok('POST', '/api/groups', { name: 'some', members })
  await online(alice, ['remote', 'other'])
  await online(admin, ['varied'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await upstream?.stop()
}, 120_000)

const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
const host = () => `Host: ${new URL(hub.url).host}`

async function documented(): Promise<{ method: string; path: string; open: boolean }[]> {
  const { paths } = (await alice.request('GET', '/api/openapi.json')).json as {
    paths: Record<string, Record<string, { security?: unknown[] }>>
  }
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => /^(?:get|post|put|patch|delete)$/.test(method))
      .map(([method, { security }]) => ({
        ...{ method: method.toUpperCase(), path: path.replace(/\{\w+\}/g, 'x') },
        open: security !== undefined && security.length === 0,
      })),
  )
}

const MCP_PATHS = [
  '/mcp',
  '/mcp/g',
  '/mcp/remote',
  '/mcp/@alice/g',
  '/mcp/alice~remote',
  '/mcp/nothing',
  '/sse',
  '/sse/g',
  '/sse/@alice/g',
  '/messages?sessionId=1',
]

describe('who is it', () => {
  test('no transport and no form of a path works without a credential [GHSA-wf8q-wvv8-p8jf CVE-2025-11287 CVE-2026-33032]', async () => {
    const open: string[] = []
    for (const path of [...MCP_PATHS, '/mcp/', '/mcp/g/', '/mcp/%67']) {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const head = [
          `${host()}`,
          'Content-Type: application/json',
          'Accept: application/json, text/event-stream',
          'Connection: close',
        ]
        const body = method === 'POST' ? LIST : ''
        const { status } = await rawRequest(
          hub.url,
          rawText(`${method} ${path} HTTP/1.1`, [...head, `Content-Length: ${body.length}`], body),
        )
        if (![401, 404, 405].includes(status) || (status !== 401 && !path.endsWith('/') && path.startsWith('/mcp')))
          open.push(`${method} ${path} → ${status}`)
      }
    }
    expect(open).toEqual([])
    // A path with another user's name gives access to nothing of that user.
    const bob = await hub.user('bob')
    for (const path of ['/mcp/@alice/g', '/mcp/alice~remote', '/mcp/@admin/some']) {
      const answer = await bob.request('POST', path, LIST, {
        authorization: `Bearer ${await bob.mcpKey()}`,
        accept: 'application/json, text/event-stream',
      })
      expect([path, answer.status]).toEqual([path, 404])
    }
    const client = await alice.mcp('/mcp/none')
    expect((await client.listTools()).tools).toEqual([])
    const refused = await client.callTool({ name: 'echo', arguments: { text: 'x' } }).then(
      () => 'answered',
      (error: { code: number }) => error.code,
    )
    expect(refused).toBe(-32602)
  }, 120_000)

  test('no other spelling of a path skips the credential, and Basic is none [CVE-2026-22817 CVE-2026-39407 CVE-2026-29087]', async () => {
    const spellings = [
      '//api/servers',
      '/api//servers',
      '/API/servers',
      '/Api/Servers',
      '/api/servers/',
      '/api/servers%2f',
      '/api%2fservers',
      '/api/./servers',
      '/x/../api/servers',
      '/api/%2e%2e/api/servers',
      '/api/servers;x=1',
      '/api\\servers',
      '/api/servers%00',
      '/api/servers?',
      '/%61pi/servers',
    ]
    const passed: string[] = []
    for (const path of spellings) {
      for (const credential of [
        [],
        [`Authorization: Basic ${alice.token}`],
        [`Authorization: Basic ${btoa(`alice:${alice.token}`)}`],
      ]) {
        const { status } = await rawRequest(
          hub.url,
          rawText(`GET ${path} HTTP/1.1`, [host(), 'Connection: close', ...credential]),
        )
        if (![400, 401, 404].includes(status)) passed.push(`${path} → ${status}`)
      }
    }
    expect(passed).toEqual([])
  }, 120_000)

  test('a foreign Host or Origin is 403 on every route [CVE-2025-49596 CVE-2025-66414 CVE-2025-66416 CVE-2025-64443 CVE-2026-34742 CVE-2026-35568 CVE-2026-42559]', async () => {
    const routes = [
      ...(await documented()),
      ...MCP_PATHS.map(path => ({ method: 'POST', path })),
      { method: 'GET', path: '/health' },
    ]
    expect(routes.length).toBeGreaterThan(60)
    const passed: string[] = []
    const heads = [['Host: evil.example'], [host(), 'Origin: http://evil.example'], [host(), 'Origin: null']]
    for (const [at, { method, path }] of routes.entries()) {
      for (const head of extent([heads[at % heads.length] ?? []], heads)) {
        const line = rawText(`${method} ${path} HTTP/1.1`, [
          ...head,
          `Authorization: Bearer ${admin.token}`,
          'Content-Length: 0',
          'Connection: close',
        ])
        const { status } = await rawRequest(hub.url, line)
        if (status !== 403) passed.push(`${method} ${path} with ${head.at(-1)} → ${status}`)
      }
    }
    expect(passed).toEqual([])
  }, 120_000)

  beyondCore(() => {
    test('a token of one hub opens nothing at another that has the same secret, and no secret is built in [CVE-2026-44428 GHSA-g53w-w6mj-hrpp CVE-2026-79744]', async () => {
      const twin = await startHub({ env: { JWT_SECRET } })
      const other = await twin.setup()
      for (const [here, token] of [
        [admin, other.token],
        [other, admin.token],
      ] as const) {
        const crossed = await here.request('GET', '/api/servers', undefined, { authorization: `Bearer ${token}` })
        expect([crossed.status, crossed.json.code]).toEqual([401, 'token_invalid'])
        expect((await here.request('GET', '/api/servers')).status).toBe(200)
      }
      // Nor is any secret built in.
      expect(twin.setupToken).not.toBe(hub.setupToken ?? '')
      for (const name of ['master.key', 'jwt.key', 'instance-id']) {
        const [mine, theirs] = await Promise.all([hub, twin].map(each => readFile(join(each.dataDir, name), 'utf8')))
        expect(mine).not.toBe(theirs ?? '')
      }
      await twin.stop()
    }, 120_000)
  })

  test('no header picks role, host or route, and only administrators change the system [GHSA-g53w-w6mj-hrpp CVE-2026-79744]', async () => {
    const before = await admin.ok('GET', '/api/admin/settings')
    for (const headers of [
      {},
      { 'x-user-role': 'admin' },
      { 'x-forwarded-user': 'admin' },
      { 'x-original-url': '/api/servers' },
      { 'x-rewrite-url': '/api/servers' },
      { 'x-http-method-override': 'GET' },
    ]) {
      const answer = await patient(() =>
        alice.request('PATCH', '/api/admin/settings', { stdioPolicy: 'off' }, headers as Record<string, string>),
      )
      expect([headers, answer.status, answer.json.code]).toEqual([headers, 403, 'admin_only'])
    }
    expect(await admin.ok('GET', '/api/admin/settings')).toEqual(before)
    const url = 'http://127.0.0.1:9/'
    for (const headers of [
      { 'x-forwarded-host': '127.0.0.1:9' },
      { 'x-mcp-url': url },
      { 'x-upstream': url },
      { 'x-target-url': url },
    ]) {
      const called = await alice.request(
        'POST',
        '/api/servers/remote/tools/whoami/call',
        {},
        headers as Record<string, string>,
      )
      expect([headers, called.status, called.text.includes('127.0.0.1:9')]).toEqual([headers, 200, false])
    }
  }, 120_000)
})

describe('what goes upstream', () => {
  test('a header passed through reaches the servers that list it alone, and never a credential of the hub [CVE-2026-120323]', async () => {
    const headers = { 'x-listed': 'passed', 'x-unlisted': 'kept', cookie: 'a=b', 'x-auth-token': alice.token }
    const said = async (name: string) => {
      const client = await alice.mcp(`/mcp/${name}`, { headers, credential: alice.token })
      const result = await client.callTool({ name: 'whoami', arguments: {} })
      return JSON.parse((result.content as { text: string }[])[0]?.text ?? '').headers as Record<string, string>
    }
    const [listing, other] = [await said('remote'), await said('other')]
    expect(listing['x-listed']).toBe('passed')
    for (const heard of [{ ...listing, 'x-listed': undefined }, other]) {
      expect(JSON.stringify(heard)).not.toMatch(/passed|kept|a=b/)
      expect(JSON.stringify(heard)).not.toContain(alice.token.slice(-20))
    }
  }, 120_000)

  test('a second or differently spelled member never overrides the one that was checked [GHSA-4gph-2hhr-5mwg CVE-2026-27896]', async () => {
    const post = (body: string) =>
      admin.request('POST', '/mcp/some', body, { accept: 'application/json, text/event-stream', ...session })
    let session: Record<string, string> = { authorization: `Bearer ${await admin.mcpKey()}` }
    const opening = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }
    const opened = await post(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: opening }))
    session = { ...session, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
    await post('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    // This group does not offer `big`; it offers `raw` and `seen`.
    const hidden = [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"raw","name":"big","arguments":{"bytes":7}}}',
      '{"jsonrpc":"2.0","id":2,"method":"tools/list","method":"tools/call","params":{"name":"big","arguments":{"bytes":7}}}',
      '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"raw"},"params":{"name":"big","arguments":{"bytes":7}}}',
    ]
    for (const body of hidden) expect((await post(body)).text).not.toContain('"result"')
    const wrong = [
      '{"jsonrpc":"2.0","id":4,"Method":"tools/list"}',
      '{"jsonrpc":"2.0","id":5,"METHOD":"tools/list"}',
      '{"JSONRPC":"2.0","id":6,"method":"tools/list"}',
      '{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"big","name":"raw","arguments":{"a":1}}}',
    ]
    for (const body of wrong) expect((await post(body)).json.error.code).toBe(-32600)
    const mixed = [
      '{"jsonrpc":"2.0","id":7,"METHOD":"tools/list","method":"tools/call","params":{"Name":"big","name":"raw","NAME":"big","arguments":{"a":1}}}',
    ]
    for (const body of mixed) expect((await post(body)).text).toContain('"result"')
    const seen = (await post('{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"seen"}}')).text
    const calls = [...seen.matchAll(/tools\/call/g)].length
    // One call of `raw`; `seen` may count itself too.
    expect([1, 2]).toContain(calls)
    expect(seen).not.toContain('bytes')
  }, 120_000)
})

describe('what comes in', () => {
  test('a name of an import that leads elsewhere is another name here, and makes nothing anywhere [GHSA-p3h2-2j4p-p83g]', async () => {
    const before = await readdir(hub.folder, { recursive: true })
    const names = ['../x', '/x', '..\\x', 'a\0b', '..', '../../../../tmp/x', '%2e%2e/x', 'a/../../x']
    for (const name of names) {
      const document = { mcpServers: { [name]: { url: upstream.url } } }
      const answer = await patient(() => alice.request('POST', '/api/servers/import', document))
      const entry = answer.json.entries?.[0] ?? { verdict: 'invalid' }
      if (entry.verdict !== 'invalid') expect(entry.name).toMatch(/^\w[\w.-]*$/)
      const made = await patient(() => alice.request('POST', '/api/servers', { name, url: upstream.url }))
      expect([name, made.status]).toEqual([name, 400])
    }
    const now = await readdir(hub.folder, { recursive: true })
    expect(now.filter(path => !before.includes(path) && !path.startsWith('.bun'))).toEqual([])
    await expectWell(hub)
  }, 120_000)

  test.each(['announced', 'chunked', 'lying'])(
    'a body of 200 MB, %s, takes at most twice the limit of memory [CVE-2026-39313]',
    async way => {
      const limit = 17 * 1024 * 1024
      const total = 200 * 1024 * 1024
      const head = [host(), `Authorization: Bearer ${alice.token}`, 'Content-Type: application/json']
      const length =
        way === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${way === 'lying' ? 4 * total : total}`
      const resident = () => processStat(hub.pid)?.residentBytes ?? 0
      const before = resident()
      let most = before
      const timer = setInterval(() => {
        most = Math.max(most, resident())
      }, 5)
      const status = await flood(
        hub.url,
        rawText('POST /api/servers HTTP/1.1', [...head, length]),
        way === 'chunked',
        total,
      )
      clearInterval(timer)
      expect([0, 413]).toContain(status)
      expect(most - before).toBeLessThan(2 * limit)
      await expectWell(hub)
    },
    120_000,
  )
})

/** Sends until the server says something or hangs up. 0: it hung up without a word. */
async function flood(url: string, head: string, chunked: boolean, total: number): Promise<number> {
  const { connect } = await import('node:net')
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  let seen = ''
  let over = false
  socket.on('data', data => {
    seen += data.toString('latin1')
    over = true
  })
  socket.on('error', () => {
    over = true
  })
  socket.on('close', () => {
    over = true
  })
  socket.write(head)
  const piece = Buffer.alloc(64 * 1024, 0x20)
  const block = chunked
    ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
    : piece
  for (let sent = 0; sent < total && !over; sent += piece.length) {
    if (!socket.write(block)) {
      await Promise.race([
        new Promise(resolve => socket.once('drain', resolve)),
        until(() => over, { timeoutMs: 60_000, what: 'the server to read or to hang up' }),
      ])
    }
  }
  await until(() => over, { timeoutMs: 60_000, what: 'an answer' })
  socket.destroy()
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(seen)?.[1] ?? 0)
}

test('every route that can start a process refuses an ordinary user, and no execve of what was refused is seen [CVE-2026-79748 CVE-2026-30623 CVE-2026-42271 CVE-2026-94047 CVE-2026-30617 CVE-2026-30615]', async () => {
  if (Bun.which('strace') === null) throw new Error('This test needs strace: apt-get install strace')
  const folder = await makeTemp('denied')
  const trace = join(folder, 'execve.txt')
  const wrap = ['strace', '-D', '-f', '--seccomp-bpf', '-qq', '-e', 'trace=execve', '-o', trace]
  const strict = await startHub({
    folder,
    wrap,
    env: { ...LOOPBACK, STDIO_POLICY: 'admin' },
    settings: { mcpServers: {} },
  })
  const boss = await strict.setup()
  const eve = await strict.user('eve')
  await eve.ok('POST', '/api/servers', { name: 'mine', url: upstream.url })
  const command = '/bin/echo'
  const args = ['denied-canary']
  const body = { name: 'd', command, args }
  const expectDenied = async (method: string, path: string, sent: object, code = 'stdio_not_permitted') => {
    const answer = await patient(() => eve.request(method, path, sent))
    expect([`${method} ${path}`, answer.text.includes(code)]).toEqual([`${method} ${path}`, true])
  }
  await expectDenied('POST', '/api/servers', body)
  await expectDenied('POST', '/api/servers', { name: 'd', config: { command, args } })
  await expectDenied('POST', '/api/servers', { ...body, start: 'lazy', enabled: false })
  await expectDenied('POST', '/api/servers/test', body)
  await expectDenied('POST', '/api/servers/batch', { servers: [body] })
  await expectDenied('POST', '/api/servers/import', { mcpServers: { d: { command, args } } })
  await expectDenied('POST', '/api/servers/import?dryRun=true', { mcpServers: { d: { command, args } } })
  await expectDenied('POST', '/api/servers/import', { document: `${command} ${args.join(' ')}` })
  await expectDenied('PUT', '/api/servers/mine', { ...body, name: 'mine' })
  await expectDenied('PATCH', '/api/servers/mine', { url: null, transport: 'stdio', command, args })
  await expectDenied('POST', '/api/servers', { ...body, command: 'npx', args: ['-y', 'denied-canary'] })
  for (const verb of ['start', 'restart', 'refresh']) await eve.request('POST', `/api/servers/d/${verb}`)
  // A permitted start is in the trace, which proves that the trace works.
  await boss.ok('POST', '/api/servers', { name: 'allowed', ...stdioFixture('echo', {}, 'allowed-canary') })
  await online(boss, ['allowed'])
  await strict.stop({ keep: true })
  const text = await until(() => readFile(trace, 'utf8').then(said => said.includes('allowed-canary') && said), {
    what: 'the trace',
  })
  expect(text).not.toContain('denied-canary')
  await removeTemp(folder)
}, 120_000)
