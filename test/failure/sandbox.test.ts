import { afterAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beyondCore } from '../support/extent.ts'
import { type Client, startHub } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { alive } from '../support/processes.ts'
import { callText, failureOf, online, statusOf } from '../support/servers.ts'
import { removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { knownShutIn as shutIn } from './fixtures/known.ts'

const CANARY = 'canary-in-the-environment-of-the-hub'
const hub = await startHub({ env: { METRICS_TOKEN: CANARY } })
const admin = await hub.setup()
const { sandbox: level } = (await admin.ok('GET', '/health')).checks
const bob = await hub.user('bob')
console.log(`sandbox level of this machine: ${level}`)

afterAll(async () => {
  if (alive(hub.pid)) await hub.stop()
  else await removeTemp(hub.folder)
}, 120_000)

/** Least and largest number of measurements of the cost of a start. */
const ROUNDS = 9
const MOST_ROUNDS = 40

const backwards = (text: string): string => [...text].reverse().join('')

async function ask(client: Client, server: string, tool: string, args: Record<string, unknown> = {}) {
  const mcp = await client.mcp(`/mcp/${server}`)
  return JSON.parse(await callText(mcp, tool, args))
}

async function add(client: Client, name: string, more: Record<string, unknown> = {}): Promise<string> {
  const { id } = await client.ok('POST', '/api/servers', await shutIn(name, more))
  await online(client, [name])
  return id
}

function folderOf(ownerId: string, serverId: string): string {
  return join(hub.dataDir, 'owners', ownerId, serverId)
}

const FORBIDDEN: readonly (readonly [string, Record<string, unknown>, string])[] = [
  ['sandbox off', { sandbox: 'off' }, 'field_forbidden'],
  ['a loader variable', { env: { LD_PRELOAD: '/home/server/x.so' } }, 'env_key_forbidden'],
  ['the host’s network', { network: 'host' }, 'network_not_permitted'],
  ['a network that was not granted', { network: 'proxy' }, 'network_not_permitted'],
  ['the root as working directory', { cwd: '/' }, 'cwd_forbidden'],
  ['a working directory further up', { cwd: '../..' }, 'cwd_forbidden'],
]

describe('an ordinary user', () => {
  for (const [what, more, code] of FORBIDDEN) {
    test(`is refused ${what}, at create and at test`, async () => {
      const body = await shutIn('refused', more)
      for (const path of ['/api/servers', '/api/servers/test']) {
        const answer = await bob.request('POST', path, body)
        expect([path, answer.status, answer.json.code]).toEqual([path, 403, code])
      }
    })
  }
})

if (level !== 'full') {
  test(`level ${level}: an ordinary user may not run a command`, async () => {
    const answer = await bob.request('POST', '/api/servers', await shutIn('probe'))
    expect([answer.status, answer.json.code]).toEqual([403, 'stdio_not_permitted'])
    expect(answer.json.detail).toContain(`level "${level}"`)
  })
} else {
  describe('a server of an ordinary user', () => {
    test('reads neither settings nor store, another owner’s folder, nor any process’s environment or command line', async () => {
      const cleo = await hub.user('cleo')
      const hers = await add(cleo, 'hers', { env: { MARK: 'canary-of-another-owner' } })
      expect(await ask(cleo, 'hers', 'write', { path: 'diary.txt', text: 'dear diary' })).toBe(true)
      const { id, owner } = await bob.ok('POST', '/api/servers', await shutIn('probe'))
      await online(bob, ['probe'])
      expect(owner).toBe('bob')
      const others = folderOf((await cleo.ok('GET', '/api/auth/me')).id, hers)
      expect(readFileSync(join(others, 'diary.txt'), 'utf8')).toBe('dear diary')

      const store = readdirSync(hub.dataDir).map(name => join(hub.dataDir, name))
      expect(store.length).toBeGreaterThan(3)
      const pid = String(hub.pid)
      const paths = [
        ...[hub.settingsFile, hub.dataDir, ...store, others, join(others, 'diary.txt')],
        ...[`/proc/${pid}/environ`, `/proc/${pid}/cmdline`, `/proc/${pid}/root`, '/proc/1/root/root', '/root'],
        ...['/etc/shadow', '/etc/passwd', '/home/server/../../etc/hostname', folderOf(id, id)],
      ]
      expect(await ask(bob, 'probe', 'read', { paths: [...paths, '/usr/bin/env'] })).toEqual(['/usr/bin/env'])
      const texts = [CANARY, 'canary-of-another-owner', HUB_MAIN, hub.setupToken ?? CANARY]
      expect(await ask(bob, 'probe', 'search', { backwards: texts.map(backwards) })).toEqual([])
      expect(await ask(bob, 'probe', 'search', { backwards: [backwards('/home/server')] })).not.toEqual([])
    })

    test('reaches neither the hub’s port on loopback nor the machine’s other addresses', async () => {
      const { port } = new URL(hub.url)
      expect(await ask(bob, 'probe', 'connect', { host: '127.0.0.1', ports: [port] })).toEqual([])
      expect(await ask(bob, 'probe', 'connect', { host: '::1', ports: [port] })).toEqual([])
    })

    test('runs under its owner’s own user, without capabilities, with its own variables alone', async () => {
      await add(bob, 'bare', { env: { MINE: 'yes' } })
      const self = await ask(bob, 'bare', 'self')
      const { number, folder } = await bobsFolder('bare')
      expect(self.uid).toBe(20_000 + number)
      expect(statSync(folder).uid).toBe(self.uid)
      expect(statSync(folder).mode & 0o777).toBe(0o700)
      expect(self).toMatchObject({ cwd: '/home/server', noNewPrivileges: '1', pids: 2 })
      expect([self.capabilities, self.bounding]).toEqual(['0000000000000000', '0000000000000000'])
      const { PWD: _, BUN_JSC_jitMemoryReservationSize: code, DENO_V8_FLAGS: deno, ...env } = self.env
      expect([code, deno]).toEqual(['67108864', '--jitless'])
      expect(env).toEqual({
        ...{ HOME: '/home/server', LANG: 'C.UTF-8', MINE: 'yes' },
        PATH: '/usr/local/bin:/usr/bin:/bin:/opt/patchbay',
      })
    })

    test('that runs on Bun is compiled there as elsewhere', async () => {
      // The foreign functions need Bun's compiler, so they show that it runs.
      const program = `const { dlopen } = require('bun:ffi'); dlopen('libc.so.6', { getpid: { returns: 'int' } }); console.log('compiled')`
      const command = ['/opt/patchbay/bun', '-e', program]
      expect(await ask(bob, 'probe', 'run', { command })).toMatchObject({ status: 0, out: 'compiled\n' })
    })

    test('writes its own folder and the temporary one, and nothing else', async () => {
      const writes = async (path: string) => ask(bob, 'probe', 'write', { path, text: 'x' })
      expect(await writes('/home/server/mine')).toBe(true)
      expect(await writes('/tmp/mine')).toBe(true)
      for (const path of ['/mine', '/dev/mine', '/usr/mine', '/opt/patchbay/bun', '/etc/mine', '/home/mine']) {
        expect([path, await writes(path)]).toEqual([path, false])
      }
    })

    test('starts in a folder of its own, and not in one that a link leads out of it', async () => {
      const { folder } = await bobsFolder('bare')
      mkdirSync(join(folder, 'sub'))
      const patch = (cwd: string | null) => bob.request('PATCH', '/api/servers/bare', { cwd })
      expect((await patch('sub')).status).toBe(200)
      await until(async () => (await ask(bob, 'bare', 'self')).cwd === '/home/server/sub', { timeoutMs: 60_000 })
      await patch(null)
      await until(async () => (await ask(bob, 'bare', 'self')).cwd === '/home/server', { timeoutMs: 60_000 })
      expect(await ask(bob, 'bare', 'link', { path: 'out', to: '/' })).toBe(true)
      expect(await ask(bob, 'bare', 'link', { path: 'up', to: '..' })).toBe(true)
      for (const cwd of ['out', 'out/etc', 'up', 'sub/../../x']) {
        const answer = await patch(cwd)
        expect([cwd, answer.status, answer.json.code]).toEqual([cwd, 403, 'cwd_forbidden'])
      }
      expect((await patch('later')).status).toBe(200)
      await until(async () => (await statusOf(bob, 'bare')).reason?.code === 'cwd_not_found', { timeoutMs: 60_000 })
      // A path that was a folder when it was saved may be a link at the start.
      writeFileSync(join(folder, 'note'), '')
      expect((await patch('sub')).status).toBe(200)
      await online(bob, ['bare'])
    })

    test('ends with its whole tree when it is stopped, also what left its session', async () => {
      await ask(bob, 'probe', 'linger', { seconds: '987651' })
      await until(() => running('987651').length === 1, { what: 'the process to be seen' })
      await bob.ok('POST', '/api/servers/probe/stop?wait=30s')
      await until(() => running('987651').length === 0, { timeoutMs: 3_000, what: 'its process to be gone' })
      await bob.ok('POST', '/api/servers/probe/start?wait=30s')
    })

    test('is held at its limits of memory and processes, and the hub and others continue', async () => {
      await add(bob, 'greedy')
      await expect(ask(bob, 'greedy', 'grow', { megabytes: 800 })).rejects.toThrow()
      await online(bob, ['greedy'])
      const forked = await ask(bob, 'greedy', 'fork', { most: 300 })
      expect(forked.started).toBeLessThan(64 + 32 * 4)
      expect(forked.started).toBeGreaterThan(0)
      expect((await admin.request('GET', '/health')).status).toBe(200)
      expect((await ask(bob, 'probe', 'self')).uid).toBeGreaterThan(20_000)
    }, 120_000)

    test('says why its program cannot be started', async () => {
      const reason = async (name: string, command: string) => {
        await bob.ok('POST', '/api/servers', { name, command })
        return until(async () => (await statusOf(bob, name)).reason?.code)
      }
      expect(await reason('missing', 'no-such-program-anywhere')).toBe('command_not_found')
      expect(await reason('outside', join(hub.folder, 'program'))).toBe('command_not_found')
      expect(await reason('own', './program')).toBe('command_not_found')
      expect(await reason('below', '/usr/bin/env/x')).toBe('command_not_found')
      expect(await reason('directory', '/usr/bin')).toBe('command_not_executable')
      expect(await reason('unexecutable', '/usr/share/common-licenses/GPL-3')).toBe('command_not_executable')
      expect(await reason('endless', 'x'.repeat(300))).toBe('command_not_found')
      expect(await reason('nowhere', `/usr/${'x'.repeat(300)}`)).toBe('command_not_found')
    })

    test('tells a program of its own folder that cannot be executed from one that is not there', async () => {
      await bob.ok('POST', '/api/servers', { name: 'programs', command: './none' })
      await until(async () => (await statusOf(bob, 'programs')).reason?.code === 'command_not_found')
      const { folder } = await bobsFolder('programs')
      mkdirSync(join(folder, 'folder'))
      const files = { plain: ['#!/bin/sh\n', 0o644], orphan: ['#!/no/such/interpreter\n', 0o755] } as const
      for (const [name, [text, mode]] of Object.entries(files)) {
        writeFileSync(join(folder, name), text)
        chmodSync(join(folder, name), mode)
      }
      const codeOf = async (command: string) => {
        await bob.ok('POST', '/api/servers/programs/stop?wait=30s')
        await bob.ok('PATCH', '/api/servers/programs', { command, args: [] })
        await bob.ok('POST', '/api/servers/programs/start')
        const said = `the reason of ${command}`
        return until(
          async () => {
            const { reason } = await statusOf(bob, 'programs')
            return reason?.message.includes(`"${command}"`) ? reason.code : undefined
          },
          { what: said },
        )
      }
      for (const command of ['./plain', './orphan', './folder']) {
        expect([command, await codeOf(command)]).toEqual([command, 'command_not_executable'])
      }
      expect(await codeOf('./gone')).toBe('command_not_found')
    }, 60_000)

    beyondCore(() => {
      test('reports its folder as missing, whatever is in its place', async () => {
        await ask(bob, 'probe', 'write', { path: 'file', text: '' })
        const places = { long: 'x'.repeat(300), below: 'file/x', file: 'file' }
        for (const [name, cwd] of Object.entries(places)) {
          await bob.ok('POST', '/api/servers/probe/stop?wait=30s')
          await bob.ok('PATCH', '/api/servers/probe', { cwd })
          await bob.ok('POST', '/api/servers/probe/start')
          const reason = `the reason for the folder ${name}`
          await until(async () => (await statusOf(bob, 'probe')).reason?.code === 'cwd_not_found', { what: reason })
        }
        await bob.ok('PATCH', '/api/servers/probe', { cwd: null })
        await online(bob, ['probe'])
      })
    })

    test('takes its folder with it when it is removed', async () => {
      const { folder } = await bobsFolder('greedy')
      await bob.ok('DELETE', '/api/servers/greedy')
      await until(() => statSync(folder, { throwIfNoEntry: false }) === undefined, { what: 'the folder to be gone' })
    })

    beyondCore(() => {
      test('is one of at most 32 processes of its owner, sessions with a process of their own included', async () => {
        const max = await hub.user('max')
        // The smallest server there is: the same answer to every request.
        const tools = '[{"name":"t","inputSchema":{"type":"object"}}]'
        const info =
          '"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}'
        const result = `{${info},"tools":${tools},"content":[]}`
        const script = `s/.*"id":\\([0-9]*\\).*/{"jsonrpc":"2.0","id":\\1,"result":${result}}/p`
        const small = { command: 'sed', args: ['-u', '-n', script], era: 'legacy', session: 'per-session' }
        const names = Array.from({ length: 32 }, (_, index) => `small-${index}`)
        for (const name of names) await max.ok('POST', '/api/servers', { name, ...small })
        await online(max, names, 60_000)
        const last = await max.request('POST', '/api/servers', { name: 'last', ...small })
        expect([last.status, last.json.code]).toEqual([409, 'quota_servers'])
        const session = await max.mcp('/mcp/small-0')
        const failure = await failureOf(session.callTool({ name: 't', arguments: {} }))
        expect(failure.message).toContain('32 processes of its owner run')
        await max.ok('POST', '/api/servers/small-31/stop?wait=30s')
        await until(async () => (await session.callTool({ name: 't', arguments: {} })).content, { timeoutMs: 60_000 })
        await admin.ok('DELETE', '/api/admin/users/max?cascade=true')
      }, 120_000)
    })

    test('is tried inside as well, and leaves nothing', async () => {
      const report = await bob.ok('POST', '/api/servers/test', await shutIn('tried'))
      expect(report).toMatchObject({ ok: true })
      const id = (await bob.ok('GET', '/api/auth/me')).id
      await until(() => readdirSync(join(hub.dataDir, 'owners', id)).every(name => !name.startsWith('trial')))
    })
  })

  describe('a server of an administrator', () => {
    test('runs plainly unless it asks for the sandbox, and both are audited', async () => {
      await add(admin, 'plain', { command: process.execPath })
      await add(admin, 'inside', { sandbox: 'full', command: process.execPath })
      expect((await ask(admin, 'plain', 'self')).uid).toBe(0)
      expect((await ask(admin, 'inside', 'self')).uid).toBeGreaterThan(20_000)
      const { items } = await until(async () => {
        const page = await admin.ok('GET', '/api/admin/audit?action=process.start&limit=200')
        return page.items.some((item: { target: string }) => item.target === 'inside') && page
      })
      const how = (name: string) => items.find((item: { target: string }) => item.target === name).detail
      expect(how('plain')).toMatchObject({ sandbox: 'off', network: 'host' })
      expect(how('inside')).toMatchObject({ sandbox: 'full', network: 'none' })
      const { items: processes } = await admin.ok('GET', '/api/admin/processes')
      const shown = processes.filter((one: { server: string }) => /plain|inside/.test(one.server))
      expect(shown.map((one: { sandbox: string }) => one.sandbox).sort()).toEqual(['full', 'off'])
    })

    test('with network "host" in the sandbox reaches the hub’s port', async () => {
      await add(admin, 'wired', { sandbox: 'full', network: 'host' })
      const { port } = new URL(hub.url)
      expect(await ask(admin, 'wired', 'connect', { host: '127.0.0.1', ports: [port] })).toEqual([port])
    })

    test('is sandboxed from its next start once its owner is no administrator any more', async () => {
      const dora = await hub.user('dora', 'admin')
      await add(dora, 'hers', { command: process.execPath, sandbox: 'off' })
      expect((await ask(dora, 'hers', 'self')).uid).toBe(0)
      await admin.ok('PATCH', '/api/admin/users/dora', { role: 'user' })
      const again = await hub.signIn('dora')
      await again.ok('POST', '/api/servers/hers/restart?wait=10s')
      expect((await ask(again, 'hers', 'self')).uid).toBeGreaterThan(20_000)
    })

    beyondCore(() => {
      test('starts at most 100 ms later in the sandbox than without', async () => {
        const quickest: Record<string, number> = { plain: Number.POSITIVE_INFINITY, inside: Number.POSITIVE_INFINITY }
        // The quickest of each counts, since other work of the machine only adds time; a busy machine gets more rounds.
        const more = (): number => (quickest.inside ?? 0) - (quickest.plain ?? 0)
        for (let round = 0; round < ROUNDS || (more() > 100 && round < MOST_ROUNDS); round += 1) {
          for (const name of ['plain', 'inside']) {
            await admin.ok('POST', `/api/servers/${name}/stop?wait=30s`)
            const start = performance.now()
            await admin.ok('POST', `/api/servers/${name}/start?wait=30s`)
            quickest[name] = Math.min(quickest[name] ?? 0, performance.now() - start)
          }
        }
        console.log(`the sandbox costs ${more().toFixed(1)} ms per start`)
        expect(more()).toBeLessThanOrEqual(100)
      }, 120_000)
    })
  })

  test('kill -9 of the hub ends every sandboxed process, also those in sessions of their own', async () => {
    await callText(await bob.mcp('/mcp/probe'), 'linger', { seconds: '987652' })
    await until(() => running('987652').length === 1)
    await Promise.all([bob.close(), admin.close()])
    await hub.kill9()
    await until(() => running('987652').length === 0, { timeoutMs: 1_000, what: 'the sandboxed process to be gone' })
  }, 120_000)
}

async function bobsFolder(server: string): Promise<{ readonly number: number; readonly folder: string }> {
  const { id: ownerId } = await bob.ok('GET', '/api/auth/me')
  const { id } = await bob.ok('GET', `/api/servers/${server}`)
  // The administrator is number 1, bob the first one that was made.
  return { number: 2, folder: folderOf(ownerId, id) }
}

/** Process ids of programs that have this argument. */
function running(argument: string): string[] {
  return readdirSync('/proc').filter(name => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1').split('\0').includes(argument)
    } catch {
      return false
    }
  })
}
