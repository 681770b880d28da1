// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of manifests, not template strings
/** Bundles that `mcpb pack` made: sent, planned, installed, and run in the sandbox for an ordinary user. */
import { Database } from 'bun:sqlite'
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MANIFEST, packed, sendBundle, shutInBundle } from '../../support/bundle.ts'
import { beyondCore } from '../../support/extent.ts'
import { type Client, startHub } from '../../support/hub.ts'
import { inFolder } from '../../support/moving.ts'
import { callText, online, statusOf } from '../../support/servers.ts'
import { makeTemp } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'
import { zipOf } from '../../support/zip.ts'
import { patchbay } from '../../unit/cli/running-hub.ts'

const PASSED = { stdin: 'a passphrase of some words' }

const hub = await startHub()
const admin = await hub.setup()
const { sandbox: level } = (await admin.ok('GET', '/health')).checks
const bob = await hub.user('bob')
console.log(`sandbox level of this machine: ${level}`)

afterAll(() => hub.stop(), 120_000)

async function ask(client: Client, server: string, tool: string, args: Record<string, unknown> = {}) {
  return JSON.parse(await callText(await client.mcp(`/mcp/${server}`), tool, args))
}

async function sent(client: Client, bytes: Buffer) {
  const answer = await sendBundle(client, bytes)
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json
}

async function installed(client: Client, id: string, wish: object) {
  const path = `/api/bundles/${id}/install`
  const { planHash } = await client.ok('POST', `${path}?dryRun=true`, wish)
  return client.ok('POST', path, { ...wish, planHash })
}

const CONFIGURED = {
  server: {
    ...MANIFEST.server,
    mcp_config: {
      command: 'node',
      args: ['${__dirname}/server/index.js', '${user_config.folders}', '--depth=${user_config.depth}', '${HOME}${/}x'],
      env: { API_KEY: '${user_config.token}', QUIET: '${user_config.quiet}', ABSENT: '${user_config.absent}' },
      platform_overrides: { linux: { env: { API_KEY: '${user_config.token}', ON: 'linux' } }, win32: { command: 'x' } },
    },
  },
  user_config: {
    folders: { type: 'directory', title: 'Folders', description: 'Seen', multiple: true, default: ['${HOME}/a', 'b'] },
    token: { type: 'string', title: 'Token', description: 'Of the API', sensitive: true, required: true },
    depth: { type: 'number', title: 'Depth', description: 'Levels', min: 1, max: 9, default: 3 },
    quiet: { type: 'boolean', title: 'Quiet', description: 'Says less', default: false },
    absent: { type: 'string', title: 'Absent', description: 'Not given' },
  },
}

/** A server in Python without packages, whose tool `ask` answers with TEXT of a module. */
function pythonServer(module: string): string {
  return `import json, sys, ${module}
for line in sys.stdin:
    m = json.loads(line)
    if m['method'] == 'initialize':
        r = {'protocolVersion': m['params']['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'p', 'version': '1'}}
    elif m['method'] == 'tools/list':
        r = {'tools': [{'name': 'ask', 'inputSchema': {'type': 'object'}}]}
    elif m['method'] == 'tools/call':
        r = {'content': [{'type': 'text', 'text': ${module}.TEXT}]}
    else:
        r = {}
    if 'id' in m:
        print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)
`
}

/** Packs a project as `mcpb` does, whose schema wants a command of its own for each kind. */
function zipOfProject(manifest: object, files: Readonly<Record<string, string>>): Buffer {
  const all = { 'manifest.json': JSON.stringify(manifest), ...files }
  return zipOf(Object.entries(all).map(([name, content]) => ({ name, content })))
}

test('what is sent and removed is in the audit log, with the file and its version', async () => {
  const { bundleId } = await sent(bob, await packed(MANIFEST, { 'server/index.js': '1' }))
  await bob.ok('DELETE', `/api/bundles/${bundleId}`)
  for (const action of ['bundle.send', 'bundle.remove']) {
    const { items } = await admin.ok('GET', `/api/admin/audit?action=${action}&limit=1`)
    const detail = { bundle: bundleId, version: '1.0.0' }
    expect(items).toMatchObject([{ action, target: 'shut-in', user: 'bob', detail }])
    expect(items[0].requestId).toBeString()
  }
})

