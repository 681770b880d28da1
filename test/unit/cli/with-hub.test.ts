import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onlyServers } from '../../../core/cli/client-files/import-places.ts'
import { HUB_MAIN } from '../../support/hub-main.ts'
import { type RunningHub, runningHub } from './running-hub.ts'

let hub: RunningHub

beforeAll(async () => {
  hub = await runningHub()
}, 120_000)
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
}, 120_000)

const json = async (argv: readonly string[]) => {
  const { code, stdout, stderr } = await hub.run([...argv, '--json'])
  if (code !== 0) throw new Error(`exit ${code}: ${stderr}`)
  return JSON.parse(stdout)
}

describe('the command line on the hub’s own machine', () => {
  test('finds the hub and signs in by the data folder alone', async () => {
    const [user] = await json(['user', 'list'])
    expect(user).toMatchObject({ name: 'ada', role: 'admin' })
  })

  test('sends the local token nowhere else', async () => {
    const elsewhere = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: request => Response.json({ items: [{ name: String(request.headers.get('authorization')) }], total: 1 }),
    })
    try {
      const env = { PATCHBAY_URL: elsewhere.url.href }
      expect((await hub.run(['user', 'list'], { env })).stdout).toContain('\nnull')
      const own = { ...env, PATCHBAY_TOKEN: 'mine' }
      expect((await hub.run(['user', 'list'], { env: own })).stdout).toContain('\nBearer mine')
    } finally {
      await elsewhere.stop(true)
    }
  })

  test('says what to do without a credential', async () => {
    const { code, stderr } = await hub.run(['servers', 'list'], { cwd: '/', env: { PATCHBAY_URL: hub.url } })
    expect(code).toBe(1)
    expect(stderr).toContain('unauthenticated')
    expect(stderr).toContain('PATCHBAY_TOKEN')
  })

  test('adds a server, starts, calls, stops and removes it', async () => {
    const sample = ['--', process.execPath, HUB_MAIN, 'sample-server']
    const added = await hub.run(['servers', 'add', 'mine', '--env', 'A=b=c', ...sample])
    expect(added).toEqual({ code: 0, stdout: 'created ada~mine\n', stderr: '' })
    expect((await hub.run(['servers', 'start', 'mine', '--wait', '20s'])).stdout).toBe('ada~mine: online\n')
    expect(await json(['servers', 'show', 'mine'])).toMatchObject({
      env: { A: 'b=c' },
      status: { counts: { tools: 3 } },
    })

    expect(await hub.run(['call', 'mine', 'add', '{"a": 2, "b": 3}'])).toEqual({ code: 0, stdout: '5\n', stderr: '' })
    const coloured = await hub.run(['call', 'mine', 'echo', '-'], { stdin: '{"text": "\\u001b[31mred"}' })
    expect(coloured.stdout).toBe('⟨U+001B⟩[31mred\n')
    const failed = await hub.run(['call', 'mine', 'time', '{"timezone": "Moon/Sea"}'])
    expect([failed.code, failed.stdout]).toEqual([1, ''])
    expect(failed.stderr).toContain('Moon/Sea')

    expect((await hub.run(['servers', 'stop', 'ada~mine'])).code).toBe(0)
    expect((await hub.run(['servers', 'list', '--state', 'offline'])).stdout).toContain('ada~mine')
    const tagged = ['servers', 'add', 'tagged', '--disabled', '--tag', 'eu', '--url', 'https://never.example/mcp']
    expect((await hub.run(tagged)).code).toBe(0)
    const listed = (await hub.run(['servers', 'list', '--tag', 'EU'])).stdout
    expect([listed.includes('ada~tagged'), listed.includes('ada~mine')]).toEqual([true, false])
    expect((await hub.run(['servers', 'remove', 'tagged'])).code).toBe(0)
    expect((await hub.run(['servers', 'remove', 'mine'])).code).toBe(0)
    const gone = await hub.run(['servers', 'show', 'mine'])
    expect([gone.code, gone.stderr.split(':')[1]]).toEqual([1, ' server_not_found'])
  }, 120_000)

  test('names every wrong field of a refusal', async () => {
    const { code, stderr } = await hub.run(['servers', 'add', 'a/b', '--url', 'ftp://x'])
    expect(code).toBe(1)
    expect(stderr).toContain('#/name')
    expect(stderr).toContain('#/url')
  })

  test('creates, shows and removes a group', async () => {
    const created = await hub.run(['groups', 'create', 'both', 'sample', '--description', 'd'])
    expect(created.stdout).toBe(`created ada~both, served at ${hub.url}/mcp/both\n`)
    expect(await json(['groups', 'show', 'both'])).toMatchObject({
      description: 'd',
      members: [{ server: 'ada~sample' }],
    })
    expect((await hub.run(['groups', 'list'])).stdout).toContain('ada~both')
    const about = ['--tag', 'eu', '--tag', 'Crm', '--instructions', 'Ask first.', '--selector', 'region', 'a=sample']
    expect((await hub.run(['groups', 'create', 'tagged', ...about])).code).toBe(0)
    expect(await json(['groups', 'show', 'tagged'])).toMatchObject({
      ...{ tags: ['eu', 'Crm'], instructions: { text: 'Ask first.', members: 'beside' } },
      selector: { argument: 'region', members: { a: 'ada~sample' } },
    })
    const listed = (await hub.run(['groups', 'list', '--tag', 'crm'])).stdout
    expect([listed.includes('ada~tagged'), listed.includes('ada~both')]).toEqual([true, false])
    expect((await hub.run(['groups', 'remove', 'tagged'])).code).toBe(0)
    expect((await hub.run(['groups', 'remove', 'both'])).code).toBe(0)
  })

  test('makes a user with a password of its own or a given one, disables, enables and removes', async () => {
    const added = await hub.run(['user', 'add', 'bob'])
    const password = /^added bob\npassword: (\S{24})\n$/.exec(added.stdout)?.[1]
    expect(password).toBeDefined()
    const given = await hub.run(['user', 'password', 'bob', '--password-stdin'], { stdin: 'another long sentence\n' })
    expect(given).toMatchObject({ code: 0, stdout: 'changed the password of bob; all its sessions have ended\n' })
    expect((await hub.run(['user', 'disable', 'bob'])).stdout).toBe('disabled bob\n')
    expect((await hub.run(['user', 'list'])).stdout).toMatch(/bob +user +disabled/)
    expect((await hub.run(['user', 'enable', 'bob'])).stdout).toBe('enabled bob\n')
    expect((await hub.run(['user', 'remove', 'bob'])).code).toBe(0)
    expect((await hub.run(['user', 'password', 'bob'])).stderr).toStartWith('error: user_not_found')
  })

  test('makes a key that opens the API, and revokes it', async () => {
    const made = await json([
      'key',
      'create',
      'ci',
      '--scope',
      'api:read',
      '--scope',
      'group:sample',
      '--expires',
      '30d',
    ])
    expect(made.scopes).toEqual(['api:read', { group: 'ada~sample' }])
    const env = { PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: made.secret as string }
    expect((await hub.run(['servers', 'list'], { cwd: '/', env })).stdout).toContain('ada~sample')
    expect((await hub.run(['servers', 'remove', 'sample'], { cwd: '/', env })).stderr).toContain('insufficient_scope')
    expect((await hub.run(['key', 'revoke', made.id])).code).toBe(0)
    expect((await hub.run(['servers', 'list'], { cwd: '/', env })).code).toBe(1)
  })

  test('imports a file of another program: first what would be, then in earnest, then nothing new', async () => {
    const file = join(hub.cwd, 'claude.json')
    const servers = {
      one: { url: 'https://one.example/mcp' },
      'b/d': { command: 'x' },
      bad: { url: 'ftp://files.example/' },
      sample: { command: 'y' },
    }
    await writeFile(file, JSON.stringify({ mcpServers: servers }))
    const verdicts = async (...options: string[]) => {
      const { code, stdout } = await hub.run(['import', 'claude.json', '--json', ...options])
      const { items } = JSON.parse(stdout) as { items: { name: string; verdict: string }[] }
      return [code, ...items.map(entry => `${entry.name} ${entry.verdict}`)]
    }
    expect(await verdicts('--dry-run')).toEqual([1, 'one new', 'b-d new', 'bad invalid', 'sample exists'])
    expect(await verdicts()).toEqual([1, 'one new', 'b-d new', 'bad invalid', 'sample exists'])
    expect(await verdicts('--dry-run')).toEqual([1, 'one same', 'b-d same', 'bad invalid', 'sample exists'])
    const fromStdin = await hub.run(['import'], { stdin: 'https://mcp.two.example/mcp' })
    expect(fromStdin.stdout).toMatch(/created +server +two +ada~two/)
  })

  test('imports the settings file of another hub, and takes it back', async () => {
    const document = {
      users: [{ username: 'fay', isAdmin: false }],
      mcpServers: {
        four: { url: `https://four.example/\${PART}`, owner: 'fay' },
        five: { url: 'https://five.example/' },
      },
      groups: [{ id: 'old-id', name: 'both', owner: 'fay', servers: ['four'] }],
      oauthClients: [{ clientId: 'x' }],
    }
    await writeFile(join(hub.cwd, 'hub.json'), JSON.stringify(document))
    const options = ['--answer', 'PART=mcp', '--skip', '#/mcpServers/five']
    const { code, stdout } = await hub.run(['import', 'hub.json', ...options])
    expect([code, stdout]).toEqual([0, expect.stringMatching(/created +server +four +fay~four/)])
    expect(stdout).toMatch(/skipped +server +five/)
    expect(stdout).toContain('not carried: OAuth clients (#/oauthClients)')
    const [, id = ''] = /--undo (\S+)/.exec(stdout) ?? []
    expect((await hub.run(['import', '--list'])).stdout).toContain(id)
    expect(await hub.run(['import', '--undo', id])).toMatchObject({ stdout: 'removed 3\n' })
    expect((await hub.run(['import', '--undo', id])).stderr).toContain('import_not_found')
    expect((await hub.run(['import', '--answer', 'x'], { stdin: 'x' })).code).toBe(2)
  })

  test('finds the files of clients on this machine, and sends of them only the servers', async () => {
    const home = { HOME: join(hub.cwd, 'home') }
    await mkdir(join(hub.cwd, 'home/.codex'), { recursive: true })
    await writeFile(join(hub.cwd, 'home/.codex/config.toml'), '[mcp_servers.of-codex]\ncommand = "x"\n')
    const claude = { oauthAccount: { secret: 'own' }, mcpServers: { 'of-claude': { command: 'y' } }, projects: {} }
    await writeFile(join(hub.cwd, 'home/.claude.json'), JSON.stringify(claude))
    const { stdout } = await hub.run(['import', '--scan'], { env: home })
    expect(stdout).toMatch(/codex +.*\.codex\/config\.toml/)
    expect(stdout).toMatch(/claude-code +.*\.claude\.json/)
    expect(stdout).not.toContain('windsurf')
    expect((await hub.run(['import', '--from', 'codex'], { env: home })).stdout).toMatch(/created +server +of-codex/)
    expect((await hub.run(['import', '--from', 'claude-code'], { env: home })).stdout).toMatch(
      /created +server +of-claude/,
    )
    expect(onlyServers(JSON.stringify(claude))).toEqual({ mcpServers: claude.mcpServers })
    const none = await hub.run(['import', '--from', 'windsurf'], { env: home })
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('mcp_config.json')])
    expect((await hub.run(['import', '--from', 'nobody'], { env: home })).stderr).toContain('one of:')
    // An entry written by connect leads to the hub itself.
    await hub.run(['groups', 'add', 'loop'], { env: home })
    const own = { mcpServers: { hub: { url: `${hub.url.replace('127.0.0.1', 'localhost')}/mcp/loop` } } }
    const again = await hub.run(['import', '--json'], { stdin: JSON.stringify(own) })
    expect(JSON.parse(again.stdout).items[0]).toMatchObject({ verdict: 'skipped', warnings: ['It leads to this hub'] })
  })

  test('imports for another owner', async () => {
    await hub.run(['user', 'add', 'eve'])
    const { code, stdout } = await hub.run(['import', '--owner', 'eve'], { stdin: 'https://three.example/mcp' })
    expect([code, stdout]).toEqual([0, expect.stringMatching(/created +server +three +eve~three/)])
  })

  test('has no set-up token once there is an administrator', async () => {
    expect((await hub.run(['setup-token'])).code).toBe(1)
  })

  test('doctor sees the running hub', async () => {
    const { code, stdout } = await hub.run(['doctor'])
    expect(code).toBe(0)
    expect(stdout).toContain(`a hub answers at ${hub.url}: `)
    expect(stdout).toContain('in use by the hub with process id')
  })
})
