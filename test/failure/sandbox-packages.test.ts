/** Package runners in the sandbox, behind a mirror whose certificate is signed by the operator's own authority. */
import { afterAll, describe, expect, test } from 'bun:test'
import { readdirSync, statSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { registryCertificates, trustEnv } from '../../core/connections/spawn/registry-authority.ts'
import { Authority } from '../support/certificates.ts'
import { beyondCore } from '../support/extent.ts'
import { type Client, startHub } from '../support/hub.ts'
import { startRegistry } from '../support/package-registry.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { shutInProgram } from '../support/shut-in.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { KNOWN } from './fixtures/known.ts'

/** Fails the installation when it sees the server's secret, or its work folder. */
const CHECK = `const fs = require('node:fs')
if (process.env.API_KEY || fs.existsSync('/home/server')) process.exit(1)
fs.writeFileSync('checked', '')`

const files = { 'server.js': await shutInProgram(), 'check.js': CHECK }
const manifest = { bin: { 'shut-in': 'server.js', other: 'check.js' }, scripts: { postinstall: 'node check.js' } }
const folder = await makeTemp('authority')
const authority = new Authority(folder)
// npm asks for "localhost" in the handshake where the address is an IP address.
const tls = authority.issue('registry', 'IP:127.0.0.1,DNS:localhost')
const file = join(folder, 'trusted.pem')
// Some keep it with a key, which nobody else may see.
await writeFile(file, `# ours\n${tls.key}\n${authority.certificate}`, { mode: 0o600 })
const registry = await startRegistry(
  [
    { name: 'shut-in', version: '1.0.0', manifest, files },
    { name: 'shut-in', version: '1.2.0', manifest, files },
    { name: 'shut-in', version: '2.0.0', manifest, files },
    { name: 'failing', version: '1.0.0', manifest: { scripts: { postinstall: 'node no.js' } }, files: {} },
    { name: 'slow', version: '1.0.0', manifest: { ...manifest, scripts: { postinstall: 'sleep 987653' } }, files },
  ],
  tls,
)
const hub = await startHub({ env: { REGISTRIES: registry.url, REGISTRIES_CA: file } })
const admin = await hub.setup()
const { sandbox: level } = (await admin.ok('GET', '/health')).checks
const bob = await hub.user('bob')
console.log(`sandbox level of this machine: ${level}`)

afterAll(async () => {
  await hub.stop()
  await registry.stop()
  await removeTemp(folder)
}, 120_000)

async function ask(client: Client, server: string, tool: string, args: Record<string, unknown> = {}) {
  return JSON.parse(await callText(await client.mcp(`/mcp/${server}`), tool, args))
}

async function installs(): Promise<readonly Record<string, unknown>[]> {
  const { items } = await admin.ok('GET', '/api/admin/audit?action=package.install')
  return items
}

const RUNNERS = [
  { command: 'npx', args: ['-y', 'shut-in@^1.0.0'] },
  { command: 'bunx', args: ['shut-in@^1.0.0'] },
]
/** npm must lie where sandboxed programs see it; elsewhere, as in a home folder, they cannot use it. */
const hasNpm = Bun.which('npm', { PATH: '/usr/local/bin:/usr/bin:/bin' }) !== null

if (level === 'full') describe('a package runner in the sandbox', aRunnerInside)
else {
  test(`level ${level}: an ordinary user’s package runner is refused, and nothing is installed`, async () => {
    const answer = await bob.request('POST', '/api/servers', { name: 'npx', command: 'npx', args: ['shut-in'] })
    expect([answer.status, answer.json.code, await installs()]).toEqual([403, 'stdio_not_permitted', []])
  })
}

function aRunnerInside(): void {
  if (!hasNpm) {
    test('npx without npm is a program that is not there, and nothing is installed', async () => {
      await bob.ok('POST', '/api/servers', { name: 'npx', command: 'npx', args: ['shut-in'] })
      const reason = await until(async () => (await statusOf(bob, 'npx')).reason)
      expect([reason.code, await installs()]).toEqual(['command_not_found', []])
    })
  }

  for (const { command, args } of RUNNERS.filter(each => hasNpm || each.command !== 'npx')) {
    test(`${command} installs from the registry without secrets, shows no key of its certificate, then runs with them and without a network`, async () => {
      const env = { API_KEY: 'only when it runs' }
      await bob.ok('POST', '/api/servers', { name: command, ...KNOWN, command, args, env })
      await online(bob, [command], 60_000)
      const self = await ask(bob, command, 'self')
      expect(self).toMatchObject({ cwd: '/home/server', env })
      expect(self.uid).toBeGreaterThan(20_000)
      expect(Object.keys(self.env)).not.toContain('NODE_EXTRA_CA_CERTS')
      const shown = await readFile(await certificatesFile(), 'utf8')
      expect(shown).toContain('BEGIN CERTIFICATE')
      expect(shown).not.toMatch(/PRIVATE KEY|# ours/)
      const { port } = new URL(registry.url)
      expect(await ask(bob, command, 'connect', { host: '127.0.0.1', ports: [port] })).toEqual([])
      const write = { path: '/opt/package/node_modules/shut-in/server.js', text: 'changed' }
      expect(await ask(bob, command, 'write', write)).toBe(false)
      expect(await ask(bob, command, 'write', { path: 'note', text: 'mine' })).toBe(true)
      const entry = await until(async () => (await installs()).find(one => one.target === command))
      expect(entry.detail).toMatchObject({ asked: ['shut-in@^1.0.0'], installed: 'shut-in@1.2.0' })

      const asked = registry.asked.length
      await bob.ok('POST', `/api/servers/${command}/restart?wait=10s`)
      expect((await ask(bob, command, 'self')).env.API_KEY).toBe(env.API_KEY)
      expect(registry.asked.length).toBe(asked)
    }, 120_000)
  }

  test('another package in the command is installed separately, and both are removed with the server', async () => {
    const { id } = await bob.ok('GET', '/api/servers/bunx')
    await bob.ok('PATCH', '/api/servers/bunx', { args: ['shut-in@2.0.0'] })
    await until(
      async () =>
        (await installs()).some(({ detail }) => (detail as { installed: string }).installed === 'shut-in@2.0.0'),
      {
        timeoutMs: 60_000,
      },
    )
    await online(bob, ['bunx'])
    const { id: owner } = await bob.ok('GET', '/api/auth/me')
    const kept = () => readdirSync(join(hub.dataDir, 'packages', owner)).filter(name => name.startsWith(id))
    expect(kept().sort()).toEqual([id, `${id}.json`])
    expect(statSync(join(hub.dataDir, 'packages', owner, `${id}.json`)).mode & 0o777).toBe(0o600)
    await bob.ok('DELETE', '/api/servers/bunx')
    await until(() => kept().length === 0, { what: 'the packages to be gone' })
  }, 120_000)

  test('an installation that fails is the reason of the server, and is not taken for one that worked', async () => {
    await bob.ok('POST', '/api/servers', { name: 'unknown', command: 'bunx', args: ['no-such-package'] })
    const status = await until(
      async () => {
        const now = await statusOf(bob, 'unknown')
        return now.reason && now
      },
      { timeoutMs: 60_000 },
    )
    expect(status.reason?.code).toBe('spawn_failed')
    expect(status.reason?.message).toContain('Cannot install no-such-package')
  }, 120_000)

  if (hasNpm)
    beyondCore(() => {
      test('an installation that nobody wants any more is ended with all it started', async () => {
        const { id } = await bob.ok('POST', '/api/servers', { name: 'slow', command: 'npx', args: ['slow'] })
        const running = async () => {
          const { items } = await admin.ok('GET', '/api/admin/processes?limit=1000')
          return items.filter(
            (one: { serverId: string; kind: string }) => one.serverId === id && one.kind === 'process',
          )
        }
        await until(() => registry.asked.includes('slow-1.0.0.tgz'), { timeoutMs: 60_000 })
        expect(await running()).toHaveLength(1)
        await bob.ok('POST', '/api/servers/slow/stop?wait=30s')
        expect((await statusOf(bob, 'slow')).reason?.code).toBe('stopped')
        await until(async () => (await running()).length === 0, { timeoutMs: 60_000, what: 'the installation to end' })
      }, 120_000)
    })

  beyondCore(() => {
    test('a file that is gone or holds no certificate is the reason of the server, without its path', async () => {
      const reasonOf = async (name: string) => {
        await bob.ok('POST', '/api/servers', { name, command: 'bunx', args: ['shut-in'] })
        const reason = await until(async () => (await statusOf(bob, name)).reason, { timeoutMs: 60_000 })
        await bob.ok('DELETE', `/api/servers/${name}`)
        return reason
      }
      await rename(file, `${file}.kept`)
      const gone = await reasonOf('gone')
      await writeFile(file, 'no certificate\n')
      const empty = await reasonOf('empty')
      await rename(`${file}.kept`, file)
      expect([gone, empty]).toMatchObject([{ code: 'spawn_failed' }, { code: 'spawn_failed' }])
      expect(gone.message).toMatch(/REGISTRIES_CA.*ENOENT/)
      expect(empty.message).toMatch(/REGISTRIES_CA.*no certificate/)
      expect(`${gone.message}${empty.message}`).not.toContain(folder)
    }, 120_000)
  })
}

async function certificatesFile(): Promise<string> {
  const [found = ''] = await Array.fromAsync(new Bun.Glob('runtime/*/certificates.pem').scan(hub.dataDir))
  return join(hub.dataDir, found)
}

const installed = (program: string) => Bun.which(program) !== null
/** Each asks for something that does not exist: the request alone shows that it trusts the certificate. */
const CLIENTS: [name: string, call: (url: string) => string[]][] = [
  ['npm', url => ['npm', 'view', 'asks-npm', `--registry=${url}`, '--fetch-retries=0']],
  ['bun', url => [process.execPath, 'info', 'asks-bun', `--registry=${url}`]],
  ['node', url => ['node', '-e', `fetch('${url}asks-node')`]],
  ['curl', url => ['curl', '-s', `${url}asks-curl`]],
  ['git', url => ['git', 'ls-remote', `${url}asks-git`]],
  ['pip3', url => ['pip3', 'download', '--retries=0', `--index-url=${url}simple`, '--no-deps', 'asks-pip3']],
  ['uv', url => ['uv', 'pip', 'install', '--dry-run', '--no-config', `--default-index=${url}simple`, 'asks-uv']],
  ['deno', url => ['deno', 'eval', `await fetch('${url}asks-deno')`]],
]

// The installations above show it for npm and bun.
beyondCore(() => {
  test.each(CLIENTS.filter(([name]) => name === 'bun' || installed(name)))(
    '%s trusts the authority by its variables alone',
    async (name, call) => {
      const trusted = join(folder, `certificates-${name}.pem`)
      await writeFile(trusted, await registryCertificates(file))
      const asks = async (env: Record<string, string>) => {
        const before = registry.asked.length
        const home = { PATH: process.env.PATH ?? '', HOME: folder, NO_UPDATE_NOTIFIER: '1' }
        const child = Bun.spawn(call(registry.url.replace('127.0.0.1', 'localhost')), {
          ...{ cwd: folder, env: { ...home, ...env }, stdout: 'ignore', stderr: 'ignore', stdin: 'ignore' },
        })
        await child.exited
        return registry.asked.slice(before).some(path => path.includes(`asks-${name}`))
      }
      expect(await asks({})).toBe(false)
      expect(await asks(trustEnv(trusted))).toBe(true)
    },
    60_000,
  )
})