if (level === 'full') describe('a bundle in the sandbox', inTheSandbox)
else {
  test(`level ${level}: an ordinary user’s bundle is refused`, async () => {
    const { bundleId } = await sent(bob, await shutInBundle())
    const answer = await bob.request('POST', `/api/bundles/${bundleId}/install?dryRun=true`, {})
    expect([answer.status, answer.json.code]).toEqual([403, 'stdio_not_permitted'])
  })
}

function inTheSandbox(): void {
  test('an ordinary user’s bundle is installed, runs, sees its files read-only, and its tools answer', async () => {
    const { bundleId, usable, signature } = await sent(bob, await shutInBundle())
    expect([usable, signature]).toEqual([true, 'none'])
    const path = `/api/bundles/${bundleId}/install`
    const plan = await bob.ok('POST', `${path}?dryRun=true`, {})
    expect(plan).toMatchObject({ argv: ['node', '/opt/package/server/index.js'], missing: [], warnings: [] })
    expect((await bob.request('POST', path, {})).json.errors[0].pointer).toBe('#/planHash')
    expect((await bob.request('POST', path, { name: 'x', planHash: plan.planHash })).json.code).toBe('plan_changed')
    const server = await bob.ok('POST', path, { planHash: plan.planHash })
    expect([server.name, server.enabled, server.bundle]).toEqual(['shut-in', false, bundleId])
    await bob.ok('POST', '/api/servers/shut-in/start')
    await online(bob, ['shut-in'], 60_000)
    expect(await ask(bob, 'shut-in', 'self')).toMatchObject({ cwd: '/home/server' })
    const write = { path: '/opt/package/server/index.js', text: 'changed' }
    expect(await ask(bob, 'shut-in', 'write', write)).toBe(false)
    expect(await ask(bob, 'shut-in', 'write', { path: 'note', text: 'mine' })).toBe(true)
    const { id: owner } = await bob.ok('GET', '/api/auth/me')
    const folder = join(hub.dataDir, 'bundles', owner, bundleId)
    const { mode, uid } = statSync(join(folder, 'server/index.js'))
    expect([mode & 0o777, uid]).toEqual([0o644, statSync(folder).uid])
    expect(uid).toBeGreaterThan(20_000)
    expect((await bob.request('DELETE', `/api/bundles/${bundleId}`)).json.code).toBe('bundle_in_use')
    const [listed] = (await bob.ok('GET', '/api/bundles')).items
    expect(listed.servers).toEqual(['shut-in'])

    const second = await installed(bob, bundleId, { name: 'second', start: true })
    await online(bob, ['second'], 60_000)
    expect(readdirSync(join(hub.dataDir, 'bundles', owner)).toSorted()).toEqual([bundleId, `${bundleId}.json`])
    expect((await bob.request('DELETE', `/api/bundles/${bundleId}`)).json.code).toBe('bundle_in_use')
    await bob.ok('POST', '/api/servers/second/stop')
    await until(async () => (await statusOf(bob, 'second')).state === 'offline', { what: 'the second to be off' })
    expect(await ask(bob, 'shut-in', 'self')).toMatchObject({ cwd: '/home/server' })
    expect(existsSync(folder)).toBe(true)
    await bob.ok('POST', '/api/servers/shut-in/stop')
    await until(() => !existsSync(folder), { what: 'the copy to be gone that only disabled servers would run' })
    // The packed bundle stays, and the copy is made again.
    await bob.ok('POST', '/api/servers/shut-in/start')
    await online(bob, ['shut-in'], 60_000)
    expect(await ask(bob, 'shut-in', 'self')).toMatchObject({ cwd: '/home/server' })
    expect(second.bundle).toBe(bundleId)
    await bob.ok('DELETE', '/api/servers/second')
    await bob.ok('DELETE', '/api/servers/shut-in')
    await until(() => !existsSync(folder), { what: 'the unpacked files to be gone' })
    expect((await bob.request('DELETE', `/api/bundles/${bundleId}`)).status).toBe(204)
    expect((await bob.request('GET', `/api/bundles/${bundleId}`)).json.code).toBe('bundle_not_found')
  }, 120_000)

  test('each value that a user enters stays one argument, secrets are sealed, and the platform’s own fields count', async () => {
    const { bundleId, inputs } = await sent(bob, await shutInBundle({ ...CONFIGURED, name: 'configured' }))
    expect(inputs.map((one: { name: string }) => one.name)).toEqual(['folders', 'token', 'depth', 'quiet', 'absent'])
    expect(inputs[0]).toMatchObject({ format: 'path', kind: 'directory', many: true, required: false })
    const path = `/api/bundles/${bundleId}/install`
    expect((await bob.ok('POST', `${path}?dryRun=true`, {})).missing).toEqual(['token'])
    for (const token of ['', '  ', '\u200b\n'])
      expect((await bob.ok('POST', `${path}?dryRun=true`, { inputs: { token } })).missing).toEqual(['token'])
    const secret = 'tok-${HOME}-4711-9999'
    const inputsGiven = { token: secret, folders: ['c d', '/home/server/$(id)'], depth: 4 }
    const plan = await bob.ok('POST', `${path}?dryRun=true`, { inputs: inputsGiven })
    expect(plan.argv.slice(2)).toEqual(['/home/server/c d', '/home/server/$(id)', '--depth=4', '/home/server/x'])
    expect(JSON.stringify(plan)).not.toContain('4711')
    const server = await installed(bob, bundleId, { inputs: inputsGiven, start: true })
    expect(JSON.stringify(server)).not.toContain('4711')
    await online(bob, ['configured'], 60_000)
    const { env } = await ask(bob, 'configured', 'self')
    expect([env.API_KEY, env.ON, env.QUIET, env.ABSENT]).toEqual([secret, 'linux', undefined, undefined])
  }, 120_000)

  beyondCore(() => {
    test('an administrator’s bundle runs in the sandbox too', async () => {
      const { bundleId } = await sent(admin, await shutInBundle())
      await installed(admin, bundleId, { name: 'mine', start: true })
      await online(admin, ['mine'], 60_000)
      expect((await ask(admin, 'mine', 'self')).uid).toBeGreaterThan(20_000)
    }, 120_000)

    test('a bundle in Python names its folder of modules, and nothing outside of it', async () => {
      const server = (path: string) => ({
        ...{ type: 'python', entry_point: 'server/main.py' },
        mcp_config: { command: 'python', args: ['${__dirname}/server/main.py'], env: { PYTHONPATH: path } },
      })
      const files = { 'server/main.py': pythonServer('answer'), 'lib/answer.py': 'TEXT = "from its own module"\n' }
      const made = (path: string) => packed({ ...MANIFEST, name: 'snake', server: server(path) }, files)
      const { bundleId } = await sent(bob, await made('${__dirname}/lib'))
      await installed(bob, bundleId, { start: true })
      await online(bob, ['snake'], 60_000)
      expect(await callText(await bob.mcp('/mcp/snake'), 'ask')).toBe('from its own module')
      const other = await sent(bob, await made('/tmp'))
      const answer = await bob.request('POST', `/api/bundles/${other.bundleId}/install?dryRun=true`, { name: 'x' })
      expect([answer.status, answer.json.code]).toEqual([403, 'env_key_forbidden'])
    }, 120_000)

    test('a project for uv runs from its own packages, and where there is no uv the reason says so', async () => {
      const server = { type: 'uv', entry_point: 'src/server.py' }
      const project = '[project]\nname = "coil"\nversion = "1.0.0"\nrequires-python = ">=3.8"\n'
      const files = {
        'pyproject.toml': project,
        'src/server.py': pythonServer('answer'),
        'src/answer.py': 'TEXT = "coiled"\n',
      }
      const { bundleId } = await sent(
        bob,
        zipOfProject({ ...MANIFEST, manifest_version: '0.4', name: 'coil', server }, files),
      )
      await installed(bob, bundleId, { start: true })
      const status = await until(
        async () => {
          const now = await statusOf(bob, 'coil')
          return (now.state === 'online' || now.reason) && now
        },
        { timeoutMs: 60_000 },
      )
      if (Bun.which('uv', { PATH: '/usr/local/bin:/usr/bin:/bin' }) === null) {
        expect([status.state, status.reason?.code]).toEqual(['offline', 'command_not_found'])
        expect(status.reason?.message).toContain('"uv"')
      } else expect(await callText(await bob.mcp('/mcp/coil'), 'ask')).toBe('coiled')
    }, 90_000)
  })

  test('a server does not run somebody else’s bundle, however well its hash is known', async () => {
    const { bundleId } = await sent(admin, await shutInBundle({ name: 'secret' }))
    const body = { name: 'stolen', command: 'node', args: ['/opt/package/server/index.js'], bundle: bundleId }
    const answer = await bob.request('POST', '/api/servers', body)
    expect([answer.status, answer.json.errors]).toMatchObject([400, [{ pointer: '#/bundle', code: 'bundle_missing' }]])
    expect((await bob.request('GET', `/api/bundles/${bundleId}`)).json.code).toBe('bundle_not_found')
    expect((await bob.request('POST', `/api/bundles/${bundleId}/install?dryRun=true`, {})).json.code).toBe(
      'bundle_not_found',
    )
  })

  beyondCore(() => {
    test('a restart runs the files that are there', async () => {
      const { bundle } = await bob.ok('GET', '/api/servers/snake')
      const owner = await bob.ok('GET', '/api/auth/me')
      const record = join(hub.dataDir, 'bundles', owner.id, `${bundle}.json`)
      const before = statSync(record).mtimeMs
      await bob.ok('POST', '/api/servers/snake/restart?wait=10s')
      await online(bob, ['snake'], 60_000)
      expect(statSync(record).mtimeMs).toBe(before)
    }, 120_000)

    test('the CLI installs a bundle, and a restored backup holds and runs it', async () => {
      const folder = await makeTemp('bundles')
      await writeFile(join(folder, 'a.mcpb'), await shutInBundle({ ...CONFIGURED, name: 'by-command' }))
      const env = { PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: bob.token }
      const dry = await patchbay(['install', 'a.mcpb', '--dry-run'], { cwd: folder, env })
      expect([dry.code, dry.stdout]).toEqual([0, expect.stringContaining('token  Token (required, secret)')])
      const refused = await patchbay(['install', 'a.mcpb'], { cwd: folder, env })
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('#/inputs/token')])
      const inputs = ['--input', 'token=tok-4711', '--input', 'folders=a', '--input', 'folders=b']
      const done = await patchbay(['install', 'a.mcpb', ...inputs, '--start'], { cwd: folder, env })
      expect([done.code, done.stdout]).toEqual([0, expect.stringContaining('Installed as bob~by-command, switched on')])
      expect((await inFolder(hub.folder, ['backup', join(folder, 'b.backup'), '--with-key'], PASSED)).code).toBe(0)
      const restored = await inFolder(folder, ['restore', join(folder, 'b.backup'), '--passphrase-stdin'], PASSED)
      expect([restored.code, restored.stderr]).toEqual([0, ''])
      const { bundle } = await bob.ok('GET', '/api/servers/by-command')
      const database = new Database(join(folder, 'data', 'patchbay.db'), { readonly: true })
      expect(database.query('select sha256 from plugin_bundles__files where sha256 = ?').get(bundle)).toBeDefined()
      expect(database.query('select 1 as part from plugin_bundles__parts where sha256 = ?').get(bundle)).toEqual({
        part: 1,
      })
      database.close()
      const second = await startHub({ folder })
      try {
        const again = await second.signIn('bob')
        await online(again, ['by-command'], 60_000)
        expect((await ask(again, 'by-command', 'self')).env.API_KEY).toBe('tok-4711')
      } finally {
        await second.stop()
      }
    }, 300_000)
  })
}
