import { afterAll, expect, test } from 'bun:test'
import { copyFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { extent } from '../support/extent.ts'
import { startHub } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { JAVASCRIPT, PYTHON } from '../support/sandboxed-runtimes.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { timed, until } from '../support/wait.ts'
import { KNOWN } from './fixtures/known.ts'

/** A hub with a view of the file systems of its own, in which a program can disappear without harm to other tests. */
const hub = await startHub({ wrap: ['/usr/bin/unshare', '--mount', '--propagation', 'private'] })
const admin = await hub.setup()
const bob = await hub.user('bob')
const { sandbox: level } = (await admin.ok('GET', '/health')).checks
console.log(`sandbox level of this machine: ${level}`)

afterAll(async () => {
  await hub.stop()
}, 120_000)

const RUNTIMES = {
  node: { command: 'node', args: ['--input-type=module', '-e', JAVASCRIPT] },
  bun: { command: 'bun', args: ['-e', JAVASCRIPT] },
  deno: { command: './deno', args: ['run', '-A', 'data:text/javascript;base64,'] },
  python: { command: '/usr/bin/python3', args: ['-c', PYTHON] },
} as const

/** Bun runs the servers of all other tests of the sandbox. */
const CORE = ['node', 'python']

if (level !== 'full') {
  test(`level ${level}: nothing of an ordinary user’s is started`, async () => {
    const answer = await bob.request('POST', '/api/servers', { name: 'node', ...RUNTIMES.node })
    expect([answer.status, answer.json.code]).toEqual([403, 'stdio_not_permitted'])
  })
} else {
  for (const [name, { command, args }] of Object.entries(RUNTIMES).filter(([each]) =>
    extent(CORE.includes(each), true),
  )) {
    test(`a server on ${name} starts under the filter of system calls, and works`, async () => {
      const lead = args.slice(0, -1)
      const last = args.at(-1) ?? ''
      const program = last.startsWith('data:') ? last + Buffer.from(JAVASCRIPT).toString('base64') : last
      const { id } = await bob.ok('POST', '/api/servers', { name, ...KNOWN, command, args: [...lead, program] })
      if (command === './deno') await giveDeno(id)
      await online(bob, [name], 60_000)
      expect(await callText(await bob.mcp(`/mcp/${name}`), 'work')).toBe('abcd')
    }, 120_000)
  }

  const CLOSED = [
    ['close-output', 'none'],
    ['close-input', 'proxy'],
    ['close-output', 'proxy'],
    ['close-input', 'none'],
  ] as const
  for (const [how, network] of CLOSED.slice(0, extent(1, 4))) {
    test(`a program that lives on after ${how} is noticed within 5 s (network ${network})`, async () => {
      const name = `${how}-${network}`
      if (network === 'proxy') await admin.ok('PATCH', '/api/admin/users/bob', { grants: { network } })
      await bob.ok('POST', '/api/servers', { name, ...RUNTIMES.python, ...KNOWN, network })
      await online(bob, [name])
      const before = (await statusOf(bob, name)).pid
      const client = await bob.mcp(`/mcp/${name}`)
      const { ms } = await timed(async () => {
        const called = callText(client, 'work', { how }).catch((error: unknown) => String(error))
        await until(async () => (await statusOf(bob, name)).pid !== before, {
          timeoutMs: 8_000,
          intervalMs: 50,
          what: 'the notice',
        })
        expect(await called).toContain(how === 'close-input' ? 'closing' : 'closed its standard output')
      })
      expect(ms).toBeLessThan(atMost(5_000))
    }, 120_000)
  }

  test('when bubblewrap disappears while the hub runs, starts end as sandbox_lost and not as a crash loop', async () => {
    const inside = (...command: string[]) => {
      const { success } = Bun.spawnSync(['/usr/bin/nsenter', '--target', String(hub.pid), '--mount', ...command])
      expect([command, success]).toEqual([command, true])
    }
    inside('/bin/mount', '--bind', '/dev/null', '/usr/bin/bwrap')
    expect(await admin.ok('GET', '/health')).toMatchObject({ status: 'degraded', checks: { sandbox: 'lost' } })
    await bob.request('POST', '/api/servers/python/restart?wait=5s')
    await until(async () => (await statusOf(bob, 'python')).reason?.code === 'sandbox_lost', { what: 'the loss' })
    inside('/bin/umount', '/usr/bin/bwrap')
    await bob.ok('POST', '/api/servers/python/restart?wait=10s')
    await online(bob, ['python'])
    expect((await admin.ok('GET', '/health')).checks.sandbox).toBe('full')
  }, 120_000)
}

/** A copy in the server's own folder, since the sandbox shows no programs but those below /usr. */
async function giveDeno(serverId: string): Promise<void> {
  const { id: ownerId } = await bob.ok('GET', '/api/auth/me')
  const packages = join(import.meta.dir, '../../node_modules/@deno')
  const deno = readdirSync(packages).map(name => join(packages, name, 'deno'))[0] ?? ''
  const folder = join(hub.dataDir, 'owners', ownerId, serverId)
  // The folder is made by a first start, which finds no program there.
  await until(async () => (await statusOf(bob, 'deno')).reason?.code === 'command_not_found', { what: 'the folder' })
  copyFileSync(deno, join(folder, 'deno'))
  await bob.ok('POST', '/api/servers/deno/restart')
}
